"""Keras models in the words of TensorFlow.js, whose layers of the same name do less.

TensorFlow.js 4.22 ignores some options without a word, stops at others, and computes a few
functions differently. Such a layer becomes several that compute the same there, up to the rounding
of float32; where there is no way it is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from studio.engine.core.errors import FormatError, quoted
from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor
from studio.engine.interop.keras.dialect_out import model_to_json
from studio.engine.layers.graph import free_name

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue

HINT = "export a Keras model (keras), or instructions (gbi)"
"""What to do about a network that TensorFlow.js cannot have."""

KERAS_VERSION = "2.15.0"
"""What files say wrote them: the last Keras that writes this dialect by itself."""

OWN = -1
"""Stands for what the layer itself is called on, in `Step.given`."""


class Step(NamedTuple):
    """One of the layers that a layer becomes.

    Attributes:
        class_name: of the layer.
        config: its options.
        word: what is appended to the name; empty for the layer's own name.
        given: what it is called on: earlier steps by number, or `OWN`.
    """

    class_name: str
    config: Mapping[str, JsonValue]
    word: str = ""
    given: tuple[int, ...] = (OWN,)


@dataclass
class TensorFlowJsModel:
    """A model as TensorFlow.js can have it.

    Attributes:
        model: its layers; those with weights have the names of before.
        activations: names of activations that Keras 2 has no word for, by layer.
    """

    model: KerasModel
    activations: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, JsonValue]:
        """The ``modelTopology`` of a file.

        Raises:
            FormatError: an activation has no name there.
        """
        made = model_to_json(self.model, "keras2")
        config = made["config"]
        layers = config["layers"] if isinstance(config, dict) else None
        for entry in layers if isinstance(layers, list) else ():
            own = entry["config"] if isinstance(entry, dict) else None
            if isinstance(own, dict) and own["name"] in self.activations:
                own["activation"] = self.activations[str(own["name"])]
        return {"keras_version": KERAS_VERSION, "backend": "tensorflow", "model_config": made}


def tensorflow_js_model(model: KerasModel) -> TensorFlowJsModel:
    """A flat model with every layer in words that TensorFlow.js takes and means in the same way.

    Raises:
        FormatError: it has no such layer, option or function, and none that compute the same.
    """
    shapes = {
        KerasTensor(layer.name, call, output): found.shape
        for layer in model.layers
        for call, given in enumerate(layer.gives)
        for output, found in enumerate(given)
    }
    whole = expanded(model, {layer.name: _steps(layer, shapes) for layer in model.layers})
    made = TensorFlowJsModel(whole)
    layers: list[KerasLayer] = []
    for layer in whole.layers:
        config = {key: _option(value) for key, value in layer.config.items()}
        if config.get("activation") in _UNKNOWN_TO_KERAS_2:
            made.activations[layer.name] = str(config["activation"])
            config["activation"] = "linear"
        layers.append(replace(layer, config=config))
    made.model = replace(whole, layers=tuple(layers))
    return made


def expanded(model: KerasModel, steps: Mapping[str, Sequence[Step]]) -> KerasModel:
    """A model in which layers have become several.

    Args:
        model: the model.
        steps: what each layer becomes, by its name; others stay. Weights belong to the first.
    """
    taken = {layer.name for layer in model.layers}
    names: dict[str, list[str]] = {}
    for layer in model.layers:
        own = steps.get(layer.name, ())
        names[layer.name] = [free_name(f"{layer.name}_{step.word}", taken) if step.word else
                             layer.name for step in own] or [layer.name]  # fmt: skip
        taken.update(names[layer.name])

    def called(layer: KerasLayer, given: tuple[int, ...], index: int) -> tuple[KerasTensor, ...]:
        tensors: list[KerasTensor] = []
        for number in given:
            if number == OWN:
                call = layer.calls[index]
                tensors += [each._replace(layer=names[each.layer][-1]) for each in call]
            else:
                tensors.append(KerasTensor(names[layer.name][number], index))
        return tuple(tensors)

    layers: list[KerasLayer] = []
    for layer in model.layers:
        own = steps.get(layer.name) or (Step(layer.class_name, layer.config),)
        for name, step in zip(names[layer.name], own, strict=True):
            calls = tuple(called(layer, step.given, index) for index in range(len(layer.calls)))
            layers.append(replace(layer, class_name=step.class_name, name=name,
                                  config=step.config, calls=calls))  # fmt: skip
    outputs = tuple(each._replace(layer=names[each.layer][-1]) for each in model.outputs)
    return replace(model, layers=tuple(layers), outputs=outputs)


_Shape = tuple[int | None, ...]
_Shapes = Mapping[KerasTensor, _Shape]


def _steps(layer: KerasLayer, shapes: _Shapes) -> list[Step]:
    """The layers that a layer becomes, those with an activation that is none there at their end."""
    if layer.class_name not in _FORMS:
        raise FormatError(
            f"TensorFlow.js has no layer {layer.class_name}", who=layer.name, hint=HINT
        )
    form, options = _FORMS[layer.class_name]
    unknown = next((name for name in layer.config if name not in options), None)
    if unknown is not None:
        raise FormatError(
            f"{layer.class_name} of TensorFlow.js has no option {unknown}, here "
            f"{quoted(layer.config[unknown])}",
            who=layer.name,
            hint=HINT,
        )
    given = [[shapes[tensor] for tensor in call] for call in layer.calls]
    own = form(layer, given)
    name = own[0].config.get("activation")
    if not isinstance(name, str) or name in _ACTIVATIONS:
        return own
    behind = _FUNCTIONS.get(name)
    if behind is None:
        raise FormatError(
            f"TensorFlow.js has no activation {quoted(name)}", who=layer.name, hint=HINT
        )
    if layer.class_name == "Activation":
        # The first of the steps takes its place and name.
        first, *rest = behind(OWN, 0)
        return [first._replace(word=""), *rest]
    return [own[0]._replace(config={**own[0].config, "activation": "linear"}), *behind(0, 1)]


_Given = Sequence[Sequence[_Shape]]
"""Shapes of what each call of a layer is given."""


def _same(layer: KerasLayer, given: _Given) -> list[Step]:
    del given
    return [Step(layer.class_name, layer.config)]


def _depthwise(layer: KerasLayer, given: _Given) -> list[Step]:
    rate = layer.config.get("dilation_rate", 1)
    if rate not in (1, [1, 1]):
        raise FormatError(
            f"TensorFlow.js ignores the dilation of this layer: expected dilation_rate=1, got "
            f"{quoted(rate)}",
            who=layer.name,
            hint=HINT,
        )
    return _same(layer, given)


def _batch_normalization(layer: KerasLayer, given: _Given) -> list[Step]:
    ranks = {len(shape) for call in given for shape in call}
    if not ranks <= _NORMALIZED:
        raise FormatError(
            f"TensorFlow.js normalises at most {max(_NORMALIZED)} axes with that of the batch, "
            f"got {max(ranks)}",
            who=layer.name,
            hint=HINT,
        )
    return _same(layer, given)


def _relu(layer: KerasLayer, given: _Given) -> list[Step]:
    """TensorFlow.js knows the greatest value only; a slope is a layer of its own there."""
    del given
    most, slope = layer.config.get("max_value"), layer.config.get("negative_slope", 0.0)
    threshold = layer.config.get("threshold", 0.0)
    if threshold != 0.0:
        raise FormatError(
            f"TensorFlow.js has no ReLU with a threshold: expected threshold=0, got {threshold}",
            who=layer.name,
            hint=HINT,
        )
    if slope == 0.0:
        return [Step("ReLU", {} if most is None else {"max_value": most})]
    leaky = Step("LeakyReLU", {"alpha": slope})
    if most is None:
        return [leaky]
    # The smaller of x and m is m - relu(m - x).
    return [
        leaky,
        Step("Rescaling", {"scale": -1.0, "offset": most}, "turned", (0,)),
        Step("ReLU", {}, "cut", (1,)),
        Step("Rescaling", {"scale": -1.0, "offset": most}, "limited", (2,)),
    ]


def _softmax(layer: KerasLayer, given: _Given) -> list[Step]:
    """TensorFlow.js knows the last axis only: another one is brought there and back."""
    axis = layer.config.get("axis", -1)
    ranks = {len(shape) for call in given for shape in call}
    if not isinstance(axis, int) or len(ranks) != 1:
        raise FormatError(
            f"TensorFlow.js has no Softmax over several axes, got {quoted(axis)}",
            who=layer.name,
            hint=HINT,
        )
    (rank,) = ranks
    place, last = axis % rank, rank - 1
    if place == last:
        # Without a word TensorFlow.js takes the first axis behind that of the batch.
        return [Step("Softmax", {"axis": -1})]
    if place == 0:
        raise FormatError(
            "TensorFlow.js has no Softmax over the axis of the batch", who=layer.name, hint=HINT
        )
    dims: list[JsonValue] = [*range(1, rank)]
    dims[place - 1], dims[last - 1] = last, place
    return [
        Step("Permute", {"dims": dims}),
        Step("Softmax", {"axis": -1}, "last", (0,)),
        Step("Permute", {"dims": dims}, "back", (1,)),
    ]


def _global_average(layer: KerasLayer, given: _Given) -> list[Step]:
    config = {key: value for key, value in layer.config.items() if key != "keepdims"}
    own = Step(layer.class_name, config)
    if not layer.config.get("keepdims", False):
        return [own]
    channels = {shape[-1] for call in given for shape in call}
    if len(channels) != 1 or None in channels:
        raise FormatError(
            "TensorFlow.js keeps no axes while averaging, and how many channels there are is not "
            "known",
            who=layer.name,
            hint=HINT,
        )
    (count,) = channels
    return [own, Step("Reshape", {"target_shape": [1, 1, count]}, "kept", (0,))]


def _flatten(layer: KerasLayer, given: _Given) -> list[Step]:
    ranks = {len(shape) for call in given for shape in call}
    if ranks == {2}:
        # TensorFlow.js refuses what is flat already.
        return [Step("Activation", {"activation": "linear"})]
    return _same(layer, given)


_NORMALIZED = frozenset({2, 3, 4})
"""Axes of what TensorFlow.js normalises, with that of the batch."""

_PICTURES = ("data_format", "padding")
_WINDOWS = (*_PICTURES, "pool_size", "strides")
_NEURONS = ("activation", "bias_initializer", "bias_regularizer", "use_bias")
_FILTERS = (*_NEURONS, *_PICTURES, "dilation_rate", "kernel_size", "strides")
_KERNEL = ("kernel_initializer", "kernel_regularizer")

_FORMS: Mapping[str, tuple[Callable[[KerasLayer, _Given], list[Step]], tuple[str, ...]]] = {
    "Activation": (_same, ("activation",)),
    "Add": (_same, ()),
    "AveragePooling2D": (_same, _WINDOWS),
    "BatchNormalization": (_batch_normalization, (
        "axis", "beta_initializer", "beta_regularizer", "center", "epsilon", "gamma_initializer",
        "gamma_regularizer", "momentum", "moving_mean_initializer", "moving_variance_initializer",
        "scale", "synchronized",
    )),
    "Concatenate": (_same, ("axis",)),
    "Conv2D": (_same, (*_FILTERS, *_KERNEL, "filters")),
    "Dense": (_same, (*_NEURONS, *_KERNEL, "units")),
    "DepthwiseConv2D": (_depthwise, (
        *_FILTERS, "depth_multiplier", "depthwise_initializer", "depthwise_regularizer",
    )),
    "Dropout": (_same, ("rate", "seed")),
    "Flatten": (_flatten, ("data_format",)),
    "GlobalAveragePooling2D": (_global_average, ("data_format", "keepdims")),
    "InputLayer": (_same, ("batch_shape",)),
    "Masking": (_same, ("mask_value",)),
    "MaxPooling2D": (_same, _WINDOWS),
    "Multiply": (_same, ()),
    "ReLU": (_relu, ("max_value", "negative_slope", "threshold")),
    "Rescaling": (_same, ("offset", "scale")),
    "Reshape": (_same, ("target_shape",)),
    "Softmax": (_softmax, ("axis",)),
    "ZeroPadding2D": (_same, _PICTURES),
}  # fmt: skip
"""What becomes of each class of layers, and the options of it that are said or known to do nothing.

TensorFlow.js passes over options it does not know, so that any other one is refused.
"""

_UNKNOWN_TO_KERAS_2 = ("relu6", "log_softmax")
"""Activations of TensorFlow.js that have no name in Keras 2."""

_ACTIVATIONS = frozenset(
    {
        "linear", "relu", "elu", "selu", "softplus", "softsign", "silu", "gelu", "tanh", "sigmoid",
        "mish", "softmax", *_UNKNOWN_TO_KERAS_2,
    }
)  # fmt: skip
"""Activations that are the same function in TensorFlow.js as in Keras 3."""


def _hard_sigmoid(x: int, at: int) -> list[Step]:
    """clip(x / 6 + 1/2, 0, 1); TensorFlow.js' own has the slope 0.2."""
    return [
        Step("Rescaling", {"scale": 1 / 6, "offset": 0.5}, "scaled", (x,)),
        Step("ReLU", {"max_value": 1.0}, "hard_sigmoid", (at,)),
    ]


def _hard_silu(x: int, at: int) -> list[Step]:
    """x times its hard sigmoid."""
    return [*_hard_sigmoid(x, at), Step("Multiply", {}, "hard_silu", (x, at + 1))]


def _hard_tanh(x: int, at: int) -> list[Step]:
    """clip(x, -1, 1), as 2·clip(x / 2 + 1/2, 0, 1) - 1."""
    return [
        Step("Rescaling", {"scale": 0.5, "offset": 0.5}, "scaled", (x,)),
        Step("ReLU", {"max_value": 1.0}, "cut", (at,)),
        Step("Rescaling", {"scale": 2.0, "offset": -1.0}, "hard_tanh", (at + 1,)),
    ]


def _leaky_relu(x: int, at: int) -> list[Step]:
    del at
    return [Step("LeakyReLU", {"alpha": 0.2}, "leaky_relu", (x,))]


def _log_sigmoid(x: int, at: int) -> list[Step]:
    """-softplus(-x)."""
    return [
        Step("Rescaling", {"scale": -1.0}, "turned", (x,)),
        Step("Activation", {"activation": "softplus"}, "softplus", (at,)),
        Step("Rescaling", {"scale": -1.0}, "log_sigmoid", (at + 1,)),
    ]


def _tanh_shrink(x: int, at: int) -> list[Step]:
    """x - tanh(x)."""
    return [
        Step("Activation", {"activation": "tanh"}, "tanh", (x,)),
        Step("Rescaling", {"scale": -1.0}, "turned", (at,)),
        Step("Add", {}, "tanh_shrink", (x, at + 1)),
    ]


_FUNCTIONS: Mapping[str, Callable[[int, int], list[Step]]] = {
    "hard_sigmoid": _hard_sigmoid,
    "hard_silu": _hard_silu,
    "hard_tanh": _hard_tanh,
    "leaky_relu": _leaky_relu,
    "log_sigmoid": _log_sigmoid,
    "tanh_shrink": _tanh_shrink,
}
"""Activations as several layers; they take the number of what they follow, and of their first."""

INITIALIZERS = {"LecunNormal": "LeCunNormal", "LecunUniform": "LeCunUniform"}
"""Classes that TensorFlow.js spells differently."""


def _option(value: JsonValue) -> JsonValue:
    """The value of an option; initialisers in TensorFlow.js' words."""
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        return value
    name, config = str(value["class_name"]), value.get("config")
    if isinstance(config, dict) and config.get("distribution") == "untruncated_normal":
        # It has the one that ends at two deviations; the weights are in the file anyhow.
        config = {**config, "distribution": "normal"}
    return {**value, "class_name": INITIALIZERS.get(name, name), "config": config}
