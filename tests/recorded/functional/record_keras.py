"""Records what Keras 3 reports while the functional networks train, in float64.

Run from the root of the repository by an interpreter that has Keras 3.15.1 and JAX 0.10.2:

    python -m tests.recorded.functional.record_keras
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_ENABLE_X64"] = "1"

import keras

from tests.recorded.functional.cases import NETWORKS, Functional, starts

TARGET_FILE = Path(__file__).parent / "keras.json"

keras.config.set_floatx("float64")


class TiedDense(keras.layers.Layer):
    """What users of Keras write for tied weights: a product with another layer's kernel."""

    def __init__(self, units: int, tied_to: Any, activation: Any = None, **given: Any) -> None:
        super().__init__(**given)
        # Behind a function, so that Keras does not count the other layer's weights here too.
        self.kernel = lambda: tied_to.kernel
        self.activation = keras.activations.get(activation)
        self.units = units

    def build(self, _: Any) -> None:
        self.bias = self.add_weight((self.units,), "zeros", name="bias")

    def call(self, x: Any) -> Any:
        y = keras.ops.matmul(x, keras.ops.transpose(self.kernel())) + self.bias
        return self.activation(y)


LAYERS = ("Add", "Concatenate", "Dense", "Masking", "Multiply", "Rescaling")
LIBRARY = SimpleNamespace(
    Model=keras.Model,
    Input=keras.Input,
    TiedDense=TiedDense,
    **{name: getattr(keras.layers, name) for name in LAYERS},
    **{name: getattr(keras.optimizers, name) for name in ("SGD", "Adam")},
)


def own_layers(model: Any) -> dict[str, Any]:
    """Layers with weights by name, those of nested models among them."""
    found = {}
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found.update(own_layers(layer))
        elif layer.get_weights():
            found[layer.name] = layer
    return found


def record(case: Functional) -> dict[str, Any]:
    """History by name, and what evaluate gives in the end as a list."""
    keras.utils.clear_session()
    model = case.build(LIBRARY)
    layers = own_layers(model)
    shapes = {name: [w.shape for w in layer.get_weights()] for name, layer in layers.items()}
    for name, values in starts(shapes).items():
        layers[name].set_weights(values)
    model.compile(optimizer=case.optimizer(LIBRARY), **case.compile)
    x, y = case.samples()
    weight = case.sample_weight()
    # Keras takes objects of targets and weights only where losses are given in the same form.
    targets = [y[name] for name in model.output_names]
    if isinstance(weight, dict):
        weight = [weight[name] for name in model.output_names]
    if len(targets) == 1:
        (targets,) = targets
    history = model.fit(
        x, targets, batch_size=case.batch, epochs=case.epochs, verbose=0, shuffle=False,
        sample_weight=weight, **case.fit,
    ).history  # fmt: skip
    measured = model.evaluate(x, targets, case.batch, 0, weight)
    return {
        "history": {name: [float(v) for v in values] for name, values in history.items()},
        "evaluate": [float(v) for v in measured] if isinstance(measured, list) else measured,
        "dict": list(model.evaluate(x, targets, verbose=0, return_dict=True)),
        "weights": [list(w.shape) for w in model.get_weights()],
    }


def arguments() -> dict[str, list[str]]:
    """Names of the arguments of the calls, in order."""
    found = {}
    for name in ("compile", "fit", "evaluate", "predict"):
        parameters = inspect.signature(getattr(keras.Model, name)).parameters
        found[name] = [p for p in parameters if p not in ("self", "kwargs")]
    return found


if __name__ == "__main__":
    made = {"networks": {n: record(c) for n, c in NETWORKS.items()}, "arguments": arguments()}
    TARGET_FILE.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", "utf-8")
