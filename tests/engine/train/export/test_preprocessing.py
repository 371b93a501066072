"""Files state how raw samples become a model's input, and what they say is done."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import FormatError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.train.export.preprocessing import NORMALIZATION, normalized, stated_facts
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from tests.engine.train.two_inputs import two_inputs

FLOAT = np.dtype(np.float32)


@pytest.mark.slow
def test_what_is_stated_gives_what_the_task_normalises_bit_for_bit(tmp_path: Path) -> None:
    task = Task.of_project(Project.load(two_inputs(tmp_path, epochs=1)))
    assert task.training is not None
    rows = [array[:8] for array in task.training.inputs]
    names = [each.name for each in task.all_inputs]
    found = normalized(stated_facts(task), names, rows, [FLOAT, FLOAT])
    for made, raw, source in zip(found, rows, task.spec.inputs, strict=True):
        scale, shift = np.float32(source.scale), np.float32(source.shift)
        wanted = raw.astype(np.float32) * scale + shift if source.scale else raw
        np.testing.assert_array_equal(made, wanted)


def test_an_input_that_is_not_normalised_is_only_cast() -> None:
    rows = np.arange(6, dtype=np.uint8).reshape(2, 3)
    (made,) = normalized({}, ["x"], [rows], [np.dtype(np.int32)])
    assert made.dtype == np.int32
    np.testing.assert_array_equal(made, rows)


@pytest.mark.parametrize(
    "stated",
    [
        "[", "[]", "3", "[" * 100_000, '{"x": 1}', '{"x": {"scale": [1]}}',
        '{"x": {"scale": [1, 2], "shift": [0, 0]}}', '{"x": {"scale": ["1"], "shift": [0]}}',
        '{"x": {"scale": [NaN], "shift": [0]}}', '{"x": {"scale": [1], "shift": [1e39]}}',
        '{"x": {"scale": [], "shift": []}}', '{"x": {"scale": [true], "shift": [0]}}',
    ],
)  # fmt: skip
def test_a_damaged_normalisation_is_refused(stated: str) -> None:
    rows = np.zeros((4, 3), np.float32)
    with pytest.raises(FormatError, match=r"damaged|JSON|finite numbers"):
        normalized({NORMALIZATION: stated}, ["x"], [rows], [FLOAT])


@pytest.mark.slow
def test_how_pictures_are_resampled_is_stated(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for kind in ("cat", "dog"):
        (tmp_path / "pictures" / kind).mkdir(parents=True)
        for index in range(4):
            pixels = rng.integers(0, 256, (6, 5 + index, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / kind / f"{index}.png")
    graph = LayerGraph("two")
    x = graph.add(Flatten(), graph.add(Input((4, 4, 3), name="picture")))
    graph.outputs = (graph.add(Dense(2, "softmax", name="kind"), x),)
    data = {"source": "images", "path": "pictures", "size": [4, 4], "normalization": "symmetric"}
    project = Project.new("two", graph, data)
    project.path = tmp_path / "two.glassbox"
    facts = stated_facts(Task.of_project(project))
    assert facts["resize"] == "bilinear"
    assert json.loads(facts["class_names"]) == ["cat", "dog"]
    ((name, numbers),) = json.loads(facts[NORMALIZATION]).items()
    assert name == "picture"
    assert numbers["scale"] == pytest.approx([2 / 255] * 3, rel=1e-6)
    assert numbers["shift"] == [-1.0, -1.0, -1.0]
