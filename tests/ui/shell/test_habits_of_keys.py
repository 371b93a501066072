"""Keys that every window has: Tab to what can be seen, Enter to press it, arrows through menus."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QMenu,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.ui.shell.files.welcome import Card
from studio.ui.shell.window import MainWindow
from tests.ui.fixtures import shown
from tests.ui.shell.driving import press


def focus(qtbot: QtBot, widget: QWidget) -> None:
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(widget.hasFocus)


# -- Tab -------------------------------------------------------------------------------------------


def test_tab_stops_at_what_can_be_seen_from_the_first_press_on(
    qtbot: QtBot, window: MainWindow
) -> None:
    press("Tab")
    first = QApplication.focusWidget()
    assert isinstance(first, QPushButton)
    assert first.objectName() == "welcome_blank"
    stops = [first]
    while len(stops) < 60:
        press("Tab")
        at = QApplication.focusWidget()
        assert at is not None
        assert not at.visibleRegion().isEmpty(), at
        if at is first:
            break
        stops.append(at)
    assert len(stops) > 8
    press("Shift+Tab")
    assert QApplication.focusWidget() is stops[-1]


def test_tab_scrolls_to_what_is_out_of_sight(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(window.minimumSize())
    area = window.welcome
    assert isinstance(area, QScrollArea)
    cards = area.findChildren(Card)
    focus(qtbot, cards[-1])
    area.verticalScrollBar().setValue(0)
    focus(qtbot, cards[-2])
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    press("Shift+Tab")
    at = QApplication.focusWidget()
    assert at is cards[-3]
    assert not at.visibleRegion().isEmpty()


# -- Enter -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", ["Return", "Enter"])
def test_enter_presses_the_button_that_has_the_keyboard(
    qtbot: QtBot, window: MainWindow, keys: str
) -> None:
    press("Tab")
    assert QApplication.focusWidget().objectName() == "welcome_blank"
    press(keys)
    qtbot.waitUntil(lambda: not window.is_welcoming)
    assert not window.studio.document.state.nodes


def test_enter_opens_the_card_that_has_the_keyboard(qtbot: QtBot, window: MainWindow) -> None:
    card = window.findChild(Card, "sample.iris")
    assert card is not None
    focus(qtbot, card)
    press("Return")
    qtbot.waitUntil(lambda: not window.is_welcoming)
    assert window.studio.document.title == "iris"


def test_enter_presses_a_button_of_the_toolbar(qtbot: QtBot, opened: MainWindow) -> None:
    button = opened.findChild(QToolButton, "tool.workspace.train")
    assert button is not None
    focus(qtbot, button)
    press("Return")
    assert opened.docks.workspace == "train"


def test_enter_presses_the_button_of_a_dialog_that_has_the_keyboard(
    qtbot: QtBot, window: MainWindow
) -> None:
    pressed: list[str] = []
    dialog = QDialog(window)
    column = QVBoxLayout(dialog)
    default, tool = QPushButton("default", dialog), QToolButton(dialog)
    default.setDefault(True)
    default.clicked.connect(lambda: pressed.append("default"))
    tool.clicked.connect(lambda: pressed.append("tool"))
    tool.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    for each in (default, tool):
        column.addWidget(each)
    shown(qtbot, dialog)
    focus(qtbot, tool)
    press("Return")
    assert pressed == ["tool"]
    focus(qtbot, default)
    press("Return")
    assert pressed == ["tool", "default"]
    dialog.close()


# -- menus -----------------------------------------------------------------------------------------


def open_menu() -> QMenu:
    found = QApplication.activePopupWidget()
    assert isinstance(found, QMenu)
    return found


def titles(qtbot: QtBot, *keys: str) -> list[str]:
    """The menu that is open after each key."""
    found = []
    for each in keys:
        press(each, open_menu())
        found.append(open_menu().objectName().removeprefix("menu."))
    return found


@pytest.mark.parametrize("place", ["welcome", "canvas", "listing"])
def test_arrows_walk_between_open_menus(qtbot: QtBot, opened: MainWindow, place: str) -> None:
    if place == "welcome":
        opened.show_welcome()
    elif place == "canvas":
        focus(qtbot, opened.canvas)
    else:
        opened.docks.show(place)
        qtbot.waitUntil(opened.docks[place].has_focus)
    heard: list[str] = []
    hear = heard.append
    opened.studio.actions.triggered.connect(hear)
    bar = opened.menuBar()
    at = bar.actionGeometry(bar.actions()[0]).center()
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=at)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)
    assert open_menu().objectName() == "menu.File"
    assert titles(qtbot, "Right", "Right", "Left", "Down", "Right", "Left") == [
        "Edit", "View", "Edit", "Edit", "View", "Edit",
    ]  # fmt: skip
    # A letter that is a key of the canvas does nothing to it either.
    press("H", open_menu())
    press("Escape", open_menu())
    assert heard == []


def test_arrows_open_and_leave_a_menu_in_a_menu(qtbot: QtBot, opened: MainWindow) -> None:
    focus(qtbot, opened.canvas)
    bar = opened.menuBar()
    view = next(each for each in bar.actions() if each.text() == "&View")
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.actionGeometry(view).center())
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)
    menu = open_menu()
    for _ in menu.actions():
        press("Down", menu)
        inside = menu.activeAction()
        if inside is not None and QMenu.menuInAction(inside) is not None:
            break
    press("Right", menu)
    qtbot.waitUntil(lambda: open_menu() is not menu)
    press("Left", open_menu())
    qtbot.waitUntil(lambda: open_menu() is menu)
    menu.close()


# -- after opening ---------------------------------------------------------------------------------

PLACES = ("inspector", "listing", "palette", "outline", "data", "runs", "testing")


@pytest.mark.parametrize("place", [*PLACES, "toolbar"])
def test_after_a_new_project_the_canvas_has_the_keyboard(
    qtbot: QtBot, opened: MainWindow, place: str
) -> None:
    if place == "toolbar":
        button = opened.findChild(QToolButton, "tool.file.new")
        assert button is not None
        focus(qtbot, button)
        press("Return")
    else:
        opened.docks.show(place)
        qtbot.waitUntil(opened.docks[place].has_focus)
        press("Ctrl+N")
    qtbot.waitUntil(lambda: opened.studio.document.path is None)
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)
    press("Tab")
    assert opened.canvas.searches.popup.is_open
    press("Escape")
