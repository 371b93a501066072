"""A sweep in the whole window: planned by its action, saved first, and asked about at the end."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit
from pytestqt.qtbot import QtBot

from studio.session.document.edits.sections import set_training
from studio.ui.panes.sweeps.pane import SweepsPane
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import answer, question

WAIT = 60_000


@pytest.fixture
def planned(qtbot: QtBot, opened: MainWindow) -> tuple[MainWindow, SweepsPane]:
    """A window with a plan whose trials have no end in sight."""
    opened.studio.preferences.set("backend", "cpu")
    assert not opened.docks["sweeps"].isVisible()
    opened.studio.actions.trigger("train.sweep")
    pane = opened.docks["sweeps"].ensure()
    assert isinstance(pane, SweepsPane)
    qtbot.waitUntil(pane.form.axes.field.hasFocus, timeout=WAIT)
    field = pane.form.axes.field
    qtbot.keyClicks(field, "batch_size")
    completer = field.completer()
    assert completer is not None
    completer.popup().hide()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert pane.findChild(QLineEdit, "values.batch_size") is not None
    return opened, pane


def test_a_sweep_is_saved_first_and_asked_about_at_the_end(
    qtbot: QtBot, planned: tuple[MainWindow, SweepsPane]
) -> None:
    window, pane = planned
    studio, document = window.studio, window.studio.document
    document.apply("Train long", set_training(document.state, {"epochs": 100_000}))
    qtbot.waitUntil(lambda: pane.form.start.text() == "Save and start", timeout=WAIT)
    qtbot.waitUntil(pane.form.start.isEnabled, timeout=WAIT)
    qtbot.mouseClick(pane.form.start, Qt.MouseButton.LeftButton)
    assert not document.dirty
    assert studio.sweeps.is_busy
    qtbot.waitUntil(
        lambda: studio.sweeps.own is not None and studio.sweeps.own.training > 0, timeout=WAIT
    )
    window.close()
    window.close()
    assert "Trials that have ended are kept" in question(qtbot, window).informativeText()
    answer(qtbot, window, "keep")
    assert window.isVisible()
    assert studio.sweeps.state == "running"
    window.close()
    question(qtbot, window)
    record = studio.sweeps.own
    assert record is not None
    assert record.holder is not None
    answer(qtbot, window, "stop")
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=WAIT)
    assert not record.holder.process.is_running


def test_a_project_without_a_file_asks_where_to_save_it(
    qtbot: QtBot, planned: tuple[MainWindow, SweepsPane]
) -> None:
    window, pane = planned
    document = window.studio.document
    document.path = None
    window.studio.sweeps.changed.emit()
    qtbot.waitUntil(lambda: pane.form.start.text() == "Save project…", timeout=WAIT)
    qtbot.waitUntil(pane.form.start.isEnabled, timeout=WAIT)
    qtbot.mouseClick(pane.form.start, Qt.MouseButton.LeftButton)
    dialog = window.findChild(QFileDialog, "save_dialog")
    assert dialog is not None
    dialog.reject()
    assert not window.studio.sweeps.is_busy
