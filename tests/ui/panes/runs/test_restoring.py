"""Runs restored and branched from the menu of the Runs pane, with real trainings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.callbacks.model_checkpoint import ModelCheckpoint
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder, list_runs
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.sections import training_of
from studio.session.runs.records import RunRecord
from studio.ui.panes.runs.pane import RunsPane
from tests.ui.panes.stage import Stage
from tests.ui.panes.trainings import Trainings


@pytest.fixture
def trainings(sample: Callable[..., Trainings]) -> Trainings:
    rule = ModelCheckpoint(monitor="loss", mode="max")
    return sample("iris", epochs=3, seed=5, early_stopping=None, checkpoints=rule)


@pytest.fixture
def pane(trainings: Trainings, stage: Stage) -> RunsPane:
    made = stage.show(RunsPane(trainings.studio), 1000, 600)
    trainings.tested()
    trainings.until(
        lambda: made.table.entries.rowCount() == 1 and not trainings.studio.runs.is_loading
    )
    return made


def choose(pane: RunsPane, row: int) -> None:
    flags = QItemSelectionModel.SelectionFlag
    index = pane.table.entries.index(row, 0)
    pane.table.selectionModel().select(index, flags.ClearAndSelect | flags.Rows)


def entry(pane: RunsPane, menu: str, name: str) -> tuple[QMenu, QMenu, QAction]:
    """An entry of an inner menu of the run that is chosen."""
    outer = pane.menu()
    inner = next(m for m in outer.findChildren(QMenu) if m.objectName() == menu)
    return outer, inner, next(a for a in inner.actions() if a.objectName() == f"{menu}.{name}")


def pick(pane: RunsPane, qtbot: QtBot, menu: str, name: str) -> None:
    """Choose an entry with the mouse."""
    outer, inner, action = entry(pane, menu, name)
    assert action.isEnabled(), action.toolTip()
    outer.popup(pane.mapToGlobal(QPoint(10, 10)))
    inner.popup(pane.mapToGlobal(QPoint(200, 10)))
    qtbot.waitUntil(inner.isVisible)
    spot = inner.actionGeometry(action).center()
    qtbot.mouseClick(inner, Qt.MouseButton.LeftButton, pos=spot)
    for each in (inner, outer):
        each.close()


def change(trainings: Trainings) -> None:
    """Make the project another than the one that was trained."""
    document = trainings.studio.document
    hidden = next(n for n in document.state.layers() if "units" in n.config)
    document.apply("Units", set_option(document.state, hidden.id, "units", 5))
    trainings.settings(seed=77, epochs=9)


def stored(run: RunFolder, name: str) -> dict[str, np.ndarray]:
    found = Checkpoint.load(run.checkpoint_path(name)).tensors
    return {n: a for n, a in found.items() if n.endswith(("kernel", "bias"))}


def only_run(trainings: Trainings) -> RunRecord:
    return trainings.studio.runs.runs[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "file"), [("best", "best"), ("last", "final")])
def test_a_restored_run_is_one_step_and_its_weights_are_tested_and_trained_on(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot, weights: str, file: str
) -> None:
    studio, run = trainings.studio, only_run(trainings)
    trained = studio.document.state
    change(trainings)
    changed, steps = studio.document.state, studio.document.history.position
    choose(pane, 0)
    pick(pane, qtbot, "run.revert", weights)
    trainings.until(lambda: studio.document.state is not changed)
    state = studio.document.state
    assert state.nodes == trained.nodes
    assert training_of(state).seed == 5
    assert training_of(state).begin_with == "imported"
    assert studio.document.history.position == steps + 1
    # The Test page tests just these weights.
    trainings.until(lambda: studio.evaluation.status == "ready")
    results = studio.evaluation.results
    assert results is not None
    assert results.origin is not None
    assert results.origin.file == f"{file}.safetensors"
    assert studio.evaluation.tested == run.name
    # So does the next training begin with them.
    trainings.until(lambda: not studio.runs.is_loading and len(studio.runs.runs) == 2)
    imported = studio.runs.runs[0]
    assert imported.word == "Imported"
    for name, array in stored(imported.folder, "final").items():
        np.testing.assert_array_equal(array, stored(run.folder, file)[name])
    assert any("Restored" in n.text for n in studio.notices.all)
    studio.document.undo()
    assert studio.document.state.nodes == changed.nodes
    assert training_of(studio.document.state) == training_of(changed)


@pytest.mark.slow
def test_graph_and_settings_alone_leave_the_weights(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    studio = trainings.studio
    trained = studio.document.state
    change(trainings)
    choose(pane, 0)
    pick(pane, qtbot, "run.revert", "none")
    trainings.until(lambda: studio.document.state.nodes == trained.nodes)
    assert training_of(studio.document.state).begin_with == "fresh"
    assert studio.training.has_weights
    assert len(studio.runs.runs) == 1


@pytest.mark.slow
def test_a_branch_is_a_project_beside_this_one(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, run = trainings.studio, only_run(trainings)
    path = studio.document.path
    assert path is not None
    made: list[Path] = []

    def hear(target: Path, _title: str) -> None:
        made.append(target)

    studio.restoring.branched.connect(hear)
    choose(pane, 0)
    pick(pane, qtbot, "run.duplicate", "best")
    trainings.until(lambda: bool(made))
    assert made[0] == path.with_name(f"{path.stem}-branch.glassbox")
    assert studio.document.path == path
    project = Project.load(made[0])
    assert list_runs(project)[0].name == run.name
    studio.open(made[0])
    trainings.until(lambda: len(studio.runs.runs) == 2)
    newest = studio.evaluation.newest
    assert newest is not None
    studio.evaluation.test_run(newest[0])
    trainings.until(lambda: studio.evaluation.status == "ready")
    going_on = studio.runs.run(run.name)
    assert going_on is not None
    assert going_on.epochs == 1
    studio.training.resume_run(going_on.folder, 2)
    trainings.until_state("finished")


@pytest.mark.slow
def test_what_cannot_be_restored_says_why(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, run = trainings.studio, only_run(trainings)

    def why(menu: str, name: str) -> str:
        outer, _, action = entry(pane, menu, name)
        outer.close()
        assert not action.isEnabled()
        return action.toolTip()

    choose(pane, 0)
    run.folder.checkpoint_path("best").unlink()
    assert why("run.revert", "best") == "It has no best checkpoint."
    trainings.settings(epochs=100_000)
    studio.training.start()
    trainings.until_state("running")
    assert why("run.revert", "last") == "A training is running."
    assert why("run.duplicate", "none") == "A training is running."
    studio.training.stop()
    trainings.until_state("stopped")
    (run.folder.path / "settings.json").write_bytes(b"{}")
    studio.runs.refresh()
    trainings.until(lambda: only_run(trainings).project is None)
    choose(pane, pane.table.entries.row_of(run.name))
    assert "settings cannot be read" in why("run.revert", "none")


@pytest.mark.slow
def test_a_checkpoint_that_is_damaged_is_found_when_it_is_read(
    pane: RunsPane, trainings: Trainings, qtbot: QtBot
) -> None:
    studio, run = trainings.studio, only_run(trainings)
    best = run.folder.checkpoint_path("best")
    best.write_bytes(best.read_bytes()[:300])
    change(trainings)
    before = studio.document.state
    choose(pane, 0)
    pick(pane, qtbot, "run.revert", "best")
    trainings.until(lambda: any("best.safetensors" in n.text for n in studio.notices.all))
    assert studio.document.state is before
    assert len(list(run.folder.path.parent.iterdir())) == 1
