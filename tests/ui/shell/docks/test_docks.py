"""Docks under rough treatment: floating, tabs, closing, records, lost screens, workspaces."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.shell.docks.dock import Dock
from studio.ui.shell.docks.panes import PaneSpec
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.window import MainWindow
from studio.widgets import theme
from studio.widgets.frames.empty_state import EmptyState
from tests.ui.shell.docks.dock_sight import in_front, stray_tabs
from tests.ui.shell.driving import press


def button(dock: Dock, name: str) -> QToolButton:
    found = dock.header.findChild(QToolButton, name)
    assert found is not None
    return found


@pytest.mark.parametrize("workspace", WORKSPACES)
def test_every_workspace_begins_with_its_panes(
    qtbot: QtBot, opened: MainWindow, workspace: str
) -> None:
    opened.docks.switch(workspace)
    shown = {name for name, dock in opened.docks.all.items() if not dock.isHidden()}
    wanted = {name for name, d in opened.docks.all.items() if d.spec.place(workspace).shown}
    assert shown == wanted
    assert in_front(opened)
    qtbot.waitUntil(lambda: opened.is_ready)
    qtbot.waitUntil(lambda: stray_tabs(opened) == [])


def test_panes_are_made_only_when_they_are_seen(qtbot: QtBot, opened: MainWindow) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    for name in in_front(opened):
        assert opened.docks[name].pane is not None
    assert opened.docks["log"].pane is None
    opened.docks.show("log")
    assert opened.docks["log"].pane is not None


def test_every_pane_can_be_made(qtbot: QtBot, opened: MainWindow) -> None:
    for dock in opened.docks.all.values():
        assert not isinstance(dock.ensure(), EmptyState), dock.spec.title


def test_code_of_panes_nobody_saw_is_imported_beside_the_window(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    imported: list[tuple[str, bool]] = []

    def load(spec: PaneSpec) -> None:
        imported.append((spec.id, threading.current_thread() is threading.main_thread()))

    monkeypatch.setattr(PaneSpec, "load", load)
    unseen = [name for name, dock in opened.docks.all.items() if dock.pane is None]
    assert {"log", "history", "runs"} <= set(unseen)
    opened.docks.load_others()
    qtbot.waitUntil(lambda: not opened.studio.tasks.running)
    assert imported == [(name, False) for name in unseen]
    assert all(opened.docks[name].pane is None for name in unseen)


def test_a_pane_whose_code_cannot_be_imported_keeps_no_other_from_it(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    unseen = [name for name, dock in opened.docks.all.items() if dock.pane is None]
    imported: list[str] = []

    def load(spec: PaneSpec) -> None:
        imported.append(spec.id)
        if spec.id == unseen[0]:
            raise ImportError("no such module")

    monkeypatch.setattr(PaneSpec, "load", load)
    opened.docks.load_others()
    qtbot.waitUntil(lambda: not opened.studio.tasks.running)
    assert imported == unseen
    assert not opened.studio.notices.all


def test_a_switch_of_workspaces_is_told_once(qtbot: QtBot, opened: MainWindow) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    told: list[tuple[str, list[str]]] = []

    def heard() -> None:
        shown = [name for name, dock in opened.docks.all.items() if not dock.isHidden()]
        told.append((opened.docks.workspace, shown))

    opened.docks.changed.connect(heard)
    for workspace in ("train", "profile", "build", "train"):
        told.clear()
        opened.docks.switch(workspace)
        # All of it has happened by then: who hears of it sees the workspace as it is.
        shown = [name for name, dock in opened.docks.all.items() if not dock.isHidden()]
        assert told == [(workspace, shown)]
        assert opened.actions_of_window[f"workspace.{workspace}"].isChecked()
        for name in opened.docks.all:
            is_on = opened.actions_of_window[f"pane.{name}"].isChecked()
            assert is_on == opened.docks.is_in_front(opened.docks[name]), name


def test_floating_and_docking_by_the_buttons(qtbot: QtBot, opened: MainWindow) -> None:
    dock = opened.docks["inspector"]
    qtbot.mouseClick(button(dock, "float"), Qt.MouseButton.LeftButton)
    assert dock.isFloating()
    assert dock.isVisible()
    qtbot.mouseClick(button(dock, "float"), Qt.MouseButton.LeftButton)
    assert not dock.isFloating()
    qtbot.mouseClick(button(dock, "close"), Qt.MouseButton.LeftButton)
    assert dock.isHidden()
    opened.studio.actions.trigger("pane.inspector")
    assert opened.docks.is_in_front(dock)


def test_a_pane_comes_back_through_the_view_menu(qtbot: QtBot, opened: MainWindow) -> None:
    action = opened.actions_of_window["pane.palette"]
    opened.docks["palette"].close()
    assert not action.isChecked()
    action.trigger()
    assert "palette" in in_front(opened)
    assert action.isChecked()
    action.trigger()
    assert "palette" not in in_front(opened)


def test_a_workspace_keeps_what_was_done_to_it(qtbot: QtBot, opened: MainWindow) -> None:
    opened.docks["palette"].close()
    opened.docks.switch("train")
    assert not opened.docks["runs"].isHidden()
    opened.docks.switch("build")
    assert opened.docks["palette"].isHidden()
    assert opened.docks["runs"].isHidden() or opened.docks["runs"].spec.place("build").shown
    opened.docks.reset()
    assert not opened.docks["palette"].isHidden()


def test_workspaces_switch_by_their_keys(qtbot: QtBot, opened: MainWindow) -> None:
    opened.canvas.setFocus()
    for number, name in enumerate(WORKSPACES, 1):
        press(f"Ctrl+{number}")
        assert opened.docks.workspace == name


def test_maximising_fills_the_window_and_gives_everything_back(
    qtbot: QtBot, opened: MainWindow
) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    before = in_front(opened)
    opened.docks.show("inspector")
    press("Ctrl+Alt+M")
    assert in_front(opened) == {"inspector"}
    assert not opened.centralWidget().isVisible()
    assert opened.docks["inspector"].width() > 0.9 * opened.width()
    press("Ctrl+Alt+M")
    assert in_front(opened) == before
    assert opened.centralWidget().isVisible()


def test_the_canvas_can_be_maximised_too(qtbot: QtBot, opened: MainWindow) -> None:
    before = in_front(opened)
    opened.canvas.setFocus()
    press("Ctrl+Alt+M")
    assert in_front(opened) == set()
    assert opened.canvas.isVisible()
    opened.studio.actions.trigger("window.maximise_pane")
    assert in_front(opened) == before


def test_focus_mode_hides_everything_and_its_key_brings_it_back(
    qtbot: QtBot, opened: MainWindow
) -> None:
    before = in_front(opened)
    opened.canvas.setFocus()
    press("Ctrl+Alt+F")
    assert in_front(opened) == set()
    assert not opened.top_bar.isVisible()
    assert not opened.statusBar().isVisible()
    press("Ctrl+Alt+F", opened.canvas)
    assert in_front(opened) == before
    assert opened.top_bar.isVisible()


def marked(window: MainWindow) -> list[str]:
    """The panes whose headers say that the keyboard is there."""
    docks = window.docks.all.values()
    return [d.spec.id for d in docks if d.header is not None and d.header.is_marked]


def test_the_mark_of_the_keyboard_is_painted_and_goes_with_it(
    qtbot: QtBot, opened: MainWindow
) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    opened.canvas.setFocus()
    press("F6")
    dock = opened.docks.focused()
    assert dock is not None
    assert dock.header is not None

    def line() -> str:
        assert dock is not None
        assert dock.header is not None
        image = dock.header.grab().toImage()
        return image.pixelColor(image.width() // 2, image.height() - 1).name()

    assert line() == theme.colour("accent").name()
    opened.canvas.setFocus()
    assert line() == theme.colour("hairline").name()
    # A click needs no mark: the hand knows where it clicked.
    dock.give_focus()
    assert marked(opened) == []


def test_walking_visits_every_pane_in_sight_and_comes_back(
    qtbot: QtBot, opened: MainWindow
) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)
    opened.canvas.setFocus()
    seen = []
    for _ in range(len(in_front(opened))):
        press("F6")
        focused = opened.docks.focused()
        assert focused is not None
        seen.append(focused.spec.id)
        assert marked(opened) == [focused.spec.id]
    assert set(seen) == in_front(opened)
    press("F6")
    assert opened.docks.focused() is None
    assert marked(opened) == []
    press("Shift+F6")
    assert opened.docks.focused() is opened.docks[seen[-1]]


def test_a_closed_and_opened_window_stands_as_it_was(
    qtbot: QtBot, another: Callable[[], MainWindow]
) -> None:
    first = another()
    first.studio.new()
    first.show_canvas()
    first.docks["palette"].close()
    first.docks.show("log")
    first.docks["inspector"].setFloating(True)
    first.docks["inspector"].move(300, 200)
    first.resize(1300, 850)
    first.docks.switch("profile")
    first.docks.switch("build")
    second = another()
    second.show_canvas()
    assert second.docks["palette"].isHidden()
    assert second.docks["inspector"].isFloating()
    assert not second.docks["log"].isHidden()
    assert second.docks.workspace == "build"


def test_reset_layout_forgets_where_everything_was(
    qtbot: QtBot, another: Callable[[], MainWindow]
) -> None:
    first = another()
    first.show_canvas()
    first.docks["palette"].close()
    second = another()
    second.show_canvas()
    assert second.docks["palette"].isHidden()
    second.docks.restore(reset=True)
    assert not second.docks["palette"].isHidden()


def test_damaged_records_begin_anew(
    qtbot: QtBot, another: Callable[[], MainWindow], tmp_path
) -> None:
    folder = tmp_path / "places" / "config"
    folder.mkdir(parents=True)
    (folder / "layout.json").write_text('{"version": 1, "panes": [1], "states": {"build": "%%"}}')
    (folder / "window.json").write_text("not json")
    window = another()
    window.show_canvas()
    assert window.docks.workspace == "build"
    assert not window.docks["palette"].isHidden()


def test_rough_treatment_loses_nothing(qtbot: QtBot, opened: MainWindow) -> None:
    """A few hundred moves at random: no dock is lost, nothing is warned about, no tab strays."""
    hands = random.Random(7)
    docks = opened.docks
    names = list(docks.all)
    moves: list[Callable[[], object]] = [
        lambda: docks[hands.choice(names)].setFloating(hands.random() < 0.5),
        lambda: docks.toggle(hands.choice(names)),
        lambda: opened.tabifyDockWidget(docks[names[0]], docks[hands.choice(names[1:])]),
        lambda: docks.maximise(docks[hands.choice(names)]),
        lambda: docks.switch(hands.choice(list(WORKSPACES))),
        lambda: docks.set_focus_mode(hands.random() < 0.5),
        lambda: opened.resize(hands.choice((1024, 1400)), hands.choice((700, 900))),
        lambda: docks[hands.choice(names)].close(),
    ]
    for _ in range(200):
        hands.choice(moves)()
        if hands.random() < 0.2:
            QApplication.processEvents()
    opened.resize(1400, 900)
    docks.reset_all()
    docks.switch("build")
    shown = {name for name, dock in docks.all.items() if not dock.isHidden()}
    assert shown == {n for n, dock in docks.all.items() if dock.spec.place("build").shown}
    assert not any(dock.isFloating() for dock in docks.all.values())
    qtbot.waitUntil(lambda: stray_tabs(opened) == [])


def test_a_pane_that_cannot_be_made_says_so_in_its_place(
    qtbot: QtBot, opened: MainWindow, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    dock = opened.docks["log"]
    tries: list[int] = []

    def fail(parent: QWidget) -> None:
        tries.append(1)
        QLabel("half made", parent)
        raise RuntimeError("no such thing")

    monkeypatch.setattr(dock, "_make", fail)
    opened.docks.show("log")
    assert (
        "RuntimeError: no such thing" in dock.pane.findChildren(type(dock.pane._sentence))[1].text()
    )
    qtbot.waitUntil(lambda: not [t for t in dock.findChildren(QLabel) if t.text() == "half made"])
    assert opened.isVisible()


def test_a_pane_says_its_name_again_when_the_tabs_beside_it_are_gone(
    qtbot: QtBot, opened: MainWindow
) -> None:
    qtbot.waitUntil(lambda: opened.is_ready)

    def named(pane: str) -> bool:
        shown = [label.text() for label in opened.docks[pane].header.findChildren(QLabel)
                 if label.isVisible()]  # fmt: skip
        return opened.docks[pane].windowTitle() in shown

    opened.docks.switch("train")
    qtbot.waitUntil(lambda: opened.is_ready)
    assert not named("tensor_map")
    opened.docks["plots"].setFloating(True)
    qtbot.waitUntil(lambda: named("tensor_map") and named("plots"))
    opened.docks["plots"].setFloating(False)
    qtbot.waitUntil(lambda: not named("tensor_map"))
    opened.docks["plots"].close()
    qtbot.waitUntil(lambda: named("tensor_map"))


def test_a_pane_asked_for_at_the_welcome_page_comes_with_the_canvas(window: MainWindow) -> None:
    assert window.is_welcoming
    window.studio.actions.trigger("pane.problems")
    QApplication.processEvents()
    assert not window.is_welcoming
    assert window.docks.is_in_front(window.docks["problems"])
    window.show_welcome()
    window.docks.show("plots")
    assert not window.is_welcoming
    assert window.docks.is_in_front(window.docks["plots"])


def test_the_keyboard_goes_to_the_canvas_when_its_pane_goes_away(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)
    goings: list[tuple[str, Callable[[], object]]] = [
        ("palette", lambda: press("Ctrl+2")),
        ("runs", lambda: press("Ctrl+1")),
        ("palette", lambda: opened.docks["palette"].close()),
        ("outline", lambda: press("Ctrl+Alt+F")),
    ]
    for pane, go in goings:
        opened.docks.show(pane)
        dock = opened.docks[pane]
        qtbot.waitUntil(dock.has_focus)
        go()
        qtbot.waitUntil(lambda d=dock: not d.isVisible())
        qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)


def test_a_pane_that_stays_in_the_next_workspace_keeps_the_keyboard(
    qtbot: QtBot, opened: MainWindow
) -> None:
    opened.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)
    opened.docks.show("outline")
    qtbot.waitUntil(opened.docks["outline"].has_focus)
    press("Ctrl+3")
    QApplication.processEvents()
    assert opened.docks.workspace == "profile"
    assert opened.docks["outline"].has_focus()


def test_the_middle_has_the_keyboard_from_the_start(qtbot: QtBot, opened: MainWindow) -> None:
    opened.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is opened.canvas)
    opened.docks.show("palette")
    searched = QApplication.focusWidget()
    qtbot.waitUntil(searched.isVisible)
    opened.show_canvas()
    assert QApplication.focusWidget() is searched
    opened.show_welcome()
    assert opened.welcome.isAncestorOf(QApplication.focusWidget()) or opened.welcome.hasFocus()


def test_a_field_that_stays_in_sight_keeps_the_keyboard_and_covers_nothing(
    qtbot: QtBot, opened: MainWindow
) -> None:
    docks = opened.docks
    qtbot.waitUntil(lambda: opened.is_ready and not docks.is_settling)
    field = next(
        each for each in docks["inspector"].findChildren(QLineEdit, "field_epochs")
        if each.isVisible()
    )  # fmt: skip
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(field.hasFocus)
    press("Ctrl+3")
    qtbot.waitUntil(lambda: docks.workspace == "profile" and not docks.is_settling)
    assert field.hasFocus()
    press("Ctrl+1")
    qtbot.waitUntil(lambda: docks.workspace == "build" and not docks.is_settling)
    assert field.hasFocus()
