"""Records outputs, gradients and running statistics of the layer cases from Keras 3, in float64.

Run from the root of the repository by an interpreter that has Keras 3.15.1 and JAX 0.10.2:

    python -m tests.recorded.layers.record_keras

For each case: parameters and inputs are drawn by name, the loss is the mean squared difference from
a drawn target (plus weight penalties), in training mode. Stored are the outputs in both modes, the
loss, and the gradients of parameters and inputs.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"

import jax
import jax.numpy as jnp
import keras
import numpy as np

from tests.recorded.layers.cases import BATCH, CASES, Array, Document, draw

TARGET_FILE = Path(__file__).parent / "keras.npz"


def regularizer(text: str) -> Any:
    """The Keras penalty of a text form."""
    kind, _, rest = text.partition("(")
    numbers = [float(n) for n in rest.rstrip(")").split(",")]
    if kind == "l1_l2":
        return keras.regularizers.L1L2(*numbers)
    return getattr(keras.regularizers, kind.upper())(numbers[0])


def keras_layer(kind: str, config: dict[str, Any]) -> Any:
    """The Keras layer of the same name and options."""
    options = dict(config)
    for key in [k for k in options if k.endswith("_regularizer")]:
        options[key] = regularizer(options[key])
    if options.get("activation") == "gelu_tanh":
        options["activation"] = lambda x: keras.activations.gelu(x, approximate=True)
    return getattr(keras.layers, kind)(**options)


def build(document: Document) -> tuple[Any, dict[str, Any]]:
    """The functional model of a graph document, and its layers by name."""
    values: dict[str, Any] = {}
    made: dict[str, Any] = {}
    inputs = []
    for node in document["nodes"]:
        if node.get("type") == "Input":
            values[node["id"]] = keras.Input(tuple(node["config"]["shape"]))
            inputs.append(values[node["id"]])
            continue
        if "shares" not in node:
            made[node["id"]] = keras_layer(node["type"], node["config"])
        layer = made[node.get("shares", node["id"])]
        given = [values[i] for i in node["inputs"]]
        values[node["id"]] = layer(given if len(given) > 1 else given[0])
    outputs = [values[i] for i in document["outputs"]]
    return keras.Model(inputs, outputs[0]), {layer.name: layer for layer in made.values()}


def record(case: str, document: Document) -> dict[str, Array]:
    """Every recorded array of a case by name."""
    model, layers = build(document)
    for name, layer in layers.items():
        for variable in layer.variables:
            role = f"{name}/{variable.name}"
            variable.assign(draw(case, role, tuple(variable.shape)))
    names = [n["id"] for n in document["nodes"] if n.get("type") == "Input"]
    inputs = [
        jnp.asarray(draw(case, name, (BATCH, *x.shape[1:])))
        for name, x in zip(names, model.inputs, strict=True)
    ]
    trained = [v.value for v in model.trainable_variables]
    state = [v.value for v in model.non_trainable_variables]
    answer = jax.jit(lambda t, s, given: model.stateless_call(t, s, given, training=False)[0])
    plain = answer(trained, state, inputs)
    target = draw(case, "target", tuple(plain.shape))

    def loss_of(parameters: Any, given: Any) -> Any:
        y, after, penalties = model.stateless_call(
            parameters, state, given, training=True, return_losses=True
        )
        return jnp.mean((y - target) ** 2) + sum(penalties), (y, after)

    both = jax.jit(jax.value_and_grad(loss_of, argnums=(0, 1), has_aux=True))
    (loss, (y, after)), (by_parameter, by_input) = both(trained, inputs)
    found = {"inference": plain, "training": y, "loss": loss}
    owner = {id(v): f"{n}/{v.name}" for n, layer in layers.items() for v in layer.variables}
    for variable, gradient in zip(model.trainable_variables, by_parameter, strict=True):
        found[f"grad:{owner[id(variable)]}"] = gradient
    for variable, value in zip(model.non_trainable_variables, after, strict=True):
        found[f"after:{owner[id(variable)]}"] = value
    for name, gradient in zip(names, by_input, strict=True):
        found[f"grad:{name}"] = gradient
    return {f"{case}|{name}": np.asarray(v, np.float64) for name, v in found.items()}


def record_all() -> dict[str, Array]:
    """Every case, under ``case|name``."""
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    found: dict[str, Array] = {}
    with warnings.catch_warnings():
        # A layer that drops the mask of its input is one of the cases.
        warnings.filterwarnings("ignore", "Layer .* does not support masking", UserWarning)
        for case, document in CASES.items():
            found |= record(case, document)
    return found


if __name__ == "__main__":
    np.savez_compressed(TARGET_FILE, **record_all())
