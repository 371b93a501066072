"""Keras' layers as layers here: options, words and objects, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.interop.keras.description import KerasLayer
from studio.engine.interop.keras.layers_in import (
    Converted,
    is_known,
    known_classes,
    layers_from_keras,
)
from studio.engine.layers.catalog import all_layers


def read(
    class_name: str, *, dtype: str = "float32", is_old: bool = False, **config: Any
) -> Converted:
    layer = KerasLayer(class_name, "in the file", config, dtype=dtype)
    return layers_from_keras(layer, "here", is_old=is_old)


def only(class_name: str, **given: Any) -> dict[str, Any]:
    """Class and options of the one layer that a layer became."""
    (layer,) = read(class_name, **given).layers
    return {"type": type(layer).__name__, **layer.config()}


KERNEL = {"module": "keras.initializers", "class_name": "GlorotUniform", "registered_name": None,
          "config": {"seed": None, "input_axes": None, "output_axes": None}}  # fmt: skip


def test_every_layer_that_keras_has_is_in_the_table() -> None:
    own = {cls.__name__ for cls in all_layers()} - {"Input", "Operator", "TiedDense"}
    assert own <= set(known_classes())
    assert is_known("InputLayer")
    assert not is_known("Lambda")


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("InputLayer", {"batch_shape": [None, 4, 4, 1], "sparse": False, "ragged": False,
                    "optional": False},
     {"type": "Input", "shape": [4, 4, 1]}),
    ("InputLayer", {"batch_input_shape": [None, None, 3]}, {"type": "Input", "shape": [None, 3]}),
    ("Dense", {"units": 3, "activation": "linear", "kernel_initializer": KERNEL,
               "kernel_constraint": None, "quantization_config": None, "use_bias": True},
     {"type": "Dense", "units": 3}),
    ("Dense", {"units": 3, "activation": {"module": "builtins", "class_name": "function",
                                          "config": "tanh", "registered_name": "function"}},
     {"type": "Dense", "units": 3, "activation": "tanh"}),
    ("Dense", {"units": 3, "activation": "swish"},
     {"type": "Dense", "units": 3, "activation": "silu"}),
    ("Dense", {"units": 3, "activation": {"class_name": "ELU", "config": {"name": "e"}}},
     {"type": "Dense", "units": 3, "activation": "elu"}),
    ("Dense", {"units": 3, "activation": {"class_name": "Softmax", "config": {"axis": -1}}},
     {"type": "Dense", "units": 3, "activation": "softmax"}),
    ("Dense", {"units": 3, "kernel_initializer": "he_normal", "bias_initializer": "zeros",
               "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.10000000149011612}},
               "bias_regularizer": "l1"},
     {"type": "Dense", "units": 3, "kernel_initializer": "he_normal",
      "kernel_regularizer": "l2(0.1)", "bias_regularizer": "l1(0.01)"}),
    ("Conv2D", {"filters": 2, "kernel_size": [3, 2], "strides": [1, 1], "padding": "same",
                "data_format": "channels_last", "groups": 1, "activity_regularizer": None},
     {"type": "Conv2D", "filters": 2, "kernel_size": [3, 2], "padding": "same"}),
    ("DepthwiseConv2D", {"kernel_size": [3, 3], "groups": 1, "depth_multiplier": 2,
                         "depthwise_constraint": None},
     {"type": "DepthwiseConv2D", "kernel_size": [3, 3], "depth_multiplier": 2}),
    ("BatchNormalization", {"axis": [3], "momentum": 0.9, "synchronized": True, "renorm": False,
                            "renorm_clipping": None, "renorm_momentum": 0.99},
     {"type": "BatchNormalization", "axis": 3, "momentum": 0.9, "synchronized": True}),
    ("BatchNormalization", {"synchronized": None}, {"type": "BatchNormalization"}),
    ("MaxPooling2D", {"pool_size": [2, 2], "strides": None, "data_format": None},
     {"type": "MaxPooling2D"}),
    ("Dropout", {"rate": 0.2, "seed": None, "noise_shape": None},
     {"type": "Dropout", "rate": 0.2}),
    ("Dropout", {"rate": 0.2, "seed": 7}, {"type": "Dropout", "rate": 0.2, "seed": 7}),
    ("ReLU", {"max_value": 6.0, "negative_slope": 0.0, "threshold": 0.0},
     {"type": "ReLU", "max_value": 6.0}),
    ("LeakyReLU", {"alpha": 0.30000001192092896}, {"type": "ReLU", "negative_slope": 0.3}),
    ("LeakyReLU", {}, {"type": "ReLU", "negative_slope": 0.3}),
    ("ELU", {"alpha": 1.0}, {"type": "Activation", "activation": "elu"}),
    ("Identity", {}, {"type": "Activation"}),
    ("ZeroPadding2D", {"padding": [[1, 2], [0, 1]]},
     {"type": "ZeroPadding2D", "padding": [[1, 2], [0, 1]]}),
    ("Rescaling", {"scale": 0.5, "offset": -1}, {"type": "Rescaling", "scale": 0.5,
                                                 "offset": -1.0}),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(CASES)))
def test_a_layer_with_its_options(index: int) -> None:
    class_name, config, wanted = CASES[index]
    assert only(class_name, **config) == {"name": "here", **wanted}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"class_name": "VarianceScaling", "config": {"scale": 2.0, "mode": "fan_out",
                                                      "distribution": "normal", "seed": 3}},
         "variance_scaling(2,fan_out,truncated_normal)"),
        ({"class_name": "RandomNormal", "config": {"mean": 0.0, "stddev": 0.5, "seed": None}},
         "random_normal(0,0.5)"),
        ({"class_name": "RandomUniform", "config": {"minval": -1, "maxval": 1}},
         "random_uniform(-1,1)"),
        ({"class_name": "OrthogonalInitializer", "config": {"gain": 1.0}}, "orthogonal"),
        ({"class_name": "Constant", "config": {"value": 0.5}}, "constant(0.5)"),
        ("glorot_normal", "glorot_normal"),
        ("Zeros", "zeros"),
    ],
)  # fmt: skip
def test_initialisers(given: Any, text: str) -> None:
    assert only("Dense", units=2, bias_initializer=given).get("bias_initializer", "zeros") == text


def test_an_activation_that_is_only_a_layer_becomes_one() -> None:
    given = {"class_name": "LeakyReLU", "config": {"name": "leak", "negative_slope": 0.1}}
    made = read("Dense", units=2, activation=given)
    assert [type(each).__name__ for each in made.layers] == ["Dense", "ReLU"]
    assert made.layers[0].config() == {"name": "here", "units": 2}
    assert made.layers[1].config() == {"negative_slope": 0.1}
    assert made.note == "its activation is a layer of its own"


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"class_name": "Dense", "units": 2, "dtype": "mixed_float16"},
         "computed in float32 instead of mixed_float16"),
        ({"class_name": "InputLayer", "batch_shape": [None, 2], "dtype": "int64"},
         "int32 instead of int64"),
        ({"class_name": "InputLayer", "batch_shape": [32, 2]},
         "for batches of any size instead of 32"),
        ({"class_name": "LeakyReLU"}, "a ReLU with a slope"),
    ],
)  # fmt: skip
def test_what_is_different_is_said(given: dict[str, Any], note: str) -> None:
    assert read(**given).note == note


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown option": ({"units": 2, "magic": 1}, "unknown option 'magic'"),
    "a path": ({"units": 2, "vocabulary": "/etc/passwd"}, "unknown option 'vocabulary'"),
    "a constraint": ({"units": 2, "kernel_constraint": {"class_name": "MaxNorm"}},
                     "kernel_constraint: expected None"),
    "a penalty of the output": ({"units": 2, "activity_regularizer": "l2"},
                                "activity_regularizer: expected None, got 'l2'"),
    "no units": ({}, "units must be given"),
    "units of 0": ({"units": 0}, "units: expected a whole number"),
    "huge units": ({"units": 10**11}, "units: expected a whole number"),
    "negative units": ({"units": -2}, "units: expected a whole number"),
    "units as text": ({"units": "2"}, "units: expected a whole number"),
    "units as a bool": ({"units": True}, "units: expected a whole number"),
    "bias as a number": ({"units": 2, "use_bias": 1}, "use_bias: expected true or false"),
    "an unknown activation": ({"units": 2, "activation": "magic"}, "expected an activation"),
    "an activation of another module": (
        {"units": 2, "activation": {"module": "os", "class_name": "system", "config": {}}},
        "expected an activation, got 'system'"),
    "a lambda": ({"units": 2, "activation": {"class_name": "__lambda__", "config": {}}},
                 "expected an activation, got '__lambda__'"),
    "a function that is no activation": (
        {"units": 2, "activation": {"class_name": "function", "config": "system"}},
        "expected an activation, got 'system'"),
    "an unknown initialiser": ({"units": 2, "kernel_initializer": "STFT"},
                               "expected an initialiser out of"),
    "an initialiser with axes": (
        {"units": 2, "kernel_initializer": {"class_name": "GlorotUniform",
                                            "config": {"input_axes": [0]}}}, "input_axes"),
    "an initialiser with an unknown option": (
        {"units": 2, "kernel_initializer": {"class_name": "Zeros", "config": {"path": "x"}}},
        "unknown option 'path'"),
    "an initialiser that is a number": ({"units": 2, "kernel_initializer": 3},
                                        "expected an initialiser, got 3"),
    "an unknown regulariser": ({"units": 2, "kernel_regularizer": "OrthogonalRegularizer"},
                               "expected a regulariser out of"),
    "a quantised layer": ({"units": 2, "dtype": "int8_from_float32"},
                          "got 'int8_from_float32'"),
    "old hard_sigmoid": ({"units": 2, "activation": "hard_sigmoid", "is_old": True},
                         "is another function than that of Keras 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_layers_here_cannot_have_is_refused_by_name(name: str) -> None:
    given, message = REFUSED[name]
    with pytest.raises(ParameterError) as caught:
        read("Dense", **given)
    assert message in str(caught.value)
    assert caught.value.who.startswith("here")


@pytest.mark.parametrize(
    ("class_name", "config", "message"),
    [
        ("ELU", {"alpha": 0.5}, "alpha: expected 1, got 0.5"),
        ("DepthwiseConv2D", {"kernel_size": 3, "groups": 2}, "groups: expected 1, got 2"),
        ("Conv2D", {"filters": 2, "kernel_size": 3, "groups": 2}, "groups: expected a whole"),
        ("Flatten", {"data_format": "channels_first"}, "data_format: expected one of"),
        ("Dropout", {"rate": 1.5}, "rate: expected a number from"),
        ("Dropout", {"rate": 0.5, "noise_shape": [1]}, "noise_shape: expected None"),
        ("Rescaling", {"scale": [1.0, 2.0]}, "scale: expected a number"),
        ("InputLayer", {"batch_shape": [None, 0]}, "shape: expected a whole number"),
        ("InputLayer", {"batch_shape": "4"}, "batch_shape: expected a list, got '4'"),
        ("InputLayer", {"batch_shape": [None, 4], "dtype": "string"}, "dtype: expected one of"),
        ("InputLayer", {"batch_shape": [None, 4], "sparse": True}, "sparse: expected"),
        ("InputLayer", {}, "shape must be given"),
        ("BatchNormalization", {"renorm": True}, "renorm: expected None or False, got True"),
    ],
)  # fmt: skip
def test_other_values_are_refused_by_name(
    class_name: str, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        read(class_name, **config)
    assert message in str(caught.value)
    assert caught.value.who == "here"


def test_hard_sigmoid_of_keras_3_is_the_one_here() -> None:
    assert only("Activation", activation="hard_sigmoid")["activation"] == "hard_sigmoid"
