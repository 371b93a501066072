"""Networks with every layer that goes to TensorFlow.js, with the options that matter there."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from studio.engine.interop.file_format import Exportable
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.layers.named_parameters import named_parameters
from tests.recorded.keras_files.cases import CASES as ORDERS
from tests.recorded.keras_files.cases import Document, network

Array = npt.NDArray[np.generic]
PICTURE = [7, 6, 4]


def one(kind: str, shape: list[int | None], **config: Any) -> Document:
    """A network of one layer."""
    return network(["layer"], ("x", "Input", {"shape": shape}, []), ("layer", kind, config, ["x"]))


def joined(kind: str, *shapes: list[int], **config: Any) -> Document:
    """A network of one layer that joins several inputs."""
    names = [f"x{number}" for number in range(len(shapes))]
    inputs = [
        (name, "Input", {"shape": shape}, []) for name, shape in zip(names, shapes, strict=True)
    ]
    return network(["layer"], *inputs, ("layer", kind, config, names))


ACTIVATIONS = (
    "linear", "relu", "relu6", "leaky_relu", "elu", "celu", "selu", "sigmoid", "hard_sigmoid",
    "log_sigmoid", "tanh", "hard_tanh", "tanh_shrink", "silu", "hard_silu", "softplus",
    "softsign", "mish", "gelu", "softmax", "log_softmax",
)  # fmt: skip
INITIALIZERS = (
    "zeros", "ones", "constant(0.5)", "glorot_uniform", "glorot_normal", "he_uniform", "he_normal",
    "lecun_uniform", "lecun_normal", "orthogonal", "identity", "random_uniform(-1,1)",
    "random_normal", "truncated_normal", "dylann_linear",
)  # fmt: skip

CASES: dict[str, Document] = {
    **{f"activation {name}": one("Activation", [5], activation=name) for name in ACTIVATIONS},
    **{f"dense {name}": one("Dense", [5], units=4, activation=name) for name in ACTIVATIONS},
    **{f"dense {n}": one("Dense", [4], units=4, kernel_initializer=n) for n in INITIALIZERS},
    "dense on sequences": one("Dense", [3, 5], units=2, use_bias=False),
    "dense on pictures": one("Dense", PICTURE, units=2, kernel_regularizer="l1(0.1)"),
    "dense frozen": one("Dense", [5], units=2, trainable=False, bias_regularizer="l2(0.5)"),
    "conv": one("Conv2D", PICTURE, filters=3, kernel_size=3),
    "conv same": one("Conv2D", PICTURE, filters=3, kernel_size=[3, 2], padding="same", strides=2),
    "conv dilated": one("Conv2D", PICTURE, filters=3, kernel_size=2, dilation_rate=[2, 3]),
    "conv leaky": one("Conv2D", PICTURE, filters=3, kernel_size=2, activation="leaky_relu"),
    "depthwise": one("DepthwiseConv2D", PICTURE, kernel_size=3, depth_multiplier=2),
    "depthwise same": one("DepthwiseConv2D", PICTURE, kernel_size=[2, 3], padding="same",
                          strides=2, use_bias=False, activation="silu"),
    "norm": one("BatchNormalization", [5]),
    "norm synchronized": one("BatchNormalization", [5], synchronized=True),
    "norm of sequences": one("BatchNormalization", [3, 5], scale=False),
    "norm of pictures": one("BatchNormalization", PICTURE, center=False, epsilon=0.01),
    "max": one("MaxPooling2D", PICTURE),
    "max same": one("MaxPooling2D", PICTURE, pool_size=[3, 2], strides=[2, 1], padding="same"),
    "average": one("AveragePooling2D", PICTURE, pool_size=3, strides=1),
    "average same": one("AveragePooling2D", PICTURE, pool_size=[2, 3], padding="same"),
    "global": one("GlobalAveragePooling2D", PICTURE),
    "global kept": one("GlobalAveragePooling2D", PICTURE, keepdims=True),
    "flatten": one("Flatten", PICTURE),
    "flatten flat": one("Flatten", [5]),
    "reshape": one("Reshape", PICTURE, target_shape=[-1, 8]),
    "reshape up": one("Reshape", [6], target_shape=[3, 2]),
    "padding": one("ZeroPadding2D", PICTURE, padding=[[1, 0], [2, 3]]),
    "dropout": one("Dropout", [5], rate=0.5, seed=3),
    "relu": one("ReLU", [5]),
    "relu limited": one("ReLU", [5], max_value=0.5),
    "relu leaky": one("ReLU", [5], negative_slope=0.1),
    "relu leaky limited": one("ReLU", PICTURE, negative_slope=0.3, max_value=0.7),
    "softmax": one("Softmax", [5]),
    "softmax of pictures": one("Softmax", PICTURE),
    "softmax of rows": one("Softmax", PICTURE, axis=1),
    "softmax of columns": one("Softmax", PICTURE, axis=-2),
    "softmax of steps": one("Softmax", [3, 5], axis=1),
    "rescaling": one("Rescaling", [5], scale=0.5, offset=-1.0),
    "masking": one("Masking", [3, 5], mask_value=0.5),
    "masking then dense": network(
        ["out"], ("x", "Input", {"shape": [3, 5]}, []), ("m", "Masking", {}, ["x"]),
        ("d", "Dense", {"units": 2, "activation": "hard_silu"}, ["m"]),
        ("out", "ReLU", {"negative_slope": 0.1}, ["d"])),
    "add": joined("Add", [3, 5], [3, 5], [3, 5]),
    "add broadcast": joined("Add", [3, 5], [1, 5]),
    "multiply": joined("Multiply", [3, 5], [3, 5]),
    "multiply broadcast": joined("Multiply", [4, 4, 3], [1, 1, 3]),
    "concatenate": joined("Concatenate", [3, 5], [3, 2]),
    "concatenate rows": joined("Concatenate", [3, 5], [2, 5], axis=1),
    **{f"order: {name}": document for name, document in ORDERS.items()},
}  # fmt: skip


def exportable(document: Document, seed: int = 0, **facts: str) -> Exportable:
    """A network with weights that are drawn, none of them what it would begin with."""
    graph = graph_from_json(document)
    return Exportable("a model", graph, weights_of(graph, seed), facts)


def weights_of(graph: LayerGraph, seed: int) -> dict[str, Array]:
    """Weights as stored; variances and scales are positive."""
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for each in named_parameters(graph):
        role, shape = each.parameter.role, each.parameter.shape
        values = rng.normal(scale=0.5, size=shape)
        if role in ("gamma", "moving_variance"):
            values = rng.uniform(0.5, 2.0, size=shape)
        made[each.name] = values.astype(np.float32)
    return made


def samples_of(graph: LayerGraph, seed: int = 1, rows: int = 3) -> list[Array]:
    """Samples for each input; an unknown length is 4."""
    rng = np.random.default_rng(seed)
    types = graph.reported_types()
    made: list[Array] = []
    for node in graph.inputs:
        found = next(kind for port, kind in types.items() if port.node == node.id)
        shape = [rows, *(4 if length < 0 else length for length in found.shape[1:])]
        if found.dtype.np.kind == "f":
            made.append(rng.normal(scale=2.0, size=shape).astype(np.float32))
        else:
            made.append(rng.integers(-5, 9, size=shape).astype(found.dtype.np))
    return made


def bound(document: Document) -> LayerGraph:
    """The network with 4 in the place of each unknown length."""
    made = copy.deepcopy(document)
    for node in made["nodes"]:
        if node.get("type") == "Input":
            config = node["config"]
            config["shape"] = [4 if length is None else length for length in config["shape"]]
    return graph_from_json(made)


def largest_gap(found: npt.NDArray[np.float64], expected: npt.NDArray[np.float64]) -> float:
    """Largest difference, relative where the expected number is above 1."""
    assert found.shape == expected.shape
    return float((np.abs(found - expected) / np.maximum(1.0, np.abs(expected))).max())
