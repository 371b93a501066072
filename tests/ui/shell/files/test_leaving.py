"""Leaving while a network trains: asked once, nothing stopped or lost unasked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.train.export import exporting as engine_exporting
from studio.engine.train.runs.run_folder import RunFolder
from studio.samples import open_copy
from studio.session.document.document import Document
from studio.session.document.edits.sections import set_training
from studio.session.export.exporting import ExportResult, form_named
from studio.ui.shell.window import MainWindow
from tests.engine.train.trained_projects import train
from tests.ui.shell.driving import answer, question


@pytest.fixture
def training(qtbot: QtBot, opened: MainWindow) -> MainWindow:
    """A window in which a training without an end in sight is under way."""
    document = opened.studio.document
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    document.save()
    opened.studio.preferences.set("backend", "cpu")
    opened.studio.training.start()
    qtbot.waitUntil(lambda: opened.studio.training.state == "running")
    return opened


def last_run(window: MainWindow) -> RunFolder:
    run = window.studio.training.run
    assert run is not None
    return run


def test_a_training_in_preparation_has_come_to_no_epoch(qtbot: QtBot, opened: MainWindow) -> None:
    training = opened.studio.training
    training.start()
    assert training.state == "preparing"
    opened.close()
    said = question(qtbot, opened).informativeText()
    assert said.startswith("Pause and save stops")
    answer(qtbot, opened, "stop")
    qtbot.waitUntil(lambda: not opened.isVisible())


def test_keeping_on_closes_nothing_and_is_asked_once(qtbot: QtBot, training: MainWindow) -> None:
    training.close()
    training.close()
    question(qtbot, training)
    assert len([b for b in training.findChildren(QMessageBox) if b.isVisible()]) == 1
    answer(qtbot, training, "keep")
    assert training.isVisible()
    assert training.studio.training.state == "running"


def epoch_said(box: QMessageBox) -> int:
    """The epoch that the question names; none before the first."""
    found = re.search(r"Epoch (\S+) of", box.informativeText())
    return 0 if found is None else int(re.sub(r"\D", "", found.group(1)))


def test_the_question_says_how_far_the_training_is_now(qtbot: QtBot, training: MainWindow) -> None:
    training.close()
    box = question(qtbot, training)
    first = epoch_said(box)
    for _ in range(3):
        qtbot.waitUntil(lambda first=first: epoch_said(box) > first, timeout=60_000)
        first = epoch_said(box)
        assert first <= training.studio.training.status.epoch
    answer(qtbot, training, "keep")
    assert training.studio.training.is_busy


@pytest.mark.parametrize("then", ["keep", "stop"])
def test_a_question_about_a_training_that_ends_meanwhile_says_so(
    qtbot: QtBot, training: MainWindow, then: str
) -> None:
    training.close()
    box = question(qtbot, training)
    training.studio.training.stop()
    qtbot.waitUntil(lambda: "is running" not in box.text(), timeout=60_000)
    assert box.text() == "Training stopped"
    shown = [b.text() for b in box.findChildren(QPushButton) if b.isVisible()]
    assert sorted(shown) == ["Cancel", "Continue"]
    answer(qtbot, training, then)
    if then == "stop":
        qtbot.waitUntil(lambda: not training.isVisible(), timeout=60_000)
    else:
        assert training.isVisible()


def test_stopping_ends_the_training_and_then_closes(qtbot: QtBot, training: MainWindow) -> None:
    training.close()
    answer(qtbot, training, "stop")
    qtbot.waitUntil(lambda: not training.isVisible())
    assert not training.studio.training.is_busy


def test_pausing_keeps_a_checkpoint_and_saves(
    qtbot: QtBot, training: MainWindow, project: Path
) -> None:
    document = training.studio.document
    document.apply("Train longer", set_training(document.state, {"epochs": 200_000}))
    run = last_run(training)
    training.close()
    answer(qtbot, training, "pause")
    qtbot.waitUntil(lambda: not training.isVisible())
    assert not document.dirty
    assert run.best_result() is not None


def test_pausing_stands_still_while_it_is_asked_where_to_save(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    studio = window.studio
    made = Document.open(open_copy("spirals", tmp_path))
    document = studio.new()
    document.apply("Draw", made.state)
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    studio.preferences.set("backend", "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    studio.training.start()
    qtbot.waitUntil(lambda: studio.training.state == "running")
    window.close()
    answer(qtbot, window, "pause")
    qtbot.waitUntil(lambda: window.findChild(QFileDialog, "save_dialog") is not None)
    qtbot.waitUntil(lambda: studio.training.state == "paused")
    window.findChild(QFileDialog, "save_dialog").reject()
    QApplication.processEvents()
    assert window.isVisible()
    assert studio.training.state == "paused"
    window.close()
    answer(qtbot, window, "stop")
    answer(qtbot, window, "discard")
    qtbot.waitUntil(lambda: not window.isVisible())


def test_weights_that_are_nowhere_else_are_not_lost_unasked(
    qtbot: QtBot, training: MainWindow
) -> None:
    run = last_run(training)
    away = run.path.rename(run.path.with_name("away"))
    training.close()
    answer(qtbot, training, "stop")
    answer(qtbot, training, "keep")
    assert training.isVisible()
    told = len(training.studio.notices.all)
    training.close()
    answer(qtbot, training, "write")
    qtbot.waitUntil(lambda: len(training.studio.notices.all) > told)
    assert training.studio.notices.all[-1].severity == "error"
    assert training.isVisible()
    away.rename(run.path)
    training.close()
    answer(qtbot, training, "write")
    qtbot.waitUntil(lambda: not training.isVisible())
    assert run.best_result() is not None


def test_weights_may_be_lost_on_purpose(qtbot: QtBot, training: MainWindow) -> None:
    run = last_run(training)
    run.path.rename(run.path.with_name("away"))
    training.close()
    answer(qtbot, training, "stop")
    answer(qtbot, training, "lose")
    qtbot.waitUntil(lambda: not training.isVisible())


def test_another_project_asks_as_well(
    qtbot: QtBot, training: MainWindow, project: Path, tmp_path: Path
) -> None:
    other = open_copy("spirals", tmp_path)
    training.documents.open_path(other)
    answer(qtbot, training, "keep")
    assert training.studio.document.path == project
    training.documents.open_path(other)
    answer(qtbot, training, "stop")
    qtbot.waitUntil(lambda: training.studio.document.path == other)


@pytest.fixture
def exporting(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[MainWindow, threading.Event]]:
    """A window in which an export waits for a word before it compares the file."""
    train(tmp_path)
    window.documents.open_path(tmp_path / "small.glassbox")
    may_go = threading.Event()
    is_written = threading.Event()
    check_files = engine_exporting.check_files

    def waiting(*given: Any) -> Any:
        is_written.set()
        may_go.wait(30)
        return check_files(*given)

    monkeypatch.setattr(engine_exporting, "check_files", waiting)
    window.studio.exporting.export(form_named("npz"), tmp_path / "model.npz")
    qtbot.waitUntil(is_written.is_set)
    yield window, may_go
    may_go.set()


def test_a_window_waits_for_an_export_and_then_closes(
    qtbot: QtBot, exporting: tuple[MainWindow, threading.Event], tmp_path: Path
) -> None:
    window, may_go = exporting
    window.close()
    answer(qtbot, window, "wait")
    QApplication.processEvents()
    assert window.isVisible()
    may_go.set()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert (tmp_path / "model.npz.proof.json").is_file()


def test_an_export_is_stopped_only_where_that_is_wanted(
    qtbot: QtBot, exporting: tuple[MainWindow, threading.Event], tmp_path: Path
) -> None:
    window, may_go = exporting
    window.close()
    answer(qtbot, window, "cancel")
    qtbot.waitUntil(lambda: not window.findChildren(QMessageBox))
    assert window.isVisible()
    assert window.studio.exporting.task is not None
    window.close()
    answer(qtbot, window, "stop")
    qtbot.waitUntil(lambda: not window.isVisible())
    may_go.set()


def test_what_was_not_proven_is_to_be_read_before_the_window_goes(
    qtbot: QtBot,
    exporting: tuple[MainWindow, threading.Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window, may_go = exporting
    window.close()
    answer(qtbot, window, "wait")
    monkeypatch.setattr(ExportResult, "is_proven", False)
    may_go.set()
    qtbot.waitUntil(lambda: window.studio.exporting.task is None)
    qtbot.waitUntil(lambda: not window.studio.tasks.running)
    assert window.isVisible()
