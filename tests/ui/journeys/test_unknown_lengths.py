"""A project from Python whose input has an unknown length, in the window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QLineEdit

from studio.engine import Conv2D, Dense, GlobalAveragePooling2D, Input, Model, Project, Reshape
from studio.engine.layers.graph import LayerGraph
from studio.session.core.quantities import TIMES
from tests.ui.journeys.person import Person

WAIT = 60_000


def network() -> LayerGraph:
    x = Input((None, 4), name="tokens")
    y = Conv2D(6, (3, 1), name="conv")(Reshape((-1, 1, 4), name="wide")(x))
    mean = GlobalAveragePooling2D(name="mean")(y)
    return Model(x, Dense(2, "softmax", name="head")(mean)).graph


def test_without_data_a_number_is_typed_in_place_of_none(person: Person, tmp_path: Path) -> None:
    studio = person.studio
    studio.open(Project("open", network()).save(tmp_path / "open.glassbox"))
    (problem,) = person.until(lambda: studio.document.report.problems)
    assert problem.message == "its shape [None,4] has an unknown length"
    person.window.show_canvas()
    person.point_at_canvas()
    person.click_layer("tokens")
    shape = person.reach(QLineEdit, "field_shape")
    assert shape.text() == f"None {TIMES} 4"
    person.fill(shape, "9 x 4")
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
    assert not studio.document.report.problems
    assert studio.document.report.status("conv").shape == (7, 1, 6)
    person.fill(shape, "none 4")
    (problem,) = person.until(lambda: studio.document.report.problems)
    assert studio.document.state.nodes["tokens"].config.plain()["shape"] == [None, 4]


def test_the_length_of_the_data_is_used(person: Person, tmp_path: Path) -> None:
    studio, draw = person.studio, np.random.default_rng(0)
    x = draw.normal(size=(60, 12, 4)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=(x.mean(axis=(1, 2)) > 0).astype(np.int32))
    data = {"source": "npz", "path": "data.npz"}
    project = Project.new("bound", network(), data, {"epochs": 2})
    studio.open(project.save(tmp_path / "bound.glassbox"))
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling)
    assert not studio.document.report.problems
    assert studio.document.report.status("conv").shape == (10, 1, 6)
    result = studio.compilation.result
    assert result is not None
    program = result.main.program
    assert program.tensors.named("tokens/output").shape == (-1, 12, 4)
    person.window.show_canvas()
    person.point_at_canvas()
    person.press("F5")
    person.until(lambda: studio.training.state == "finished", WAIT)
    studio.document.save()
    assert Project.load(tmp_path / "bound.glassbox").graph.input_shapes == {"tokens": (None, 4)}
