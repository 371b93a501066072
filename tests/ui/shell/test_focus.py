"""Who has the keyboard when the one who had it can have it no longer: never the next button."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.graph_editor.canvas.view import CanvasView
from studio.session.document.edits.layers import set_option
from studio.ui.panes.problems.pane import ProblemsPane
from studio.ui.panes.transport.bar import TransportBar
from studio.ui.shell.window import MainWindow


def give_keyboard(qtbot: QtBot, window: MainWindow, widget: QWidget) -> None:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    widget.setFocus()
    qtbot.waitUntil(widget.hasFocus)


def open_dialog(qtbot: QtBot, window: MainWindow) -> QDialog:
    dialog = QDialog(window)
    QLineEdit(dialog)
    dialog.show()
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    return dialog


def rate_field(qtbot: QtBot, window: MainWindow) -> QWidget:
    """The learning rate of a training that stands still."""
    studio = window.studio
    studio.preferences.set("backend", "cpu")
    qtbot.waitUntil(lambda: not studio.actions.why_not("train.start"))
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    studio.training.start()
    qtbot.waitUntil(lambda: studio.training.status.steps > 0)
    studio.training.pause()
    qtbot.waitUntil(lambda: studio.training.state == "paused")
    bar = window.findChild(TransportBar)
    assert bar is not None
    qtbot.waitUntil(bar.learning_rate.isEnabled)
    return bar.learning_rate


def test_problems_come_with_the_first_in_hand_and_leave_the_keyboard_where_it_is(
    qtbot: QtBot, opened: MainWindow
) -> None:
    studio = opened.studio
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    assert opened.canvas is not None
    give_keyboard(qtbot, opened, opened.canvas)
    state = studio.document.state
    dense = [node.id for node in state.layers() if node.type_name == "Dense"]
    studio.document.apply("Units", set_option(state, dense[-1], "units", 7))
    qtbot.waitUntil(lambda: opened.docks.is_in_front(opened.docks["problems"]))
    pane = opened.docks["problems"].ensure()
    assert isinstance(pane, ProblemsPane)
    qtbot.waitUntil(lambda: pane.list.currentRow() == 0)
    qtbot.waitUntil(lambda: any(chip.isVisible() for chip in pane.row_at(0).chips))
    assert opened.canvas.hasFocus()
    QTest.mouseClick(pane.row_at(0).chips[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not studio.problems.items)


@pytest.mark.parametrize("behind_a_dialog", [True, False])
def test_a_training_that_ends_leaves_the_keyboard_to_the_canvas(
    qtbot: QtBot, opened: MainWindow, behind_a_dialog: bool
) -> None:
    rate = rate_field(qtbot, opened)
    give_keyboard(qtbot, opened, rate)
    dialog = open_dialog(qtbot, opened) if behind_a_dialog else None
    opened.studio.training.stop()
    qtbot.waitUntil(lambda: not opened.studio.training.is_busy)
    qtbot.waitUntil(lambda: not rate.isEnabled())
    if dialog is None:
        qtbot.waitUntil(opened.canvas.hasFocus)
        dialog = open_dialog(qtbot, opened)
    dialog.close()
    qtbot.waitUntil(opened.isActiveWindow)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)


@pytest.mark.parametrize("behind_a_dialog", [True, False])
def test_a_button_of_the_bar_that_is_disabled_leaves_it_to_the_canvas(
    qtbot: QtBot, opened: MainWindow, behind_a_dialog: bool
) -> None:
    button = opened.findChild(QToolButton, "tool.file.open")
    give_keyboard(qtbot, opened, button)
    dialog = open_dialog(qtbot, opened) if behind_a_dialog else None
    button.setEnabled(False)
    if dialog is not None:
        dialog.close()
        qtbot.waitUntil(opened.isActiveWindow)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)


def test_within_a_pane_the_next_field_has_it(qtbot: QtBot, opened: MainWindow) -> None:
    opened.docks.show("palette")
    dock = opened.docks["palette"]
    qtbot.waitUntil(dock.has_focus)
    inner = dock.widget()
    first, second = QLineEdit(inner), QLineEdit(inner)
    QWidget.setTabOrder(first, second)
    for field in (first, second):
        field.show()
    give_keyboard(qtbot, opened, first)
    first.setEnabled(False)
    QApplication.processEvents()
    QApplication.processEvents()
    assert second.hasFocus()


def test_a_field_that_gives_it_up_by_itself_hands_it_to_nobody(
    qtbot: QtBot, opened: MainWindow
) -> None:
    field = QLineEdit(opened)
    field.show()
    give_keyboard(qtbot, opened, field)
    field.clearFocus()
    QApplication.processEvents()
    QApplication.processEvents()
    assert QApplication.focusWidget() is None
    dialog = open_dialog(qtbot, opened)
    dialog.close()
    qtbot.waitUntil(opened.isActiveWindow)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)


def test_a_dialog_gives_it_back_to_the_one_who_had_it(qtbot: QtBot, opened: MainWindow) -> None:
    button = opened.findChild(QToolButton, "tool.file.open")
    give_keyboard(qtbot, opened, button)
    dialog = open_dialog(qtbot, opened)
    inside = QLineEdit(dialog)
    inside.show()
    inside.setFocus(Qt.FocusReason.OtherFocusReason)
    inside.setEnabled(False)
    dialog.close()
    qtbot.waitUntil(opened.isActiveWindow)
    qtbot.waitUntil(button.hasFocus)


def test_opening_a_network_makes_one_canvas(opened: MainWindow) -> None:
    # It is laid out for the canvas while that is made, which the window hears.
    assert opened.findChildren(CanvasView) == [opened.canvas]
