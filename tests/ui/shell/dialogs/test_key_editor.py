"""The key editor in the window: found, changed by pressing, in force at once, taken back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core.action_table import Action, ActionRegistry, ActionTable, AnyAction
from studio.ui.shell.dialogs.key_editor import KeyEditor
from studio.ui.shell.dialogs.preferences import PreferencesDialog
from studio.ui.shell.window import MainWindow
from tests.ui.fixtures import shown
from tests.ui.shell.driving import answer, press
from tests.ui.shell.files.test_file_dialogs import opened_dialog, type_path

LEFT = Qt.MouseButton.LeftButton


class Editor:
    """The dialog in a window, worked with by mouse and keys."""

    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self.qtbot = qtbot
        self.window = window
        window.studio.actions.trigger("help.change_keys")
        found = window.findChild(PreferencesDialog)
        assert found is not None
        self.dialog = found
        self.activate()

    @property
    def keys(self) -> KeyEditor:
        return self.dialog.keys

    def activate(self) -> None:
        self.dialog.activateWindow()
        self.qtbot.waitUntil(self.dialog.isActiveWindow)

    def click(self, widget: QWidget) -> None:
        assert widget.isVisible()
        assert widget.isEnabled()
        self.qtbot.mouseClick(widget, LEFT)

    def search(self, text: str) -> list[str]:
        """Type into the search; the commands that are listed then."""
        self.dialog.field.setFocus()
        self.dialog.field.clear()
        self.qtbot.keyClicks(self.dialog.field, text)
        return self.listed

    @property
    def listed(self) -> list[str]:
        tree = self.keys.list
        heads = [tree.topLevelItem(row) for row in range(tree.topLevelItemCount())]
        items = [head.child(row) for head in heads for row in range(head.childCount())]
        return [item.text(0) for item in items if not item.isHidden()]

    def row(self, action_id: str) -> list[str]:
        """What the list says of an action."""
        self.keys.choose(action_id)
        item = self.keys.list.currentItem()
        return [item.text(column) for column in range(3)]

    def change(self, action_id: str, *pressed: str, add: bool = False) -> str:
        """Press keys for an action; what is said about them."""
        self.keys.choose(action_id)
        detail = self.keys.detail
        self.click(detail.add if add else detail.change)
        self.qtbot.waitUntil(detail.field.hasFocus)
        for each in pressed:
            press(each, detail.field)
        return detail.message.text()

    def close(self) -> None:
        self.dialog.close()
        self.window.activateWindow()
        self.qtbot.waitUntil(self.window.isActiveWindow)


def seen(place: QWidget, name: str) -> list[QToolButton]:
    return [each for each in place.findChildren(QToolButton, name) if each.isVisible()]


def keys_of(window: MainWindow, action_id: str) -> tuple[str, ...]:
    return window.studio.actions[action_id].keys


def test_changed_keys_work_at_once_and_the_old_ones_do_not(
    qtbot: QtBot, opened: MainWindow
) -> None:
    editor = Editor(qtbot, opened)
    assert editor.change("workspace.train", "Ctrl+Alt+9") == ""
    assert keys_of(opened, "workspace.train") == ("Ctrl+Alt+9",)
    assert editor.row("workspace.train") == ["Workspace: Train", "Ctrl+Alt+9", "changed"]
    editor.close()
    opened.canvas.setFocus()
    press("Ctrl+2")
    assert opened.docks.workspace == "build"
    press("Ctrl+Alt+9")
    assert opened.docks.workspace == "train"
    button = opened.findChild(QToolButton, "tool.workspace.train")
    qtbot.waitUntil(lambda: "Ctrl+Alt+9" in button.toolTip())
    assert "Ctrl+Alt+9" in opened.actions_of_window["workspace.train"].toolTip()


def test_keys_of_the_canvas_change_on_the_canvas_only(qtbot: QtBot, opened: MainWindow) -> None:
    studio = opened.studio
    editor = Editor(qtbot, opened)
    assert editor.change("canvas.quick_add", "N") == ""
    assert editor.change("graph.collapse", "Tab") == ""
    editor.close()
    opened.canvas.setFocus()
    heard: list[str] = []

    def hear(spec: AnyAction) -> None:
        heard.append(spec.id)

    studio.actions.about_to.connect(hear)
    press("N", opened.canvas)
    assert heard == ["canvas.quick_add"]
    press("Escape")
    opened.canvas.setFocus()
    press("H", opened.canvas)
    assert heard == ["canvas.quick_add"]
    opened.docks.show("palette")
    qtbot.waitUntil(opened.docks["palette"].has_focus)
    press("N")
    assert heard == ["canvas.quick_add"]


def test_a_conflict_names_the_other_command_and_leaves_the_choice(
    qtbot: QtBot, opened: MainWindow
) -> None:
    editor = Editor(qtbot, opened)
    detail = editor.keys.detail
    said = editor.change("train.start", "Ctrl+S")
    assert said == "Ctrl+S is used by “Save” everywhere."
    assert keys_of(opened, "train.start") == ("F5", "Ctrl+Return")
    editor.click(detail.leave)
    assert not detail.message.isVisible()
    assert keys_of(opened, "file.save") == ("Ctrl+S",)
    # A key of another view does not meet it; one that works everywhere meets every view's.
    assert editor.change("listing.find", "Ctrl+D") == ""
    assert editor.change("train.start", "Ctrl+D").count("is used by") == 2
    editor.click(detail.leave)
    editor.change("train.start", "Ctrl+S", add=True)
    qtbot.waitUntil(detail.take.hasFocus)
    press("Return", detail.take)
    assert keys_of(opened, "train.start") == ("F5", "Ctrl+Return", "Ctrl+S")
    assert keys_of(opened, "file.save") == ()
    assert editor.row("file.save") == ["Save", "", "changed"]
    assert opened.studio.actions.conflicts() == []


def test_reset_of_one_asks_where_its_keys_have_gone_elsewhere(
    qtbot: QtBot, opened: MainWindow
) -> None:
    editor = Editor(qtbot, opened)
    detail = editor.keys.detail
    editor.change("train.start", "Ctrl+S")
    editor.click(detail.take)
    editor.keys.choose("file.save")
    editor.click(detail.reset)
    assert detail.message.text() == "Ctrl+S is used by “Train” everywhere."
    editor.click(detail.take)
    assert keys_of(opened, "file.save") == ("Ctrl+S",)
    assert keys_of(opened, "train.start") == ()
    editor.keys.choose("train.start")
    editor.click(detail.reset)
    assert keys_of(opened, "train.start") == ("F5", "Ctrl+Return")
    assert len(opened.studio.actions.keys) == 0
    assert not detail.reset.isEnabled()


def test_keys_are_added_and_removed_one_by_one(qtbot: QtBot, opened: MainWindow) -> None:
    editor = Editor(qtbot, opened)
    detail = editor.keys.detail
    editor.change("window.full_screen", "F11", add=True)
    assert keys_of(opened, "window.full_screen") == ("Ctrl+Shift+F11", "F11")
    for gone in ("Ctrl+Shift+F11", "F11"):
        name = f"remove_key.{gone}"
        qtbot.waitUntil(lambda name=name: bool(seen(detail, name)))
        editor.click(*seen(detail, name))
    assert keys_of(opened, "window.full_screen") == ()
    assert detail.change.text() == "Set keys…"
    assert not detail.add.isEnabled()
    editor.change("window.full_screen", "F11")
    assert keys_of(opened, "window.full_screen") == ("F11",)


def test_escape_leaves_the_keys_and_the_dialog_as_they_are(
    qtbot: QtBot, opened: MainWindow
) -> None:
    editor = Editor(qtbot, opened)
    editor.change("train.start", "Escape")
    assert editor.dialog.isVisible()
    assert not editor.keys.detail.field.isVisible()
    assert editor.keys.detail.change.hasFocus()
    assert keys_of(opened, "train.start") == ("F5", "Ctrl+Return")


@pytest.mark.parametrize("keys", ["Space", "Return", "K", "Z"])
def test_keys_that_the_canvas_holds_are_refused_with_the_reason(
    qtbot: QtBot, opened: MainWindow, keys: str
) -> None:
    editor = Editor(qtbot, opened)
    said = editor.change("graph.layout", keys)
    assert said.startswith(f"{keys} cannot be used here: ")
    assert keys_of(opened, "graph.layout") == ("L",)
    assert editor.keys.detail.field.hasFocus()
    # It goes on listening.
    press("Ctrl+Alt+L", editor.keys.detail.field)
    assert keys_of(opened, "graph.layout") == ("Ctrl+Alt+L",)


def test_commands_are_found_by_words_and_by_pressing_keys(qtbot: QtBot, opened: MainWindow) -> None:
    editor = Editor(qtbot, opened)
    everything = editor.listed
    assert len(everything) == len(list(opened.studio.actions))
    assert "Save" in editor.search("save")
    assert "Train" not in editor.listed
    editor.search("")
    for keys in ("Ctrl+S", "Ctrl+Q", "F5"):
        press(keys, editor.dialog.field)
    assert editor.listed == ["Train"]
    press("Ctrl+F", editor.dialog.field)
    assert len(editor.listed) == 2
    assert editor.search("no such command") == []
    assert not editor.keys.detail.isEnabled()
    assert editor.search("") == everything
    editor.change("train.start", "F9")
    editor.dialog.only_changed.click()
    assert editor.listed == ["Train"]


def test_reset_all_is_asked_and_brings_every_key_back(
    qtbot: QtBot, another: Callable[[], MainWindow]
) -> None:
    window = another()
    editor = Editor(qtbot, window)
    before = {action.id: action.keys for action in window.studio.actions}
    assert not editor.keys.reset_all.isEnabled()
    editor.change("train.start", "Ctrl+S")
    editor.click(editor.keys.detail.take)
    editor.change("help.here", "F12")
    file = window.studio.dirs.config / "keys.json"
    assert json.loads(file.read_text()) == {
        "file.save": [], "help.here": ["F12"], "train.start": ["Ctrl+S"],
    }  # fmt: skip
    editor.close()
    # They are there at the next start.
    window = another()
    assert keys_of(window, "help.here") == ("F12",)
    assert keys_of(window, "file.save") == ()
    editor = Editor(qtbot, window)
    editor.click(editor.keys.reset_all)
    answer(qtbot, window, "cancel")
    assert keys_of(window, "help.here") == ("F12",)
    editor.activate()
    editor.click(editor.keys.reset_all)
    answer(qtbot, window, "reset")
    assert {action.id: action.keys for action in window.studio.actions} == before
    assert not editor.keys.reset_all.isEnabled()


def test_keys_are_taken_to_another_computer_in_a_file(
    qtbot: QtBot, another: Callable[[], MainWindow], tmp_path: Path
) -> None:
    file = tmp_path / "mine.json"
    window = another()
    editor = Editor(qtbot, window)
    assert not editor.keys.export.isEnabled()
    editor.change("help.here", "F12")
    editor.click(editor.keys.export)
    type_path(qtbot, opened_dialog(qtbot, window, "keys_dialog"), file)
    qtbot.waitUntil(file.is_file)
    editor.activate()
    editor.change("train.start", "F9")
    # As on a computer with keys of its own.
    editor.click(editor.keys.bring)
    type_path(qtbot, opened_dialog(qtbot, window, "keys_dialog"), file)
    qtbot.waitUntil(lambda: keys_of(window, "train.start") != ("F9",))
    assert keys_of(window, "help.here") == ("F12",)
    assert json.loads((window.studio.dirs.config / "keys.json").read_text()) == {
        "help.here": ["F12"]
    }


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"help.here": "F12"}', '{"a": [""], "b": []}'])
def test_a_file_that_holds_no_keys_changes_none(
    qtbot: QtBot, opened: MainWindow, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(text)
    editor = Editor(qtbot, opened)
    editor.change("train.start", "F9")
    editor.click(editor.keys.bring)
    type_path(qtbot, opened_dialog(qtbot, opened, "keys_dialog"), file)
    qtbot.waitUntil(lambda: bool(opened.studio.notices.all))
    assert opened.studio.notices.all[-1].severity == "error"
    assert keys_of(opened, "train.start") == ("F9",)


def test_a_change_that_cannot_be_kept_is_told(qtbot: QtBot, opened: MainWindow) -> None:
    opened.studio.dirs.config.mkdir(parents=True, exist_ok=True)
    (opened.studio.dirs.config / "keys.json").mkdir()
    editor = Editor(qtbot, opened)
    editor.change("help.here", "F12")
    assert opened.studio.notices.all[-1].severity == "error"
    assert keys_of(opened, "help.here") == ("F12",)


def test_without_keys_nothing_breaks(qtbot: QtBot, opened: MainWindow) -> None:
    registry = opened.studio.actions
    registry.keys.choose({action.id: () for action in registry if action.keys})
    for name in ("plots", "runs", "testing", "profiler", "tensor_view"):
        opened.docks.show(name)
        qtbot.waitUntil(opened.docks[name].has_focus)
    opened.show_welcome()
    assert opened.welcome.findChildren(QLabel, "key_cap") == []
    opened.show_canvas()
    registry.keys.reset()
    assert registry["train.start"].keys == ("F5", "Ctrl+Return")


@pytest.mark.parametrize(
    ("pressed", "kept"),
    [("?", "?"), ("Ctrl++", "Ctrl++"), ("Shift+A", "Shift+A"), ("Shift+Tab", "Shift+Tab"),
     ("Ctrl+Alt+Del", "Ctrl+Alt+Del"), ("Meta+F3", "Meta+F3")],
)  # fmt: skip
def test_keys_are_written_as_the_action_table_writes_them(
    qtbot: QtBot, dark: object, pressed: str, kept: str
) -> None:
    registry = ActionRegistry()
    registry.declare(ActionTable(0, Action("a.b", "Act", "Act.", run=lambda _: None)))
    holder = QWidget()
    editor = KeyEditor(registry, lambda error: None, holder)
    qtbot.addWidget(holder)
    shown(qtbot, holder)
    editor.choose("a.b")
    editor.detail.listen(add=False)
    qtbot.waitUntil(editor.detail.field.hasFocus)
    press(pressed, editor.detail.field)
    assert registry["a.b"].keys == (kept,)
    assert QApplication.focusWidget() is not editor.detail.field
    holder.close()
