"""Leaving while a network trains: asked once, nothing stopped or lost unasked."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from studio.engine.train.runs import RunFolder
from studio.graph_editor.model.edits.sections import set_training
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import answer, question


@pytest.fixture
def training(qtbot: QtBot, opened: MainWindow) -> MainWindow:
    """A window in which a training without an end in sight is under way."""
    document = opened.studio.document
    document.apply("Train long", set_training(document.state, {"epochs": 5000}))
    document.save()
    opened.studio.preferences.set("backend", "cpu")
    opened.studio.training.start()
    qtbot.waitUntil(lambda: opened.studio.training.state == "running", timeout=30_000)
    return opened


def last_run(window: MainWindow) -> RunFolder:
    run = window.studio.training.run
    assert run is not None
    return run


def test_keeping_on_closes_nothing_and_is_asked_once(qtbot: QtBot, training: MainWindow) -> None:
    training.close()
    training.close()
    question(qtbot, training)
    assert len([b for b in training.findChildren(QMessageBox) if b.isVisible()]) == 1
    answer(qtbot, training, "keep")
    assert training.isVisible()
    assert training.studio.training.state == "running"


def test_stopping_ends_the_training_and_then_closes(qtbot: QtBot, training: MainWindow) -> None:
    training.close()
    answer(qtbot, training, "stop")
    qtbot.waitUntil(lambda: not training.isVisible(), timeout=20_000)
    assert not training.studio.training.is_busy


def test_pausing_keeps_a_checkpoint_and_saves(
    qtbot: QtBot, training: MainWindow, project: Path
) -> None:
    document = training.studio.document
    document.apply("Train longer", set_training(document.state, {"epochs": 6000}))
    run = last_run(training)
    training.close()
    answer(qtbot, training, "pause")
    qtbot.waitUntil(lambda: not training.isVisible(), timeout=20_000)
    assert not document.dirty
    assert run.best_result() is not None


def test_another_project_asks_as_well(
    qtbot: QtBot, training: MainWindow, project: Path, tmp_path: Path
) -> None:
    from studio.samples import open_copy

    other = open_copy("spirals", tmp_path)
    training.documents.open_path(other)
    answer(qtbot, training, "keep")
    assert training.studio.document.path == project
    training.documents.open_path(other)
    answer(qtbot, training, "stop")
    qtbot.waitUntil(lambda: training.studio.document.path == other, timeout=20_000)
