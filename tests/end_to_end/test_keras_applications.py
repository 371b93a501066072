"""Keras' application models come in through both of Keras' files and answer as Keras does."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from studio.engine.interop.file_format import format_named
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.model.model import Model
from tests.end_to_end.keras_applications import SIDES, sampled

pytestmark = [pytest.mark.peers, pytest.mark.slow]


def with_all_outputs(graph: LayerGraph) -> tuple[LayerGraph, list[str]]:
    """The network with every layer's output as one of its own, and the names of the layers."""
    inputs = {node.id for node in graph.inputs}
    nodes = [node for node in graph.nodes.values() if node.id not in inputs]
    made = LayerGraph(graph.name)
    made.nodes = dict(graph.nodes)
    made.outputs = tuple(Port(node.id) for node in nodes)
    return made, [node.layer.name for node in nodes]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SIDES)
def test_an_application_model_answers_as_keras_does(name: str, tmp_path: Path) -> None:
    if find_spec("keras") is None:
        pytest.skip("Keras is not installed")
    subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.keras_applications", name,
         str(tmp_path)],
        check=True,
        env={**os.environ, "KERAS_BACKEND": "jax"},
    )  # fmt: skip
    with np.load(tmp_path / "answers.npz") as stored:
        answers = dict(stored)
    found = format_named("keras").read_model(tmp_path / "model.keras")
    older = format_named("hdf5").read_model(tmp_path / "model.h5")
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
