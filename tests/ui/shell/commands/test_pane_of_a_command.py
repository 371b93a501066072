"""A command given to see a pane shows it and puts the keyboard there, wherever that was."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.session.core import entities
from studio.session.document.edits.sections import set_training
from studio.ui.shell.commands.finder import Finder
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press


@pytest.fixture
def ready(qtbot: QtBot, opened: MainWindow) -> MainWindow:
    """A window in the Train workspace whose network will train for two epochs."""
    studio = opened.studio
    studio.preferences.set("backend", "cpu")
    studio.document.apply("Epochs", set_training(studio.document.state, {"epochs": 2}))
    press("Ctrl+2")
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    qtbot.waitUntil(lambda: not studio.compilation.is_stale)
    qtbot.waitUntil(lambda: opened.is_ready and not opened.docks.is_settling)
    return opened


@pytest.fixture
def trained(qtbot: QtBot, ready: MainWindow) -> MainWindow:
    """The same, trained and tested."""
    studio = ready.studio
    press("F5")
    qtbot.waitUntil(lambda: studio.training.state == "finished")
    qtbot.waitUntil(lambda: studio.evaluation.results is not None)
    qtbot.waitUntil(lambda: ready.is_ready and not ready.docks.is_settling)
    return ready


def command(qtbot: QtBot, window: MainWindow, text: str) -> None:
    press("Ctrl+Shift+P")
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), Finder))
    # What is shown meanwhile must not cover the pane to which the keyboard comes back.
    qtbot.waitUntil(lambda: not window.docks.is_settling)
    QTest.keyClicks(QApplication.focusWidget(), text)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)


def in_hand(window: MainWindow, pane: str) -> bool:
    dock = window.docks[pane]
    return window.docks.is_in_front(dock) and dock.has_focus()


@pytest.mark.parametrize("keyboard", ["tensor_view", "data", "plots", ""])
def test_the_test_pane_comes_with_the_keyboard(
    qtbot: QtBot, trained: MainWindow, keyboard: str
) -> None:
    trained.show_pane(keyboard)
    qtbot.waitUntil(lambda: not trained.docks.is_settling)
    assert not in_hand(trained, "testing")
    command(qtbot, trained, "test the network")
    qtbot.waitUntil(lambda: in_hand(trained, "testing"))
    qtbot.waitUntil(lambda: trained.studio.evaluation.status == "ready")
    qtbot.waitUntil(lambda: not trained.docks.is_settling)
    assert in_hand(trained, "testing")


def test_a_pane_with_the_keyboard_is_not_covered_while_a_popup_is_open(
    qtbot: QtBot, ready: MainWindow
) -> None:
    studio, docks = ready.studio, ready.docks
    tensor = next(each for each in studio.compilation.result.program.tensors.values())
    studio.bus.select([entities.tensor(tensor.name)], source="")
    qtbot.waitUntil(lambda: docks.is_in_front(docks["tensor_view"]) and not docks.is_settling)
    ready.show_pane("tensor_view")
    qtbot.waitUntil(lambda: in_hand(ready, "tensor_view"))
    press("F5")
    press("Ctrl+Shift+P")
    qtbot.waitUntil(lambda: isinstance(QApplication.activePopupWidget(), Finder))
    qtbot.waitUntil(lambda: studio.evaluation.results is not None)
    qtbot.waitUntil(lambda: not docks.is_settling)
    assert docks.is_in_front(docks["tensor_view"])
    press("Esc")
    qtbot.waitUntil(lambda: in_hand(ready, "tensor_view"))
