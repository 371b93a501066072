"""Keys that every window has: Tab to what can be seen, Enter to press it, arrows through menus."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
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


# -- Tab ------------------------------------------------------------------------------------------


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


# -- Enter ----------------------------------------------------------------------------------------


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


# -- menus ----------------------------------------------------------------------------------------


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


# -- after opening --------------------------------------------------------------------------------

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
    qtbot.waitUntil(lambda: opened.canvas.searches.popup.is_open)
    press("Escape")


# -- no key answers silently -----------------------------------------------------------------------


def answered(window: MainWindow, keys: str, at: QWidget) -> tuple[list[str], str]:
    """The actions a key carried out, and what was said instead."""
    done: list[str] = []
    hear = done.append
    hint = window.status.findChild(QLabel, "hint")
    assert hint is not None
    hint.clear()
    told = len(window.studio.notices.all)
    window.studio.actions.triggered.connect(hear)
    press(keys, at)
    window.studio.actions.triggered.disconnect(hear)
    said = [notice.text for notice in window.studio.notices.all[told:]]
    return done, hint.text() or " ".join(said)


@pytest.mark.parametrize("place", ["canvas", "listing"])
def test_a_key_that_cannot_be_used_now_says_why(
    qtbot: QtBot, window: MainWindow, project: Path, place: str
) -> None:
    if place == "canvas":
        press("Ctrl+N")
        qtbot.waitUntil(lambda: not window.is_welcoming)
    else:
        window.documents.open_path(project)
        qtbot.waitUntil(lambda: window.studio.compilation.result is not None, timeout=60_000)
        window.docks.show(place)
        qtbot.waitUntil(window.docks[place].has_focus)
    at = QApplication.focusWidget()
    assert at is not None
    qtbot.waitUntil(at.isVisible)
    refused = [
        (keys, spec) for spec in window.studio.actions
        if spec.context == place and window.studio.actions.why_not(spec.id)
        for keys in spec.keys
    ]  # fmt: skip
    assert refused
    for keys, spec in refused:
        done, said = answered(window, keys, at)
        assert done == [], keys
        reason = window.studio.actions.why_not(spec.id)
        assert said == f"{spec.text.rstrip('…')}: {reason}", keys


def test_without_a_status_bar_a_notice_says_why(qtbot: QtBot, opened: MainWindow) -> None:
    focus(qtbot, opened.canvas)
    press("Ctrl+Alt+F", opened.canvas)
    qtbot.waitUntil(lambda: not opened.statusBar().isVisible())
    told = len(opened.studio.notices.all)
    press("Ctrl+G", opened.canvas)
    (notice,) = opened.studio.notices.all[told:]
    assert notice.text.startswith("Group into a block: ")
    qtbot.waitUntil(opened.notice_line.isVisible)


def test_keys_belong_to_commands_or_to_nothing(qtbot: QtBot, opened: MainWindow) -> None:
    known = {QKeySequence(keys) for spec in opened.studio.actions for keys in spec.keys}
    for pane in opened.docks.all:
        opened.docks.show(pane)
    held = [keys for action in opened.findChildren(QAction) for keys in action.shortcuts()]
    held += [each.key() for each in opened.findChildren(QShortcut)]
    assert held
    assert [keys.toString() for keys in held if keys not in known] == []
    # Those that the reference keeps for what is to come do nothing at all.
    focus(qtbot, opened.canvas)
    before = opened.studio.document.state
    for keys in ("F7", "F9", "F10", "F11", "Ctrl+F10", "Ctrl+Shift+R", "Ctrl+4"):
        assert answered(opened, keys, opened.canvas) == ([], "")
    assert opened.studio.document.state == before
