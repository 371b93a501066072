"""Keras' application models come in through both of Keras' files and answer as Keras does."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from studio.engine.interop.file_format import format_named
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.named_parameters import named_parameters, public_weights
from studio.engine.optim.optimizers import Adam
from studio.engine.train.model.import_model import import_model
from studio.engine.train.model.model import Model
from tests.end_to_end.keras_applications import SIDES, files_of, pictures_of_digits, sampled

pytestmark = [pytest.mark.peers, pytest.mark.slow]


def with_all_outputs(graph: LayerGraph) -> tuple[LayerGraph, list[str]]:
    """The network with every layer's output as one of its own, and the names of the layers."""
    inputs = {node.id for node in graph.inputs}
    nodes = [node for node in graph.nodes.values() if node.id not in inputs]
    made = LayerGraph(graph.name)
    made.nodes = dict(graph.nodes)
    made.outputs = tuple(Port(node.id) for node in nodes)
    return made, [node.layer.name for node in nodes]


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The files of an application model."""
    if find_spec("keras") is None:
        pytest.skip("Keras is not installed")
    # With several workers each has a folder of its own below the one they share.
    base = tmp_path_factory.getbasetemp().parent
    return lambda name: files_of(name, base)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SIDES)
def test_an_application_model_answers_as_keras_does(name: str, made: Callable[[str], Path]) -> None:
    folder = made(name)
    with np.load(folder / "answers.npz") as stored:
        answers = dict(stored)
    found = format_named("keras").read_model(folder / "model.keras")
    older = format_named("hdf5").read_model(folder / "model.h5")
    assert not found.report.left_out
    assert older.weights.keys() == found.weights.keys()
    for key, values in found.weights.items():
        np.testing.assert_array_equal(older.weights[key], values, err_msg=key)

    weights = list(public_weights(found.graph, found.weights).values())
    graph, names = with_all_outputs(found.graph)
    with Model.of_graph(graph, backend="cpu") as whole:
        whole.set_weights(weights)
        every = whole.predict(answers["pictures"], batch_size=2)
    by_name = dict(zip(names, every, strict=True))
    expected = {key.removeprefix("layer/"): a for key, a in answers.items() if "/" in key}
    assert by_name.keys() == expected.keys()
    for layer, wanted in expected.items():
        scale = max(1.0, float(np.abs(wanted).max()))
        gap = float(np.abs(sampled(by_name[layer]) - wanted).max()) / scale
        assert gap < 1e-4, f"{layer}: {gap}"
    with Model.of_graph(found.graph, backend="cpu") as model:
        model.set_weights(weights)
        np.testing.assert_allclose(model.predict(answers["pictures"]), answers["answer"], atol=1e-4)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("MobileNet", ("conv_dw_13", "conv_pw_13", "conv_preds")),
        ("MobileNetV2", ("block_16_project", "Conv_1", "predictions")),
    ],
)
def test_the_end_of_an_application_model_is_trained_on_other_pictures(
    name: str, end: tuple[str, ...], made: Callable[[str], Path]
) -> None:
    pictures, classes = pictures_of_digits(SIDES[name], 640)
    rest = slice(512, None)
    with import_model(made(name) / "model.keras") as model:
        names = [each.name for each in named_parameters(model.graph)]
        for layer in model.layers:
            layer.trainable = layer.name in end
        before = model.get_weights()
        model.compile(Adam(0.001), "sparse_categorical_crossentropy", metrics=["accuracy"])
        first = model.evaluate(pictures[rest], classes[rest], 64, return_dict=True)
        model.fit(pictures[:512], classes[:512], batch_size=32, epochs=20)
        last = model.evaluate(pictures[rest], classes[rest], 64, return_dict=True)
        pairs = zip(names, before, model.get_weights(), strict=True)
        changed = {key for key, old, new in pairs if not np.array_equal(old, new)}
    assert {key.partition("/")[0] for key in changed} == set(end)
    assert first["accuracy"] < 0.4
    # No more can be had from a body that was never trained itself.
    assert last["accuracy"] > 0.55
