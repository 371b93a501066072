"""Layers as Keras writes them: the class, and only the options that matter.

Each version of Keras refuses options it does not know, so that what is default is left out: such a
file is read by all of them. What Keras has no class, function or option for is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from studio.engine.core.errors import FormatError, quoted
from studio.engine.layers import initializers as init
from studio.engine.layers.activation_catalog import NAMES
from studio.engine.layers.initializers import Initializer
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import Layer
from studio.engine.layers.operator import Operator
from studio.engine.layers.regularizers import L1, L1L2, L2, Regularizer

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue

ELSEWHERE = "export instructions (gbi), which run without Keras, or weights (safetensors)"
"""What to do about a network that Keras cannot have."""


class KerasForm(NamedTuple):
    """A layer in Keras' words: its class there, and options without name, dtype and the like."""

    class_name: str
    config: dict[str, JsonValue]


def keras_form(layer: Layer) -> KerasForm:
    """A layer in Keras' words.

    Raises:
        FormatError: Keras has no such layer, or one of its options has no equivalent there.
    """
    if isinstance(layer, Input):
        return KerasForm("InputLayer", {"batch_shape": [None, *layer.shape]})
    name = type(layer).__name__
    if isinstance(layer, Operator):
        raise FormatError(
            f"Keras' files have layers only, and none for the operation {layer.operation}",
            who=layer.who,
            hint=f"replace it by a layer where one does the same, or {ELSEWHERE}",
        )
    if name not in CLASSES or not type(layer).__module__.startswith("studio.engine.layers."):
        raise FormatError(f"Keras has no layer {name}", who=layer.who, hint=ELSEWHERE)
    config: dict[str, JsonValue] = {}
    for option in layer.options:
        value = layer.option_values[option.name]
        is_said = option.name in _ALWAYS or option.required
        if is_said or value != option.default:
            config[option.name] = _value(layer, option.name, value, option.choices is NAMES)
    return KerasForm(name, config)


CLASSES = frozenset(
    {
        "Activation", "Add", "AveragePooling2D", "BatchNormalization", "Concatenate", "Conv2D",
        "Dense", "DepthwiseConv2D", "Dropout", "Flatten", "GlobalAveragePooling2D", "Masking",
        "MaxPooling2D", "Multiply", "ReLU", "Rescaling", "Reshape", "Softmax", "ZeroPadding2D",
    }
)  # fmt: skip
"""Layers that Keras has under the same name, with the same options and the same defaults."""

_ALWAYS = frozenset({"activation", "data_format", "offset"})
"""Options that Keras wants to be told, or whose default depends on the machine that reads."""

ACTIVATIONS: Mapping[str, str] = {
    **{name: name for name in (
        "linear", "relu", "relu6", "leaky_relu", "elu", "selu", "sigmoid", "hard_sigmoid",
        "log_sigmoid", "tanh", "hard_tanh", "tanh_shrink", "silu", "hard_silu", "softplus",
        "softsign", "mish", "gelu", "exponential", "softmax", "log_softmax",
    )},
    # With the alpha of 1 that both have by default they are one function; Keras 3.0 has no celu.
    "celu": "elu",
}  # fmt: skip
"""Activations by name, and what Keras calls each."""


def _value(layer: Layer, name: str, value: Any, is_activation: bool) -> JsonValue:
    """The value of an option as Keras' JSON has it; FormatError where there is none."""
    if is_activation:
        found = ACTIVATIONS.get(value)
        if found is None:
            raise FormatError(
                f"{name}: Keras has no activation {quoted(value)} that a file can name",
                who=layer.who,
                hint="choose gelu" if value == "gelu_tanh" else ELSEWHERE,
            )
        return found
    if isinstance(value, Initializer):
        kernel = layer.option_values.get("kernel_size")
        rows = kernel[0] if isinstance(kernel, tuple) and name != "bias_initializer" else 0
        return keras_initializer(value, layer.who, name, rows)
    if isinstance(value, Regularizer):
        return _regularizer(value, layer.who, name)
    return _plain(value)


def _plain(value: Any) -> JsonValue:
    """Tuples as lists, however deep."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    plain: JsonValue = value
    return plain


def _scaled(scale: float, mode: str, distribution: str) -> KerasForm:
    return KerasForm(
        "VarianceScaling", {"scale": scale, "mode": mode, "distribution": distribution}
    )


_INITIALIZERS: Mapping[type[Initializer], Callable[[Any], KerasForm]] = {
    init.Zeros: lambda _: KerasForm("Zeros", {}),
    init.Ones: lambda _: KerasForm("Ones", {}),
    init.Constant: lambda own: KerasForm("Constant", {"value": own.value}),
    init.RandomUniform: lambda own: KerasForm(
        "RandomUniform", {"minval": own.low, "maxval": own.high}
    ),
    init.RandomNormal: lambda own: KerasForm(
        "RandomNormal", {"mean": own.mean, "stddev": own.deviation}
    ),
    init.TruncatedNormal: lambda own: KerasForm(
        "TruncatedNormal", {"mean": own.mean, "stddev": own.deviation}
    ),
    init.Orthogonal: lambda own: KerasForm("Orthogonal", {"gain": own.gain}),
    init.Identity: lambda own: KerasForm("Identity", {"gain": own.gain}),
    init.GlorotUniform: lambda _: KerasForm("GlorotUniform", {}),
    init.GlorotNormal: lambda _: KerasForm("GlorotNormal", {}),
    init.HeUniform: lambda _: KerasForm("HeUniform", {}),
    init.HeNormal: lambda _: KerasForm("HeNormal", {}),
    init.LecunUniform: lambda _: KerasForm("LecunUniform", {}),
    init.LecunNormal: lambda _: KerasForm("LecunNormal", {}),
    init.VarianceScaling: lambda own: _scaled(own.scale, own.mode, own.distribution),
    # Uniform within ±√(3·scale/fan) and normal with √(scale/fan) are these two.
    init.DylannLinear: lambda _: _scaled(1 / 3, "fan_in", "uniform"),
    init.DylannConv: lambda _: _scaled(4.0, "fan_in", "untruncated_normal"),
}
"""Every initialiser in Keras' words; values drawn by it differ, their distribution does not."""


def keras_initializer(
    value: Initializer, who: str, option: str, rows: int = 0
) -> dict[str, JsonValue]:
    """An initialiser in Keras' words.

    Args:
        value: the initialiser.
        who: the layer.
        option: it is the value of.
        rows: of the windows of filters; 0 for what is no filter.

    Raises:
        FormatError: Keras has none like it.
    """
    made = _INITIALIZERS.get(type(value))
    if made is None:
        raise FormatError(
            f"{option}: Keras has no initialiser {quoted(value.word)}",
            who=who,
            hint="the weights are in the file whatever they began with; choose one of Keras'",
        )
    if rows and isinstance(value, init.DylannLinear):
        limit = 1 / rows**0.5
        return _object(KerasForm("RandomUniform", {"minval": -limit, "maxval": limit}))
    return _object(made(value))


def _regularizer(value: Regularizer, who: str, option: str) -> dict[str, JsonValue]:
    l1, l2 = value.factors
    forms = {L1: KerasForm("L1", {"l1": l1}), L2: KerasForm("L2", {"l2": l2}),
             L1L2: KerasForm("L1L2", {"l1": l1, "l2": l2})}  # fmt: skip
    found = forms.get(type(value))
    if found is None:
        raise FormatError(
            f"{option}: Keras has no regulariser {quoted(value.word)}",
            who=who,
            hint="choose l1, l2 or l1_l2; answers do not depend on it",
        )
    return _object(found)


def _object(form: KerasForm) -> dict[str, JsonValue]:
    return {"class_name": form.class_name, "config": form.config}
