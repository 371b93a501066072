"""Where weights of a Keras model stand in files, against Keras itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from studio.engine.core.errors import GraphError
from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor
from studio.engine.interop.keras.variables import (
    keras_variables,
    layer_paths,
    legacy_groups,
    snake_case,
    trained_variables,
)
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json


def sequence(name: str, *layers: KerasLayer) -> KerasModel:
    """Layers one behind the other."""
    called = tuple(
        KerasLayer(
            each.class_name,
            each.name,
            each.config,
            each.trainable,
            calls=((KerasTensor(layers[index - 1].name),) if index else (),),
            model=each.model,
        )
        for index, each in enumerate(layers)
    )
    ends = KerasTensor(layers[0].name), KerasTensor(layers[-1].name)
    return KerasModel(name, called, ends[:1], ends[1:])


def inner(*, trainable: bool) -> KerasModel:
    return sequence(
        "encoder",
        KerasLayer("InputLayer", "seen"),
        KerasLayer("DepthwiseConv2D", "turn", {"kernel_size": 2}, trainable),
        KerasLayer("BatchNormalization", "norm"),
        KerasLayer("Conv2D", "mix", {"filters": 2, "kernel_size": 1}),
    )


def example(*, trainable: bool = True, whole: bool = True) -> tuple[KerasModel, LayerGraph]:
    """A model with one nested in it, which is trained as a whole, and there a layer."""
    model = sequence(
        "outer",
        KerasLayer("InputLayer", "x"),
        KerasLayer("Conv2D", "first", {"filters": 2, "kernel_size": 2}),
        KerasLayer("ReLU", "bent"),
        KerasLayer("Functional", "encoder", {}, whole, model=inner(trainable=trainable)),
        KerasLayer("Conv2D", "last", {"filters": 3, "kernel_size": 1}),
    )
    nodes = [
        ("x", "Input", {"shape": [4, 4, 1]}),
        ("first", "Conv2D", {"filters": 2, "kernel_size": 2}),
        ("bent", "ReLU", {}),
        ("turn", "DepthwiseConv2D", {"kernel_size": 2}),
        ("norm", "BatchNormalization", {}),
        ("mix", "Conv2D", {"filters": 2, "kernel_size": 1}),
        ("last", "Conv2D", {"filters": 3, "kernel_size": 1}),
    ]
    document = [
        {"id": name, "type": kind, "config": {**config, "name": name},
         **({"inputs": [nodes[at - 1][0]]} if at else {})}
        for at, (name, kind, config) in enumerate(nodes)
    ]  # fmt: skip
    graph = graph_from_json({"name": "outer", "nodes": document, "outputs": ["last"]})
    return model, graph


NAMES = {"first": "first", "last": "last"} | {
    f"encoder/{name}": name for name in ("turn", "norm", "mix")
}


@pytest.mark.parametrize(
    ("class_name", "path"),
    [
        ("ReLU", "re_lu"), ("PReLU", "p_re_lu"), ("Conv2DTranspose", "conv2d_transpose"),
        ("LSTM", "lstm"), ("MaxPooling2D", "max_pooling2d"), ("Dense", "dense"),
        ("GlobalAveragePooling2D", "global_average_pooling2d"), ("InputLayer", "input_layer"),
    ],
)  # fmt: skip
def test_classes_in_paths(class_name: str, path: str) -> None:
    assert snake_case(class_name) == path


def test_layers_of_one_class_are_counted_in_the_order_of_the_list() -> None:
    model, _ = example()
    assert [path for path, _ in layer_paths(model)] == [
        "layers/input_layer", "layers/conv2d", "layers/re_lu", "layers/functional",
        "layers/conv2d_1",
    ]  # fmt: skip


def test_every_weight_has_its_path_and_names() -> None:
    model, graph = example()
    found = {each.parameter: each for each in keras_variables(model, graph, NAMES)}
    assert found["first/kernel"].path == "layers/conv2d/vars/0"
    assert found["last/bias"].path == "layers/conv2d_1/vars/1"
    assert found["last/bias"].shape == (3,)
    kernel = found["turn/kernel"]
    assert kernel.path == "layers/functional/layers/depthwise_conv2d/vars/0"
    assert (kernel.group, kernel.name) == ("encoder", "turn/kernel")
    assert kernel.old_name == "turn/depthwise_kernel"
    norm = "layers/functional/layers/batch_normalization/vars"
    roles = ("gamma", "beta", "moving_mean", "moving_variance")
    assert [found[f"norm/{role}"].path for role in roles] == [f"{norm}/{i}" for i in range(4)]


@pytest.mark.parametrize(
    ("trainable", "whole", "order"),
    [
        (True, True, ["turn/kernel", "turn/bias", "norm/gamma", "norm/beta", "mix/kernel",
                      "mix/bias", "norm/moving_mean", "norm/moving_variance"]),
        (False, True, ["norm/gamma", "norm/beta", "mix/kernel", "mix/bias", "turn/kernel",
                       "turn/bias", "norm/moving_mean", "norm/moving_variance"]),
        (True, False, ["turn/kernel", "turn/bias", "norm/gamma", "norm/beta", "norm/moving_mean",
                       "norm/moving_variance", "mix/kernel", "mix/bias"]),
    ],
)  # fmt: skip
def test_what_is_trained_comes_first_in_the_older_form(
    trainable: bool, whole: bool, order: list[str]
) -> None:
    model, graph = example(trainable=trainable, whole=whole)
    found = keras_variables(model, graph, NAMES)
    groups = legacy_groups(model, found)
    assert list(groups) == ["x", "first", "bent", "encoder", "last"]
    assert groups["x"] == groups["bent"] == []
    assert [each.parameter for each in groups["encoder"]] == order
    trained = [each.parameter for each in trained_variables(found)]
    assert ("turn/kernel" in trained, "mix/bias" in trained) == (trainable and whole, whole)
    assert trained[:2] == ["first/kernel", "first/bias"]


def test_one_weight_for_two_layers_is_refused() -> None:
    model, graph = example()
    with pytest.raises(GraphError, match="two layers have one weight here, 'first/kernel'"):
        keras_variables(model, graph, {**NAMES, "last": "first"})


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize(("trainable", "whole"), [(True, True), (False, True), (True, False)])
def test_keras_writes_weights_at_these_places(tmp_path: Path, trainable: bool, whole: bool) -> None:
    os.environ.setdefault("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    h5py = pytest.importorskip("h5py")
    layers = keras.layers
    seen = keras.Input((3, 3, 2), name="seen")
    y = layers.DepthwiseConv2D(2, name="turn", trainable=trainable)(seen)
    y = layers.BatchNormalization(name="norm")(y)
    encoder = keras.Model(seen, layers.Conv2D(2, 1, name="mix")(y), name="encoder")
    if not whole:
        encoder.trainable = False
    x = keras.Input((4, 4, 1), name="x")
    y = layers.ReLU(name="bent")(layers.Conv2D(2, 2, name="first")(x))
    model = keras.Model(x, layers.Conv2D(3, 1, name="last")(encoder(y)), name="outer")
    for number, weight in enumerate(model.weights):
        weight.assign(keras.ops.zeros(weight.shape) + number)
    wanted = {weight.path: number for number, weight in enumerate(model.weights)}

    described, graph = example(trainable=trainable, whole=whole)
    variables = keras_variables(described, graph, NAMES)
    assert {each.name for each in variables} == set(wanted)
    model.save_weights(tmp_path / "new.weights.h5")
    with h5py.File(tmp_path / "new.weights.h5") as file:
        for each in variables:
            assert file[each.path].shape == each.shape
            assert float(file[each.path][...].flat[0]) == wanted[each.name]
    model.save(tmp_path / "old.h5")
    with h5py.File(tmp_path / "old.h5") as file:
        names = {
            group: [str(name) for name in members.attrs["weight_names"]]
            for group, members in file["model_weights"].items()
        }
    for group, members in legacy_groups(described, variables).items():
        assert [each.name for each in members] == names[group]
    order = [weight.path for weight in model.trainable_variables]
    assert [each.name for each in trained_variables(variables)] == order
