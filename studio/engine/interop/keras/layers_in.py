"""The table of Keras' classes that are layers here, and their options.

What is not in the table is refused by name. Options are checked by the constructors of the layers
here; those in ``_WITHOUT_MEANING`` are let pass with the values there, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.interop.keras.description import KerasLayer
from studio.engine.layers import initializers as init
from studio.engine.layers.activation_catalog import parse_activation
from studio.engine.layers.activation_layers import Activation, ReLU, Softmax
from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.dropout import Dropout
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import Layer
from studio.engine.layers.masking import Masking
from studio.engine.layers.merging import Add, Concatenate, Multiply
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.pooling import AveragePooling2D, GlobalAveragePooling2D, MaxPooling2D
from studio.engine.layers.regularizers import L1, L1L2, L2, Regularizer
from studio.engine.layers.rescaling import Rescaling
from studio.engine.layers.shaping import Flatten, Reshape, ZeroPadding2D

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue
    from studio.engine.layers.text_form import TextForm

    Config = dict[str, JsonValue]

T = TypeVar("T")


class Converted(NamedTuple):
    """What one layer of Keras is here.

    Attributes:
        layers: one behind the other; all parameters are those of the first, and the second has no
            name yet.
        note: what is different, in a few words.
    """

    layers: tuple[Layer, ...]
    note: str = ""


class _Made(NamedTuple):
    """The options of a layer here, the words of its note, and an activation that is a layer."""

    kind: type[Layer]
    options: Config
    notes: tuple[str, ...] = ()


_ANY = object()
_WITHOUT_MEANING: Mapping[str, tuple[object, ...]] = {
    **dict.fromkeys(
        ("activity_regularizer", "kernel_constraint", "bias_constraint", "depthwise_constraint",
         "beta_constraint", "gamma_constraint", "quantization_config", "lora_rank", "lora_alpha",
         "noise_shape", "renorm_clipping", "virtual_batch_size", "adjustment", "type_spec",
         "data_format"),
        (None,),
    ),
    **dict.fromkeys(("sparse", "ragged", "optional", "renorm"), (None, False)),
    # Where a layer has no such option: statistics of several devices; ways to compute the same.
    **dict.fromkeys(("synchronized", "fused"), (None, False, True)),
    # Of what is off, or said by the shapes of the inputs.
    **dict.fromkeys(("renorm_momentum", "batch_input_shape", "input_shape"), (_ANY,)),
}  # fmt: skip
"""Options that change nothing here, with the values for which that is so."""

_DTYPES = frozenset({"mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float64"})
"""Dtypes of layers that are computed in float32 here."""

_INPUT_DTYPES = {
    "float32": "float32", "int32": "int32", "int64": "int32", "uint8": "int32", "int16": "int32",
    "int8": "int32", "uint16": "int32", "float16": "float32", "bfloat16": "float32",
    "float64": "float32",
}  # fmt: skip

_INITIALIZERS: Mapping[str, type[init.Initializer]] = {
    "OrthogonalInitializer": init.Orthogonal,
    "IdentityInitializer": init.Identity,
    **{
        each.__name__: each
        for each in (
            init.Zeros, init.Ones, init.Constant, init.RandomUniform, init.RandomNormal,
            init.TruncatedNormal, init.VarianceScaling, init.Orthogonal, init.Identity,
            init.GlorotUniform, init.GlorotNormal, init.HeUniform, init.HeNormal,
            init.LecunUniform, init.LecunNormal,
        )
    },
}  # fmt: skip

_INITIALIZER_OPTIONS = {"stddev": "deviation", "minval": "low", "maxval": "high"}
_REGULARIZERS: Mapping[str, type[Regularizer]] = {"L1": L1, "L2": L2, "L1L2": L1L2}


def is_known(class_name: str) -> bool:
    """Whether a class of Keras is a layer here."""
    return class_name in _CLASSES


def known_classes() -> tuple[str, ...]:
    """The classes of Keras that are layers here, by name."""
    return tuple(sorted(_CLASSES))


def layers_from_keras(
    layer: KerasLayer, name: str, *, trainable: bool = True, is_old: bool = False
) -> Converted:
    """What a layer of Keras, other than a model, is here.

    Args:
        layer: the layer, of a class that `is_known`.
        name: what it is called here.
        trainable: whether it is trained, with the models around it.
        is_old: whether Keras 2 or TensorFlow.js wrote it.

    Raises:
        ParameterError: an option is unknown or has a value that layers here cannot have.
    """
    config = dict(layer.config)
    if layer.class_name == "InputLayer":
        config["dtype"] = layer.dtype
    made = _CLASSES[layer.class_name](config, name)
    notes = [*made.notes, *_dtype_note(layer, name)]
    options, behind = _options(made, name, is_old)
    first = made.kind(name=name, trainable=trainable, **options)
    if behind is None:
        return Converted((first,), "; ".join(notes))
    notes.append("its activation is a layer of its own")
    return Converted((first, *behind.layers), "; ".join(notes))


def _dtype_note(layer: KerasLayer, name: str) -> tuple[str, ...]:
    if layer.class_name == "InputLayer" or layer.dtype == "float32":
        return ()
    if layer.dtype in _DTYPES:
        return (f"computed in float32 instead of {layer.dtype}",)
    raise ParameterError(
        f"dtype: expected float32 or {', '.join(sorted(_DTYPES))}, got {quoted(layer.dtype)}",
        who=name,
        hint="save the model without quantisation",
    )


def _options(made: _Made, name: str, is_old: bool) -> tuple[dict[str, object], Converted | None]:
    """Options as the layer here takes them, and an activation that must be a layer of its own."""
    known = {option.name for option in made.kind.options}
    found: dict[str, object] = {}
    behind = None
    for key, value in made.options.items():
        if key in _WITHOUT_MEANING and (key not in known or value is None):
            _check_meaningless(key, value, name)
        elif key.endswith("_initializer"):
            found[key] = _initializer(value, f"{name}: {key}")
        elif key.endswith("_regularizer"):
            found[key] = _regularizer(value, f"{name}: {key}")
        elif key == "activation":
            found[key], behind = _activation(value, name, is_old)
        else:
            found[key] = short_number(value)
    return found, behind


def _check_meaningless(key: str, value: JsonValue, name: str) -> None:
    allowed = _WITHOUT_MEANING[key]
    if allowed != (_ANY,) and not any(value is each for each in allowed):
        raise ParameterError(
            f"{key}: expected {' or '.join(map(repr, allowed))}, got {quoted(value)}",
            who=name,
            hint="layers here have no such option",
        )


def short_number(value: JsonValue) -> JsonValue:
    """The value; a number that is one of float32 as short as that can be written."""
    if isinstance(value, float) and abs(value) < 3e38 and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value


def _object(value: JsonValue, who: str, what: str) -> tuple[str, Config]:
    """Class and options of a settings object, or of a word for one."""
    if isinstance(value, str):
        return value, {}
    config = value.get("config", {}) if isinstance(value, dict) else None
    class_name = value.get("class_name") if isinstance(value, dict) else None
    if not isinstance(class_name, str) or not isinstance(config, dict):
        raise ParameterError(f"expected {what}, got {quoted(value)}", who=who)
    return class_name, dict(config)


def _word(class_name: str, table: Mapping[str, type[TextForm]]) -> type[TextForm] | None:
    """The class of that name, or the one whose word it is."""
    return table.get(class_name) or next(
        (each for each in table.values() if each.word == class_name), None
    )


def _initializer(value: JsonValue, who: str) -> init.Initializer:
    """The initialiser of an object or a word."""
    class_name, config = _object(value, who, "an initialiser")
    found = _word(class_name, _INITIALIZERS)
    if found is None or not issubclass(found, init.Initializer):
        raise ParameterError(
            f"expected an initialiser out of {', '.join(sorted(_INITIALIZERS))}, got "
            f"{quoted(class_name)}",
            who=who,
        )
    config.pop("seed", None)
    config.pop("dtype", None)
    for key in ("input_axes", "output_axes", "partition"):
        if config.pop(key, None) is not None:
            raise ParameterError(f"{key}: expected none, got a value", who=who)
    if config.get("distribution") == "normal":
        # What Keras 2 called so is cut off at two deviations.
        config["distribution"] = "truncated_normal"
    given = {
        _INITIALIZER_OPTIONS.get(key, key): short_number(value) for key, value in config.items()
    }
    return _saying(who, lambda: found(**given))


def _regularizer(value: JsonValue, who: str) -> Regularizer | None:
    """The penalty of an object or a word; None for none."""
    if value is None:
        return None
    class_name, config = _object(value, who, "a regulariser")
    found = _word(class_name, _REGULARIZERS)
    if found is None or not issubclass(found, Regularizer):
        raise ParameterError(
            f"expected a regulariser out of {', '.join(_REGULARIZERS)}, got {quoted(class_name)}",
            who=who,
        )
    given = {key: short_number(value) for key, value in config.items()}
    return _saying(who, lambda: found(**given))


def _saying(who: str, make: Callable[[], T]) -> T:
    """What ``make`` gives; its ParameterError names where it was given."""
    try:
        return make()
    except ParameterError as error:
        error.who = who
        raise


def _activation(value: JsonValue, name: str, is_old: bool) -> tuple[str, Converted | None]:
    """The function's name; a layer in its place where only that is the same."""
    who = f"{name}: activation"
    if isinstance(value, dict) and value.get("class_name") == "function":
        value = value.get("config")
    if not isinstance(value, dict):
        word = parse_activation(value, who)
        if word == "hard_sigmoid" and is_old:
            raise ParameterError(
                "hard_sigmoid of Keras 2 and TensorFlow.js is another function than that of "
                "Keras 3, which is here",
                who=who,
                hint="load the model in Keras 3 and save it again",
            )
        return word, None
    class_name, config = _object(value, who, "an activation")
    if class_name not in ("Activation", "ReLU", "LeakyReLU", "ELU", "Softmax", "Identity"):
        raise ParameterError(f"expected an activation, got {quoted(class_name)}", who=who)
    for key in ("name", "trainable", "dtype"):
        config.pop(key, None)
    layer = KerasLayer(class_name, "activation", config)
    made = layers_from_keras(layer, name, is_old=is_old)
    only = made.layers[0]
    only.name = ""
    if isinstance(only, Activation):
        return only.activation, None
    if not only.config():
        return ("relu" if isinstance(only, ReLU) else "softmax"), None
    return "linear", made


def _same(kind: type[Layer]) -> Callable[[Config, str], _Made]:
    """A class whose options are those of a layer here."""

    def made(config: Config, name: str) -> _Made:
        del name
        return _Made(kind, config)

    return made


def _input(config: Config, name: str) -> _Made:
    """The shape without the batch, and a dtype there is here."""
    shape = next(
        (config.pop(key) for key in ("batch_shape", "batch_input_shape") if key in config), None
    )
    notes = []
    if isinstance(shape, list) and shape:
        if shape[0] is not None:
            notes.append(f"for batches of any size instead of {quoted(shape[0])}")
        config["shape"] = shape[1:]
    elif shape is not None:
        raise ParameterError(f"batch_shape: expected a list, got {quoted(shape)}", who=name)
    stated = config.pop("dtype", "float32")
    dtype = _INPUT_DTYPES.get(stated) if isinstance(stated, str) else None
    if dtype is None:
        raise ParameterError(
            f"dtype: expected one of {', '.join(_INPUT_DTYPES)}, got {quoted(stated)}", who=name
        )
    if dtype != stated:
        notes.append(f"{dtype} instead of {stated}")
    config["dtype"] = dtype
    return _Made(Input, config, tuple(notes))


def _batch_normalization(config: Config, name: str) -> _Made:
    """Keras 2 has a list of axes."""
    del name
    axis = config.get("axis")
    if isinstance(axis, list) and len(axis) == 1:
        config["axis"] = axis[0]
    return _Made(BatchNormalization, config)


def _depthwise(config: Config, name: str) -> _Made:
    """Keras 2 says that there is one group."""
    groups = config.pop("groups", 1)
    if groups != 1:
        raise ParameterError(f"groups: expected 1, got {quoted(groups)}", who=name)
    return _Made(DepthwiseConv2D, config)


def _leaky_relu(config: Config, name: str) -> _Made:
    """A ReLU with that slope; Keras 2 calls it alpha."""
    del name
    for key in ("negative_slope", "alpha"):
        if key in config:
            config["negative_slope"] = config.pop(key)
    config.setdefault("negative_slope", 0.3)
    return _Made(ReLU, config, ("a ReLU with a slope",))


def _elu(config: Config, name: str) -> _Made:
    """The function, which has no option here."""
    alpha = config.pop("alpha", 1.0)
    if alpha != 1.0:
        raise ParameterError(f"alpha: expected 1, got {quoted(alpha)}", who=name)
    return _Made(Activation, {**config, "activation": "elu"}, ("an Activation",))


def _identity(config: Config, name: str) -> _Made:
    del name
    return _Made(Activation, {**config, "activation": "linear"}, ("an Activation",))


_CLASSES: Mapping[str, Callable[[Config, str], _Made]] = {
    "InputLayer": _input,
    "BatchNormalization": _batch_normalization,
    "DepthwiseConv2D": _depthwise,
    "LeakyReLU": _leaky_relu,
    "ELU": _elu,
    "Identity": _identity,
    **{
        kind.__name__: _same(kind)
        for kind in (
            Dense, Conv2D, MaxPooling2D, AveragePooling2D, GlobalAveragePooling2D, Flatten,
            Reshape, ZeroPadding2D, Dropout, Activation, ReLU, Softmax, Add, Multiply,
            Concatenate, Masking, Rescaling,
        )
    },
}  # fmt: skip
