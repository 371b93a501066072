"""Uses the pane and the action of ``docs/extending.md`` in the window; `test_extending.py` runs it
in a copy of the tree that has them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.shell.commands.command_palette import CommandHistory, search_commands
from studio.ui.shell.commands.finder import Finder
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import choose, press

WAIT = 60_000


def test_the_pane_is_opened_by_mouse_and_its_action_runs_by_key(
    qtbot: QtBot, opened: MainWindow
) -> None:
    choose(qtbot, opened, "View", "Panes", "Counting")
    dock = opened.docks["counting"]
    qtbot.waitUntil(lambda: type(dock.pane).__name__ == "CountingPane", timeout=WAIT)
    qtbot.waitUntil(lambda: opened.docks.is_in_front(dock), timeout=WAIT)
    press("Ctrl+Alt+K", opened.canvas)
    qtbot.waitUntil(lambda: dock.pane.label.text() == "3 layers", timeout=WAIT)


def test_the_action_runs_from_menu_key_and_palette(qtbot: QtBot, opened: MainWindow) -> None:
    actions = opened.studio.actions
    assert actions.conflicts() == []
    found = search_commands(actions, CommandHistory(None), "how big")
    assert found[0].text == "Say how large the network is"

    done: list[str] = []

    def note(action_id: str) -> None:
        done.append(action_id)

    actions.triggered.connect(note)
    choose(qtbot, opened, "Graph", "Say how large the network is")
    qtbot.waitUntil(lambda: done.count("size.say") == 1, timeout=WAIT)
    assert [notice.text for notice in opened.studio.notices.all].count("3 layers") == 1
    press("Ctrl+Alt+L", opened.canvas)
    qtbot.waitUntil(lambda: done.count("size.say") == 2, timeout=WAIT)
    press("Ctrl+Shift+P", opened.canvas)
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), Finder), timeout=WAIT)
    finder = QApplication.activePopupWidget()
    field = finder.focusWidget() or finder
    QTest.keyClicks(field, "how big")
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: done.count("size.say") == 3, timeout=WAIT)
