"""Layer cases as graph documents: what is recorded from Keras and run here."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Document = dict[str, Any]

BATCH = 3


def single(shape: list[int], kind: str, **config: Any) -> Document:
    """One input, one layer."""
    return chain(shape, (kind, config))


def chain(shape: list[int], *layers: tuple[str, dict[str, Any]]) -> Document:
    """One input, layers one behind the other."""
    nodes: list[Document] = [{"id": "x", "type": "Input", "config": {"shape": shape, "name": "x"}}]
    for index, (kind, config) in enumerate(layers):
        name = f"layer{index}"
        nodes.append(
            {"id": name, "type": kind, "config": {"name": name, **config},
             "inputs": [nodes[-1]["id"]]}
        )  # fmt: skip
    return {"name": "case", "nodes": nodes, "outputs": [nodes[-1]["id"]]}


def merging(shapes: list[list[int]], kind: str, **config: Any) -> Document:
    """Several inputs, one layer that joins them."""
    nodes: list[Document] = [
        {"id": f"x{i}", "type": "Input", "config": {"shape": s, "name": f"x{i}"}}
        for i, s in enumerate(shapes)
    ]
    ids = [n["id"] for n in nodes]
    nodes.append({"id": "layer0", "type": kind, "config": {"name": "layer0", **config},
                  "inputs": ids})  # fmt: skip
    return {"name": "case", "nodes": nodes, "outputs": ["layer0"]}


ACTIVATIONS = (
    "linear", "relu", "relu6", "leaky_relu", "elu", "celu", "selu", "sigmoid", "hard_sigmoid",
    "log_sigmoid", "tanh", "hard_tanh", "tanh_shrink", "silu", "hard_silu", "softplus", "softsign",
    "mish", "gelu", "gelu_tanh", "exponential", "softmax", "log_softmax",
)  # fmt: skip

CASES: dict[str, Document] = {
    "dense": single([5], "Dense", units=4),
    "dense_no_bias": single([5], "Dense", units=4, use_bias=False),
    "dense_sequence": single([3, 5], "Dense", units=4, activation="tanh"),
    "dense_softmax": single([5], "Dense", units=4, activation="softmax"),
    "dense_penalty": single([5], "Dense", units=4, kernel_regularizer="l1_l2(0.02,0.03)",
                            bias_regularizer="l2(0.05)"),
    "conv_valid": single([6, 5, 2], "Conv2D", filters=3, kernel_size=[3, 2]),
    "conv_same": single([6, 5, 2], "Conv2D", filters=3, kernel_size=3, padding="same",
                        activation="relu"),
    "conv_same_stride2_even": single([6, 6, 2], "Conv2D", filters=3, kernel_size=3,
                                     padding="same", strides=2),
    "conv_same_stride2_odd": single([7, 5, 2], "Conv2D", filters=2, kernel_size=3,
                                    padding="same", strides=2, use_bias=False),
    "conv_same_even_kernel": single([5, 6, 2], "Conv2D", filters=2, kernel_size=[2, 4],
                                    padding="same"),
    "conv_dilated": single([8, 7, 2], "Conv2D", filters=2, kernel_size=3, dilation_rate=2),
    "conv_dilated_same": single([8, 7, 2], "Conv2D", filters=2, kernel_size=3, padding="same",
                                dilation_rate=[2, 3]),
    "conv_stride3_same": single([7, 8, 1], "Conv2D", filters=2, kernel_size=2, padding="same",
                                strides=3),
    "conv_pointwise_stride": single([6, 6, 3], "Conv2D", filters=2, kernel_size=1, strides=2,
                                    padding="same"),
    "depthwise": single([6, 5, 3], "DepthwiseConv2D", kernel_size=3),
    "depthwise_multiplier_same": single([6, 6, 2], "DepthwiseConv2D", kernel_size=3, strides=2,
                                        padding="same", depth_multiplier=3, activation="relu"),
    "max_pool": single([6, 5, 2], "MaxPooling2D"),
    "max_pool_same": single([7, 5, 2], "MaxPooling2D", pool_size=3, strides=2, padding="same"),
    "average_pool": single([6, 6, 2], "AveragePooling2D", pool_size=[3, 2]),
    "average_pool_same": single([7, 5, 2], "AveragePooling2D", pool_size=3, strides=2,
                                padding="same"),
    "global_average": single([4, 5, 3], "GlobalAveragePooling2D"),
    "global_average_keep": single([4, 5, 3], "GlobalAveragePooling2D", keepdims=True),
    "flatten": single([2, 3, 4], "Flatten"),
    "reshape": single([4, 6], "Reshape", target_shape=[3, -1, 2]),
    "zero_padding": single([3, 4, 2], "ZeroPadding2D", padding=[[1, 2], [0, 3]]),
    "zero_padding_one": single([3, 4, 2], "ZeroPadding2D"),
    "batch_norm": single([5], "BatchNormalization"),
    "batch_norm_picture": single([4, 3, 2], "BatchNormalization", momentum=0.7, epsilon=0.01),
    "batch_norm_plain": single([4, 3, 2], "BatchNormalization", center=False, scale=False),
    "batch_norm_frozen": single([4, 3, 2], "BatchNormalization", trainable=False),
    **{f"activation_{name}": single([3, 6], "Activation", activation=name)
       for name in ACTIVATIONS},
    "relu_leaky": single([7], "ReLU", negative_slope=0.1),
    "relu_capped": single([7], "ReLU", max_value=0.8),
    "relu_all": single([7], "ReLU", max_value=0.9, negative_slope=0.3, threshold=0.4),
    "relu_threshold": single([7], "ReLU", threshold=0.4),
    "softmax_middle": single([3, 4, 2], "Softmax", axis=2),
    "rescaling": single([3, 2], "Rescaling", scale=0.5, offset=-1.5),
    # The losses of these cases know no masks: Flatten ends the mask.
    "masking": chain([4, 2], ("ReLU", {}), ("Masking", {}), ("Flatten", {})),
    "add_three": merging([[3, 4]] * 3, "Add"),
    "add_broadcast": merging([[3, 4], [1, 4]], "Add"),
    "multiply": merging([[3, 4]] * 3, "Multiply"),
    "multiply_broadcast": merging([[3, 4], [3, 1]], "Multiply"),
    "concatenate": merging([[3, 4], [3, 2], [3, 1]], "Concatenate"),
    "concatenate_axis": merging([[2, 4], [3, 4]], "Concatenate", axis=1),
    "residual": {
        "name": "case",
        "nodes": [
            {"id": "x", "type": "Input", "config": {"shape": [6, 6, 2], "name": "x"}},
            {"id": "conv", "type": "Conv2D", "inputs": ["x"],
             "config": {"name": "conv", "filters": 2, "kernel_size": 3, "padding": "same"}},
            {"id": "bn", "type": "BatchNormalization", "inputs": ["conv"],
             "config": {"name": "bn"}},
            {"id": "add", "type": "Add", "inputs": ["bn", "x"], "config": {"name": "add"}},
            {"id": "relu", "type": "ReLU", "inputs": ["add"], "config": {"name": "relu"}},
            {"id": "pool", "type": "MaxPooling2D", "inputs": ["relu"], "config": {"name": "pool"}},
            {"id": "flat", "type": "Flatten", "inputs": ["pool"], "config": {"name": "flat"}},
            {"id": "dense", "type": "Dense", "inputs": ["flat"],
             "config": {"name": "dense", "units": 3}},
        ],
        "outputs": ["dense"],
    },
    "shared": {
        "name": "case",
        "nodes": [
            {"id": "x", "type": "Input", "config": {"shape": [4], "name": "x"}},
            {"id": "a", "type": "Dense", "inputs": ["x"],
             "config": {"name": "twice", "units": 4, "activation": "tanh"}},
            {"id": "b", "shares": "a", "inputs": ["a"]},
        ],
        "outputs": ["b"],
    },
}  # fmt: skip


def draw(case: str, name: str, shape: tuple[int, ...]) -> Array:
    """Values of a named array of a case, away from kinks at 0 and from ties."""
    rng = np.random.default_rng(zlib.crc32(f"{case}/{name}".encode()))
    values = rng.uniform(0.08, 1.4, shape) * rng.choice([-1.0, 1.0], shape)
    positive = name.endswith(("moving_variance", "gamma"))
    return np.abs(values) if positive else values
