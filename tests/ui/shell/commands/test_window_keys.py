"""The keys that work everywhere in the window, pressed in views of every kind."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from studio.session.core.action_table import ActionRegistry
from studio.session.core.entities import Entity
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

KEYS = {
    "Ctrl+Shift+P": "view.command_palette",
    "Ctrl+P": "view.go_to",
    "Ctrl+,": "file.preferences",
    "F1": "help.here",
    "Ctrl+N": "file.new",
    "Ctrl+O": "file.open",
    "Ctrl+S": "file.save",
    "Ctrl+Shift+S": "file.save_as",
    "Ctrl+W": "file.close",
    "Ctrl+Q": "file.quit",
    "Ctrl+Shift+E": "export.again",
    "Ctrl+1": "workspace.build",
    "Ctrl+2": "workspace.train",
    "Ctrl+3": "workspace.profile",
    "F6": "window.next_pane",
    "Shift+F6": "window.previous_pane",
    "Shift+F10": "window.context_menu",
    "Ctrl+Alt+M": "window.maximise_pane",
    "Ctrl+Alt+F": "window.focus_mode",
    "Ctrl+`": "pane.log",
    "F4": "problems.next",
    "Shift+F4": "problems.previous",
    "F5": "train.start",
    "Ctrl+Return": "train.start",
    "F8": "train.pause",
    "Shift+F5": "train.stop",
    "Alt+1": "go.layer",
    "Alt+2": "go.instruction",
    "Alt+3": "go.tensor",
    "Alt+4": "go.kernel",
    "Ctrl+.": "graph.repair",
}
NOT_WHILE_TYPING = {
    "Ctrl+Z": "edit.undo",
    "Ctrl+Shift+Z": "edit.redo",
    "Ctrl+Y": "edit.redo",
    "?": "help.keys",
    "Ctrl+E": "export.dialog",
}
"""A field where one types has these to itself: on X11 the last goes to the end of the line."""

PLACES = ("canvas", "outline", "listing", "inspector", "tensor_map", "field")


@pytest.fixture
def done(opened: MainWindow, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The actions that keys trigger from now on, none of which is carried out."""
    found: list[str] = []
    monkeypatch.setattr(ActionRegistry, "why_not", lambda _self, _id: "")
    monkeypatch.setattr(ActionRegistry, "trigger", lambda _self, given: found.append(given) or True)
    return found


def put_keyboard(qtbot: QtBot, window: MainWindow, place: str) -> None:
    if place == "canvas":
        window.canvas.setFocus()
        qtbot.waitUntil(window.canvas.hasFocus)
    elif place == "field":
        field = QLineEdit("text", window)
        field.show()
        field.setFocus()
        qtbot.waitUntil(field.hasFocus)
    else:
        window.docks.show(place)
        qtbot.waitUntil(window.docks[place].has_focus)


@pytest.mark.parametrize("place", PLACES)
def test_every_key_of_the_window_does_its_one_thing(
    qtbot: QtBot, opened: MainWindow, done: list[str], place: str
) -> None:
    put_keyboard(qtbot, opened, place)
    at = QApplication.focusWidget()
    table = KEYS if place == "field" or isinstance(at, QLineEdit) else KEYS | NOT_WHILE_TYPING
    wrong = {}
    for keys, action in table.items():
        done.clear()
        press(keys, at)
        if done != [action]:
            wrong[keys] = list(done)
    assert wrong == {}


def test_the_table_knows_every_key_of_the_window(opened: MainWindow) -> None:
    declared = {
        keys: spec.id
        for spec in opened.studio.actions
        if spec.context == "window"
        for keys in spec.keys
    }
    more = {
        "Ctrl+B": "view.baseline", "Ctrl+Tab": "window.next_pane",
        "Ctrl+Shift+F11": "window.full_screen",
    }  # fmt: skip
    assert declared == KEYS | NOT_WHILE_TYPING | more


@pytest.mark.parametrize("place", ["canvas", "outline", "listing", "field"])
def test_the_menu_of_what_has_the_keyboard_opens_by_keys(
    qtbot: QtBot, opened: MainWindow, place: str
) -> None:
    put_keyboard(qtbot, opened, place)
    at = QApplication.focusWidget()
    if place == "outline":
        opened.studio.bus.select([Entity("node", next(iter(opened.studio.document.state.nodes)))])
    press("Shift+F10", at)
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert menu.actions()
    menu.close()


def test_a_field_keeps_what_it_needs_itself(
    qtbot: QtBot, opened: MainWindow, done: list[str]
) -> None:
    put_keyboard(qtbot, opened, "field")
    field = QApplication.focusWidget()
    assert isinstance(field, QLineEdit)
    qtbot.keyClicks(field, "?z")
    assert field.text() == "text?z"
    for keys in ("Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+A", "Ctrl+C", "Home", "End", "Left"):
        press(keys, field)
    assert done == []
