"""Ctrl+Q ends the studio wherever the keyboard is: after every dialog, and in those left open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from studio.session.document.edits.comments import add_note
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press, question

DIALOGS = (
    "file.open", "file.save_as", "file.import", "file.preferences", "export.dialog", "help.keys",
    "help.about", "help.guide", "view.command_palette", "view.go_to", "window.tasks",
    "window.notices", "data.attach", "data.attach_path",
)  # fmt: skip
LEFT_FREE = ("file.preferences", "export.dialog", "help.guide", "help.about")
"""Dialogs beside which the window goes on working."""


def open_by(qtbot: QtBot, window: MainWindow, action: str) -> QWidget:
    """Trigger an action and return the window it opened, with the keyboard in it."""
    before = set(QApplication.topLevelWidgets())
    assert window.studio.actions.trigger(action)

    def opened() -> list[QWidget]:
        new = [w for w in QApplication.topLevelWidgets() if w not in before and w.isVisible()]
        return [w for w in new if isinstance(w, QDialog) or w.windowFlags() & Qt.WindowType.Popup]

    qtbot.waitUntil(lambda: bool(opened()))
    found = opened()[0]
    if not QApplication.activePopupWidget():
        qtbot.waitUntil(lambda: QApplication.activeWindow() is found)
    return found


def press_escape(window: QWidget) -> None:
    """As the window system would: to what has the keyboard, a popup before all else."""
    popup = QApplication.activePopupWidget()
    target = (popup.focusWidget() or popup) if popup else (QApplication.focusWidget() or window)
    QTest.keyClick(target, Qt.Key.Key_Escape)


def quit_by_key(qtbot: QtBot, window: MainWindow) -> None:
    press("Ctrl+Q")
    qtbot.waitUntil(lambda: not window.isVisible())


@pytest.mark.parametrize("action", DIALOGS)
def test_the_key_works_after_a_dialog_was_left(
    qtbot: QtBot, opened: MainWindow, action: str
) -> None:
    opened.canvas.setFocus()
    dialog = open_by(qtbot, opened, action)
    press_escape(dialog)
    qtbot.waitUntil(opened.isActiveWindow)
    quit_by_key(qtbot, opened)
    qtbot.waitUntil(lambda: not opened.studio.tasks.running)


@pytest.mark.parametrize("action", LEFT_FREE)
def test_the_key_works_in_a_dialog_that_leaves_the_window_free(
    qtbot: QtBot, opened: MainWindow, action: str
) -> None:
    dialog = open_by(qtbot, opened, action)
    assert not dialog.isModal()
    quit_by_key(qtbot, opened)
    assert not any(w.isVisible() for w in QApplication.topLevelWidgets())
    qtbot.waitUntil(lambda: not opened.studio.tasks.running)


def test_the_key_works_in_a_floating_pane(qtbot: QtBot, opened: MainWindow) -> None:
    dock = opened.docks["outline"]
    dock.setFloating(True)
    opened.docks.show("outline")
    qtbot.waitUntil(lambda: QApplication.activeWindow() is dock)
    quit_by_key(qtbot, opened)
    assert not dock.isVisible()


def test_a_question_is_answered_before_anything_else(qtbot: QtBot, opened: MainWindow) -> None:
    document = opened.studio.document
    document.apply("Add a note", add_note(document.state, 0, 0, "unsaved"))
    opened.canvas.setFocus()
    press("Ctrl+Q")
    box = question(qtbot, opened)
    press("Ctrl+Q")
    QApplication.processEvents()
    assert len(opened.findChildren(type(box), "question")) == 1
    assert opened.isVisible()
    press_escape(box)
    qtbot.waitUntil(opened.isActiveWindow)
    assert opened.isVisible()
    press("Ctrl+Q")
    question(qtbot, opened)


def test_file_dialogs_give_the_keyboard_back(qtbot: QtBot, opened: MainWindow) -> None:
    opened.canvas.setFocus()
    dialog = open_by(qtbot, opened, "file.open")
    assert isinstance(dialog, QFileDialog)
    press_escape(dialog)
    qtbot.waitUntil(opened.canvas.hasFocus)
