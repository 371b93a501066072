"""Curves come in sight when a training begins, and stay away from who turns away from them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QTabBar
from pytestqt.qtbot import QtBot

from studio.session.document.edits.sections import set_training
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

LONG = 100_000
"""Epochs that no machine comes to the end of meanwhile."""
SIZES = ((1024, 700), (1366, 768), (1600, 1000))
SMALL = SIZES[0]

Sized = Callable[[tuple[int, int]], MainWindow]


@pytest.fixture
def sized(qtbot: QtBot, opened: MainWindow) -> Sized:
    """A window of some size in the Build workspace, its network compiled and long to train."""
    studio = opened.studio
    studio.preferences.set("backend", "cpu")
    state = studio.document.state
    studio.document.apply("Epochs", set_training(state, {"epochs": LONG}))

    def make(size: tuple[int, int]) -> MainWindow:
        opened.resize(*size)
        qtbot.waitUntil(lambda: (opened.width(), opened.height()) == size)
        qtbot.waitUntil(lambda: studio.compilation.result is not None)
        qtbot.waitUntil(lambda: not studio.compilation.is_stale and opened.is_ready)
        opened.docks.focus_middle()
        qtbot.waitUntil(lambda: in_front(opened, "listing") and not opened.docks.is_settling)
        assert not in_front(opened, "plots")
        return opened

    return make


def in_front(window: MainWindow, pane: str) -> bool:
    return window.docks.is_in_front(window.docks[pane])


def draws(window: MainWindow) -> bool:
    """Whether curves can be seen."""
    pane = window.docks["plots"].pane
    return (
        in_front(window, "plots")
        and isinstance(pane, PlotsPane)
        and any(not plot.viewport().visibleRegion().isEmpty() for plot in pane.plots)
    )


def trains(window: MainWindow, epochs: int = 1) -> bool:
    training = window.studio.training
    return training.state == "running" and training.status.epoch > epochs


def end(qtbot: QtBot, window: MainWindow) -> None:
    press("Shift+F5", window)
    qtbot.waitUntil(lambda: not window.studio.training.is_busy)
    qtbot.waitUntil(lambda: not window.docks.is_settling)


def click_tab(window: MainWindow, text: str) -> None:
    bars = [bar for bar in window.findChildren(QTabBar) if bar.isVisible()]
    bar, place = next(
        (bar, place) for bar in bars for place in range(bar.count()) if bar.tabText(place) == text
    )
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(place).center())


def places(window: MainWindow) -> dict[str, QRect]:
    """Where the canvas and all panes in sight are."""
    found = {name: d.geometry() for name, d in window.docks.all.items() if in_front(window, name)}
    assert window.canvas is not None
    return {**found, "canvas": window.canvas.geometry()}


@pytest.mark.parametrize("size", SIZES)
def test_a_training_brings_its_curves_into_sight_and_moves_nothing_else(
    qtbot: QtBot, sized: Sized, size: tuple[int, int]
) -> None:
    window = sized(size)
    keyboard, before = QApplication.focusWidget(), places(window)
    press("F5")
    qtbot.waitUntil(lambda: draws(window))
    assert QApplication.focusWidget() is keyboard
    end(qtbot, window)
    assert draws(window)
    after = places(window)
    behind = before.keys() - after.keys()
    assert len(behind) == 1, "only what the curves stand in front of"
    assert {name: after[name] for name in before if name in after} == {
        name: place for name, place in before.items() if name in after
    }
    above = before[behind.pop()]
    assert above.left() == after["plots"].left()
    assert above.right() == after["plots"].right()
    assert above.bottom() == after["plots"].bottom()


@pytest.mark.parametrize("size", [SMALL, (1600, 1000)])
def test_curves_turned_away_from_stay_away_until_the_next_training(
    qtbot: QtBot, sized: Sized, size: tuple[int, int]
) -> None:
    window = sized(size)
    button = window.findChild(QAbstractButton, "transport.train")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: draws(window))
    click_tab(window, "Tensor map")
    qtbot.waitUntil(lambda: in_front(window, "tensor_map"))
    epoch = window.studio.training.status.epoch
    qtbot.waitUntil(lambda: trains(window, epoch + 5))
    press("F8", window)
    qtbot.waitUntil(lambda: window.studio.training.state == "paused")
    qtbot.waitUntil(lambda: not window.docks.is_settling)
    assert in_front(window, "tensor_map")
    press("F8", window)
    qtbot.waitUntil(lambda: trains(window))
    end(qtbot, window)
    assert in_front(window, "tensor_map")
    press("F5")
    qtbot.waitUntil(lambda: draws(window))
    end(qtbot, window)


def test_a_pane_with_the_keyboard_is_not_covered(qtbot: QtBot, sized: Sized) -> None:
    window = sized(SMALL)
    window.docks.show("listing")
    qtbot.waitUntil(window.docks["listing"].has_focus)
    keyboard = QApplication.focusWidget()
    press("F5")
    qtbot.waitUntil(lambda: trains(window) and window.docks["plots"].isVisible())
    assert QApplication.focusWidget() is keyboard
    assert in_front(window, "listing")
    click_tab(window, "Plots")
    qtbot.waitUntil(lambda: draws(window))
    end(qtbot, window)


def test_curves_in_sight_already_stay_where_they_are(qtbot: QtBot, sized: Sized) -> None:
    window = sized((1600, 1000))
    press("Ctrl+2")
    qtbot.waitUntil(lambda: window.docks.workspace == "train" and not window.docks.is_settling)
    qtbot.waitUntil(lambda: window.is_ready)
    window.docks.show("plots")
    window.docks.focus_middle()
    qtbot.waitUntil(lambda: in_front(window, "plots") and not window.docks.is_settling)
    before = places(window)["plots"]
    press("F5")
    qtbot.waitUntil(lambda: draws(window) and trains(window))
    end(qtbot, window)
    assert places(window)["plots"] == before


def test_a_mode_for_one_thing_is_not_left_for_curves(qtbot: QtBot, sized: Sized) -> None:
    window = sized((1366, 768))
    press("Ctrl+Alt+F")
    qtbot.waitUntil(lambda: window.docks.is_focus_mode)
    press("F5")
    qtbot.waitUntil(lambda: trains(window))
    assert window.docks.is_focus_mode
    assert not window.docks["plots"].isVisible()
    end(qtbot, window)
