"""Docks and windows where there is little room, or where a screen has gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QByteArray, QPoint, QSize, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.session.studio import Studio
from studio.ui.shell.docks import arrangement
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.window import LEAST, USUAL, MainWindow
from tests.ui.shell.docks.dock_sight import in_front, right_columns
from tests.ui.shell.driving import finish, show


def moved(window: MainWindow) -> int:
    """Move a pane to the right side, as a user does; how many columns stand there now."""
    right = Qt.DockWidgetArea.RightDockWidgetArea
    window.addDockWidget(right, window.docks["inspector"], Qt.Orientation.Vertical)
    window.docks["inspector"].show()
    QApplication.processEvents()
    return right_columns(window)


def test_a_pane_that_floated_on_a_lost_screen_is_docked(
    qtbot: QtBot, another: Callable[[], MainWindow]
) -> None:
    first = another()
    first.show_canvas()
    dock = first.docks["inspector"]
    dock.setFloating(True)
    # As Qt records it of a screen to the right, which is not there at the next start.
    dock.setGeometry(5000, 300, 400, 300)
    QApplication.processEvents()
    assert not arrangement.on_a_screen(dock.frameGeometry())
    second = another()
    second.show_canvas()
    again = second.docks["inspector"]
    assert again.isVisible()
    area = again.frameGeometry() if again.isFloating() else second.frameGeometry()
    assert arrangement.on_a_screen(area)
    assert second.docks.is_in_front(again)


def test_a_window_that_was_on_a_lost_screen_comes_back_in_sight(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.move(QPoint(6000, 4000))
    arrangement.fit_to_screen(opened)
    assert arrangement.on_a_screen(opened.frameGeometry())


@pytest.mark.parametrize(
    ("screen", "fills"), [((1366, 768), True), ((1600, 1000), True), ((1920, 1080), False)]
)
def test_a_window_whose_frame_would_lie_off_the_screen_fills_it(
    opened: MainWindow, screen: tuple[int, int], fills: bool
) -> None:
    arrangement.begin(opened, USUAL, QSize(*screen))
    assert opened.isMaximized() is fills
    assert opened.normalGeometry().width() <= screen[0]


@pytest.mark.slow
def test_a_window_that_will_fill_the_screen_is_not_told_so_while_docks_are_put_back(
    qtbot: QtBot, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Qt lays such docks out again after the window is shown, wherever they have gone by then, and
    # a workspace chosen in that moment ends the process.
    taken: list[tuple[bool, bool]] = []
    restore = MainWindow.restoreState

    def noted(window: MainWindow, state: QByteArray, version: int = 0) -> bool:
        taken.append((window.isVisible(), window.isMaximized()))
        return restore(window, state, version)

    monkeypatch.setattr(MainWindow, "restoreState", noted)
    store = LayoutStore(studio.dirs.config)
    window = MainWindow(studio, store)
    window.setWindowState(Qt.WindowState.WindowMaximized)
    window.show_canvas()
    assert taken
    assert (False, True) not in taken
    assert window.isMaximized()
    taken.clear()
    show(qtbot, window)
    # The window is as large as it will be: what is laid out now keeps its recorded sizes.
    assert taken == [(True, True)]
    finish(qtbot, window)


def test_the_window_fits_a_small_screen_with_the_right_side_in_tabs(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.resize(1500, 900)
    moved(opened)
    opened.resize(LEAST)
    qtbot.waitUntil(lambda: opened.width() == LEAST.width())
    right = [
        dock
        for dock in opened.docks.all.values()
        if not dock.isHidden()
        and opened.dockWidgetArea(dock) is Qt.DockWidgetArea.RightDockWidgetArea
    ]
    assert len(right) > 1
    for dock in right[1:]:
        assert dock in opened.tabifiedDockWidgets(right[0])
    opened.resize(1500, 900)
    apart = [d for d in right[1:] if d not in opened.tabifiedDockWidgets(right[0])]
    assert apart


def test_a_users_own_arrangement_adapts_whenever_it_is_shown(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.resize(1500, 900)
    columns = {}
    for name in WORKSPACES:
        opened.docks.switch(name)
        columns[name] = moved(opened)
        assert columns[name] >= 2
    opened.resize(LEAST)
    for name in (*WORKSPACES, "build"):
        opened.docks.switch(name)
        qtbot.waitUntil(lambda: right_columns(opened) == 1)
    opened.resize(1500, 900)
    for name in (*WORKSPACES, "build"):
        opened.docks.switch(name)
        qtbot.waitUntil(lambda name=name: right_columns(opened) == columns[name])


@pytest.mark.parametrize("size", [(1364, 740), (1500, 900)])
def test_a_workspace_first_shown_in_a_later_session_is_whole(
    qtbot: QtBot, another: Callable[[], MainWindow], size: tuple[int, int]
) -> None:
    first = another()
    first.resize(*size)
    first.show_canvas()
    qtbot.waitUntil(lambda: len(in_front(first)) >= 3)
    first.docks.switch("train")
    qtbot.waitUntil(lambda: len(in_front(first)) >= 3)
    first.docks.keep()
    second = another()
    second.resize(*size)
    second.show_canvas()
    for name in ("build", "train"):
        second.docks.switch(name)
        qtbot.waitUntil(lambda: len(in_front(second)) >= 3)
    second.docks.switch("profile")
    top = second.centralWidget().y()
    # At the top of their sides, below a row of tabs at most.
    for name in ("inspector", "profiler"):
        qtbot.waitUntil(lambda name=name: top <= second.docks[name].y() <= top + 60)
    places = [second.docks[name].geometry() for name in in_front(second)]
    for number, place in enumerate(places):
        assert not any(place.intersects(other) for other in places[number + 1 :])


@pytest.mark.parametrize("workspace", WORKSPACES)
def test_a_recorded_arrangement_is_joined_whole_on_a_small_screen(
    qtbot: QtBot, another: Callable[[], MainWindow], workspace: str
) -> None:
    first = another()
    first.resize(1500, 900)
    first.show_canvas()
    for name in WORKSPACES:
        first.docks.switch(name)
    first.docks.switch(workspace)
    columns = moved(first)
    assert columns >= 2
    first.docks.keep()
    second = another()
    second.resize(1500, 900)
    second.show_canvas()
    qtbot.waitUntil(lambda: right_columns(second) == columns)
    second.resize(LEAST)
    qtbot.waitUntil(lambda: right_columns(second) == 1)
    places = [second.docks[name].geometry() for name in in_front(second)]
    for number, place in enumerate(places):
        assert not any(place.intersects(other) for other in places[number + 1 :])
    right = Qt.DockWidgetArea.RightDockWidgetArea
    docks = [second.docks[name] for name in in_front(second)]
    assert sum(second.dockWidgetArea(dock) is right for dock in docks) == 1


@pytest.mark.parametrize("workspace", WORKSPACES)
def test_a_low_window_gives_one_pane_at_a_time_the_whole_side(
    qtbot: QtBot, opened: MainWindow, workspace: str
) -> None:
    opened.resize(1300, 900)
    opened.docks.switch(workspace)
    columns = moved(opened)
    opened.resize(1300, 720)
    qtbot.waitUntil(lambda: right_columns(opened) == 1)
    opened.resize(1300, 900)
    qtbot.waitUntil(lambda: right_columns(opened) == columns)
    opened.resize(1300, 720)
    qtbot.waitUntil(lambda: right_columns(opened) == 1)


def test_columns_come_back_when_a_small_window_is_made_large(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.resize(1700, 1100)

    def places() -> dict[str, object]:
        return {name: opened.docks[name].geometry() for name in in_front(opened)}

    for workspace in WORKSPACES:
        opened.docks.switch(workspace)
        qtbot.waitUntil(lambda: opened.is_ready)
        before = places()
        opened.resize(LEAST)
        qtbot.waitUntil(lambda before=before: places() != before)
        opened.resize(1700, 1100)
        qtbot.waitUntil(lambda before=before: places() == before)


def test_a_pane_opened_and_closed_often_keeps_a_width_it_can_be_read_at(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.resize(1600, 900)
    opened.docks.switch("train")
    log, beside = opened.docks["log"], opened.docks["tensor_map"]
    below, above = Qt.DockWidgetArea.BottomDockWidgetArea, Qt.DockWidgetArea.TopDockWidgetArea
    for dock in opened.docks.all.values():
        if opened.dockWidgetArea(dock) is below:
            opened.addDockWidget(above, dock)
            dock.hide()
    opened.addDockWidget(below, beside)
    opened.splitDockWidget(beside, log, Qt.Orientation.Horizontal)
    beside.show()
    log.hide()
    for _ in range(6):
        assert "log" not in in_front(opened)
        opened.actions_of_window["pane.log"].trigger()
        assert "log" in in_front(opened)
        assert 300 <= log.width() < beside.width()
        opened.actions_of_window["pane.log"].trigger()


def test_a_small_window_does_not_stay_in_the_next_one(
    qtbot: QtBot, another: Callable[[], MainWindow]
) -> None:
    first = another()
    first.show_canvas()
    first.resize(LEAST)
    qtbot.waitUntil(lambda: right_columns(first) == 0)
    second = another()
    second.resize(LEAST)
    second.show_canvas()
    qtbot.waitUntil(lambda: right_columns(second) == 0)
    second.resize(1600, 1000)
    qtbot.waitUntil(lambda: right_columns(second) == 2)


def test_a_window_made_small_at_the_welcome_page_is_small_with_its_panes(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.resize(LEAST)
    QApplication.processEvents()
    window.show_canvas()
    qtbot.waitUntil(lambda: right_columns(window) == 0)
    window.show_welcome()
    window.resize(1600, 1000)
    QApplication.processEvents()
    window.show_canvas()
    qtbot.waitUntil(lambda: right_columns(window) == 2)


@pytest.mark.parametrize("workspace", WORKSPACES)
def test_the_uppermost_of_the_right_side_stays_in_front_on_a_small_screen(
    qtbot: QtBot, opened: MainWindow, workspace: str
) -> None:
    opened.docks.switch(workspace)
    moved(opened)
    wide = [opened.docks[name] for name in in_front(opened)]
    area = Qt.DockWidgetArea.RightDockWidgetArea
    uppermost = min((d for d in wide if opened.dockWidgetArea(d) is area), key=lambda d: d.y())
    opened.resize(LEAST)
    qtbot.waitUntil(lambda: opened.docks.is_in_front(uppermost))
    qtbot.waitUntil(lambda: opened.is_ready)


def test_the_profile_workspace_lets_the_slow_layer_be_changed(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.docks.switch("profile")
    qtbot.waitUntil(lambda: {"inspector", "listing", "tensor_map"} <= in_front(opened))
    qtbot.waitUntil(lambda: opened.is_ready)


def test_a_screen_of_700_rows_has_room_for_a_title_bar_above_the_window(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.resize(1024, 660)
    QApplication.processEvents()
    assert opened.size() == QSize(1024, 660)
    for workspace in WORKSPACES:
        opened.docks.switch(workspace)
        QApplication.processEvents()
        assert opened.size() == QSize(1024, 660)
        bottom = opened.statusBar().mapTo(opened, opened.statusBar().rect().bottomLeft()).y()
        assert bottom < 660
        assert opened.centralWidget().height() >= 240
