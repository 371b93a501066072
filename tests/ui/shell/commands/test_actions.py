"""Every action is reachable and says what it does; no two claim a key where they could meet."""

from __future__ import annotations

from collections import defaultdict

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core.action_table import MENUS, ActionRegistry
from studio.ui.shell.actions import ACTIONS
from studio.ui.shell.commands.command_palette import CommandHistory, search_commands
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

_WIDE = (Qt.ShortcutContext.WindowShortcut, Qt.ShortcutContext.ApplicationShortcut)


def test_the_tables_of_all_parts_claim_no_key_twice(window: MainWindow) -> None:
    assert window.studio.actions.conflicts() == []


def test_every_action_has_id_text_and_tip(window: MainWindow) -> None:
    registry = window.studio.actions
    for spec in registry:
        action = window.actions_of_window[spec.id]
        assert action.objectName() == spec.id
        assert spec.text
        assert spec.text[0].isupper()
        assert not spec.text.endswith((".", "!"))
        assert len(action.toolTip()) > 8
        assert spec.tip.endswith(".")
        assert spec.menu.partition("/")[0] in ("", *MENUS)


def test_every_action_is_found_in_the_palette_by_its_text(window: MainWindow) -> None:
    registry, history = window.studio.actions, CommandHistory(None)
    for spec in registry:
        found = search_commands(registry, history, spec.text)
        same = [each.text for each in found[:8]]
        assert spec.text in same, spec.id
    assert len(search_commands(registry, history, "")) == len(list(registry))


def test_every_action_of_a_menu_is_in_that_menu(window: MainWindow) -> None:
    where: dict[str, list[str]] = defaultdict(list)

    def walk(menu: QMenu, path: str) -> None:
        for action in menu.actions():
            inside = QMenu.menuInAction(action)
            if inside is not None:
                walk(inside, f"{path}/{inside.title().replace('&', '')}")
            elif not action.isSeparator():
                where[action.objectName()].append(path)

    for action in window.menuBar().actions():
        menu = QMenu.menuInAction(action)
        assert menu is not None
        walk(menu, menu.title().replace("&", ""))
    for spec in window.studio.actions:
        expected = [spec.menu] if spec.menu else []
        assert where[spec.id] == expected, spec.id


def test_no_key_is_ambiguous_among_the_actions_of_qt(window: MainWindow) -> None:
    """As Qt sees it: shortcuts of the window, and of every widget an action was given to."""
    holders: dict[QWidget, list[QAction]] = {}
    for widget in (window, *window.findChildren(QWidget)):
        if widget.actions():
            holders[widget] = widget.actions()
    everywhere = [a for a in window.actions() if _context(a) in _WIDE]
    for widget, own in holders.items():
        seen: dict[str, str] = {}
        local = [a for a in own if _context(a) not in _WIDE]
        around = [
            action
            for other, actions in holders.items()
            if other is not window and other.isAncestorOf(widget)
            for action in actions
        ]
        for action in {id(a): a for a in (*everywhere, *local, *around)}.values():
            for keys in action.shortcuts():
                text = keys.toString(QKeySequence.SequenceFormat.PortableText)
                other = seen.setdefault(text, action.objectName())
                assert other == action.objectName(), (text, widget)


def _context(action: QAction) -> Qt.ShortcutContext:
    return action.shortcutContext()


def test_keys_of_the_window_trigger_their_action(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    registry = opened.studio.actions
    # Nothing is carried out, so all keys are pressed in one window.
    monkeypatch.setattr(
        ActionRegistry, "trigger", lambda _self, action_id: done.append(action_id) or True
    )
    pressed = 0
    for spec in ACTIONS:
        opened.canvas.setFocus()
        for keys in () if registry.why_not(spec.id) else spec.keys:
            done.clear()
            press(keys)
            assert done == [spec.id], keys
            pressed += 1
    assert pressed > 15


def test_letters_go_into_a_text_field_and_nowhere_else(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(
        ActionRegistry, "trigger", lambda _self, action_id: done.append(action_id) or True
    )
    field = QLineEdit(opened.canvas)
    field.show()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    for keys in ("M", "H", "L", "F", "C", "?", "1", "Del", "Backspace", "Home"):
        field.setText("text")
        press(keys, field)
        assert done == [], keys
        if len(keys) == 1:
            assert field.text() == "text" + keys.lower()


def test_a_key_whose_action_cannot_be_done_says_why(qtbot: QtBot, opened: MainWindow) -> None:
    opened.canvas.setFocus()
    press("Ctrl+S")
    assert "no unsaved changes" in opened.status.findChild(QWidget, "hint").text()


@pytest.mark.parametrize(
    ("title", "first", "last"),
    [("File", "file.new", "file.quit"), ("Help", "help.here", "help.about")],
)
def test_menus_end_with_what_people_look_for_there(
    window: MainWindow, title: str, first: str, last: str
) -> None:
    menu = window.findChild(QMenu, f"menu.{title}")
    ids = [action.objectName() for action in menu.actions() if not action.isSeparator()]
    assert (ids[0], ids[-1]) == (first, last)


def test_menus_grey_what_cannot_be_done_and_say_why(qtbot: QtBot, opened: MainWindow) -> None:
    menu = opened.findChild(QMenu, "menu.File")
    save = opened.actions_of_window["file.save"]
    menu.aboutToShow.emit()
    assert not save.isEnabled()
    assert "The project has no unsaved changes." in save.toolTip()
    menu.aboutToHide.emit()
    assert save.isEnabled()


def test_checkable_actions_show_what_is_so(qtbot: QtBot, opened: MainWindow) -> None:
    train = opened.actions_of_window["workspace.train"]
    build = opened.actions_of_window["workspace.build"]
    assert build.isChecked()
    opened.studio.actions.trigger("workspace.train")
    assert train.isChecked()
    assert not build.isChecked()
    # Chosen again it stays on, whatever Qt made of the press.
    train.trigger()
    assert train.isChecked()
