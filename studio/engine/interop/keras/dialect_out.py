"""Keras models as the JSON of files, in the dialect of Keras 3 or of Keras 2.

Keras 3 opens both. ``.keras`` files hold the first; the second is what Keras 2 and TensorFlow.js
read, and what a whole model in one HDF5 file is read from by all versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor, KerasType

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue

Dialect: TypeAlias = Literal["keras3", "keras2"]
_Types: TypeAlias = Mapping[KerasTensor, KerasType]

KERAS_VERSION, OLD_VERSION = "3.0.0", "2.15.0"
"""What files of either dialect say wrote them: a version whose rules they keep."""

_OLD_ACTIVATIONS = {
    **{name: name for name in (
        "linear", "relu", "elu", "selu", "softplus", "softsign", "swish", "gelu", "tanh",
        "sigmoid", "exponential", "mish", "softmax",
    )},
    "silu": "swish",
}  # fmt: skip
"""What Keras 2 calls activations; it has no others that a name stands for."""

_CHANGED = {"hard_sigmoid", "hard_silu"}
"""Activations with another slope in Keras 2 (0.2 instead of 1/6)."""


def model_to_json(model: KerasModel, dialect: Dialect) -> dict[str, JsonValue]:
    """A flat model, with what its calls give, as the JSON of its class and config.

    Raises:
        FormatError: the dialect cannot say it; see `why_not_old`.
    """
    refused = why_not_old(model) if dialect == "keras2" else None
    if refused is not None:
        raise refused
    types = {
        KerasTensor(layer.name, call, output): found
        for layer in model.layers
        for call, given in enumerate(layer.gives)
        for output, found in enumerate(given)
    }
    config: dict[str, JsonValue] = {
        "name": model_name(model.name),
        "trainable": True,
        "layers": [_layer(each, types, dialect) for each in model.layers],
        "input_layers": [[*each] for each in model.inputs],
        "output_layers": [[*each] for each in model.outputs],
    }
    if dialect == "keras2":
        return {"class_name": "Functional", "config": config}
    return {
        "module": "keras.src.models.functional",
        "class_name": "Functional",
        "config": config,
        "registered_name": "Functional",
    }


def why_not_old(model: KerasModel) -> StudioError | None:
    """Why the dialect of Keras 2 cannot say a model, if it cannot."""
    for layer in model.layers:
        activation = layer.config.get("activation")
        if isinstance(activation, str) and activation not in _OLD_ACTIVATIONS:
            why = f"Keras 2 has no activation {quoted(activation)} that a file can name"
            if activation in _CHANGED:
                why = f"{quoted(activation)} has another slope in Keras 2"
            return FormatError(why, who=layer.name, hint="export a Keras model (keras)")
    return None


def model_name(name: str) -> str:
    """A name as TensorFlow takes it for a model: letters, digits, dots, dashes, underscores."""
    plain = re.sub(r"[^A-Za-z0-9_.\-]", "_", name)
    return plain if re.match(r"[A-Za-z0-9.]", plain) else f"model{plain}"


def _layer(layer: KerasLayer, types: _Types, dialect: Dialect) -> JsonValue:
    if layer.model is not None:
        raise TypeError(f"{layer.name}: nested models are written flat")
    is_input = not any(layer.calls)
    config: dict[str, JsonValue] = {"name": layer.name}
    if not is_input:
        # Keras 2 knows no such option of an input.
        config["trainable"] = layer.trainable
    config["dtype"] = layer.dtype
    config |= layer.config
    made: dict[str, JsonValue] = {"class_name": layer.class_name, "config": config}
    if dialect == "keras2":
        made["config"] = {_OLD_KEYS.get(key, key): _old(key, v) for key, v in config.items()}
    else:
        made = {"module": "keras.layers", **made, "registered_name": None}
    made["name"] = layer.name
    made["inbound_nodes"] = [_call(call, types, dialect) for call in layer.calls if call]
    return made


_OLD_KEYS = {"batch_shape": "batch_input_shape"}


def _old(key: str, value: JsonValue) -> JsonValue:
    """The value of an option as Keras 2 and TensorFlow.js write it."""
    if key == "activation" and isinstance(value, str):
        return _OLD_ACTIVATIONS[value]
    if isinstance(value, dict) and value.get("class_name") in ("L1", "L2"):
        # TensorFlow.js has only the one class.
        given = value["config"]
        factors = given if isinstance(given, dict) else {}
        return {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.0, **factors}}
    return value


def _call(call: tuple[KerasTensor, ...], types: _Types, dialect: Dialect) -> JsonValue:
    if dialect == "keras2":
        return [[*each, {}] for each in call]
    given: list[JsonValue] = [_tensor(each, types[each]) for each in call]
    return {"args": [given] if len(given) > 1 else given, "kwargs": {}}


def _tensor(tensor: KerasTensor, found: KerasType) -> JsonValue:
    return {
        "class_name": "__keras_tensor__",
        "config": {
            "shape": [*found.shape],
            "dtype": found.dtype,
            "keras_history": [*tensor],
        },
    }
