"""Models of TensorFlow.js in Keras' words: a few names, and functions, that are others there.

Besides, what `tensorflow_js_out` made of a layer that TensorFlow.js lacks becomes that layer again
where no layer here could stand for its parts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor
from studio.engine.interop.keras.tensorflow_js_out import INITIALIZERS, OWN, Step, expanded

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue

_ACTIVATIONS = {"gelu_new": "gelu_tanh"}
_CLASSES = {theirs: ours for ours, theirs in INITIALIZERS.items()}


def keras_words(model: KerasModel) -> KerasModel:
    """The model with Keras' names for what TensorFlow.js calls otherwise, models in it as well."""
    layers = tuple(_layer(each) for each in model.layers)
    found = replace(model, layers=layers)
    steps = {each.name: own for each in layers if (own := _hard_sigmoid(each))}
    return _joined(expanded(found, steps) if steps else found)


def _layer(layer: KerasLayer) -> KerasLayer:
    if layer.model is not None:
        return replace(layer, model=keras_words(layer.model))
    return replace(layer, config={key: _option(key, each) for key, each in layer.config.items()})


def _option(key: str, value: JsonValue) -> JsonValue:
    if key == "activation" and isinstance(value, str):
        return _ACTIVATIONS.get(value, value)
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        name = str(value["class_name"])
        return {**value, "class_name": _CLASSES.get(name, name)}
    return value


def _hard_sigmoid(layer: KerasLayer) -> list[Step]:
    """What a layer with TensorFlow.js' hard sigmoid, clip(x / 5 + 1/2, 0, 1), is; else nothing."""
    if layer.config.get("activation") != "hard_sigmoid":
        return []
    is_function = layer.class_name == "Activation"
    first = [] if is_function else [
        Step(layer.class_name, {**layer.config, "activation": "linear"})
    ]  # fmt: skip
    x = OWN if is_function else 0
    scaled = Step("Rescaling", {"scale": 0.2, "offset": 0.5}, "" if is_function else "scaled", (x,))
    cut = Step("ReLU", {"max_value": 1.0}, "hard_sigmoid", (len(first),))
    return [*first, scaled, cut]


def _joined(model: KerasModel) -> KerasModel:
    """The model with a Softmax over an axis where one was written between two Permute layers."""
    by_name = {layer.name: layer for layer in model.layers}
    uses = Counter(t.layer for layer in model.layers for call in layer.calls for t in call)
    uses.update(tensor.layer for tensor in model.outputs)
    places: dict[str, KerasLayer] = {}
    gone: set[str] = set()
    for last in model.layers:
        inner = _only(last, "Permute", by_name, uses)
        first = None if inner is None else _only(inner, "Softmax", by_name, uses)
        if inner is None or first is None or first.class_name != "Permute":
            continue
        dims = first.config.get("dims")
        axis = _swapped_with_last(dims)
        if axis == 0 or dims != last.config.get("dims") or inner.config.get("axis", -1) != -1:
            continue
        places[last.name] = replace(
            first, class_name="Softmax", config={"axis": axis}, calls=first.calls
        )
        gone |= {inner.name, last.name}
    if not places:
        return model
    ends = {last: made.name for last, made in places.items()}
    made_of = {made.name: made for made in places.values()}

    def turned(tensor: KerasTensor) -> KerasTensor:
        return tensor._replace(layer=ends.get(tensor.layer, tensor.layer))

    layers = tuple(
        replace(kept, calls=tuple(tuple(turned(t) for t in call) for call in kept.calls))
        for layer in model.layers
        if layer.name not in gone
        for kept in (made_of.get(layer.name, layer),)
    )
    return replace(model, layers=layers, outputs=tuple(turned(t) for t in model.outputs))


def _only(
    layer: KerasLayer, kind: str, by_name: dict[str, KerasLayer], uses: Counter[str]
) -> KerasLayer | None:
    """What a layer of this kind, called once, is called on, if that is used nowhere else."""
    if layer.class_name != kind or len(layer.calls) != 1 or len(layer.calls[0]) != 1:
        return None
    found = by_name.get(layer.calls[0][0].layer)
    if found is None or uses[found.name] != 1 or len(found.calls) != 1:
        return None
    return found


def _swapped_with_last(dims: JsonValue) -> int:
    """The axis that a Permute layer swaps with the last one; 0 where it does anything else."""
    if not isinstance(dims, list):
        return 0
    last = len(dims)
    axis = next((n for n, each in enumerate(dims, 1) if each == last), 0)
    expected = list(range(1, last + 1))
    if not 0 < axis < last:
        return 0
    expected[axis - 1], expected[last - 1] = last, axis
    return axis if dims == expected else 0
