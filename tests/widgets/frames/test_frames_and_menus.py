"""Pane frames, empty states, menus from the action table, and contexts for keys."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMenu, QPushButton, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core.action_table import Action, ActionRegistry, ActionTable
from studio.session.core.theme import Theme
from studio.widgets import contexts
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import FrameHeader, PaneFrame
from studio.widgets.keys import with_keys
from studio.widgets.menus import menu_of
from tests.ui.fixtures import shown


@pytest.fixture
def frame(qtbot: QtBot, dark: Theme) -> Iterator[PaneFrame]:
    window = QWidget()
    made = PaneFrame(linkable=True, parent=window)
    made.set_body(QLabel("body"))
    column = QVBoxLayout(window)
    column.addWidget(FrameHeader(made, "Inspector", "inspector"))
    column.addWidget(made)
    qtbot.addWidget(window)
    window.resize(320, 400)
    with qtbot.waitExposed(window, timeout=60_000):
        window.show()
    yield made
    window.close()


def header_of(frame: PaneFrame) -> FrameHeader:
    found = frame.window().findChild(FrameHeader)
    assert found is not None
    return found


def test_pinning_by_the_chain_button_is_told_and_shown(qtbot: QtBot, frame: PaneFrame) -> None:
    told: list[bool] = []
    frame.pin_changed.connect(told.append)
    chain = header_of(frame).findChild(QToolButton, "chain")
    qtbot.mouseClick(chain, Qt.MouseButton.LeftButton)
    assert frame.pinned
    assert "Pinned" in chain.toolTip()
    frame.set_pinned(False)
    assert not chain.isChecked()
    assert told == [True, False]


def test_a_remark_stands_behind_the_title(qtbot: QtBot, frame: PaneFrame) -> None:
    frame.set_note("3 of 7")
    labels = header_of(frame).findChildren(QLabel)
    assert "Inspector" in [label.text() for label in labels]
    # The header is laid out once the window's events are handled.
    qtbot.waitUntil(lambda: "3 of 7" in [label.text() for label in labels], timeout=60_000)


def test_tools_added_late_stand_in_the_header(qtbot: QtBot, frame: PaneFrame) -> None:
    tool = QToolButton()
    frame.add_tool(tool)
    assert header_of(frame).isAncestorOf(tool)


@pytest.mark.slow
def test_panes_that_do_not_follow_have_no_chain(qtbot: QtBot, dark: Theme) -> None:
    frame = PaneFrame()
    qtbot.addWidget(frame)
    header = FrameHeader(frame, "Log")
    qtbot.addWidget(header)
    assert header.findChild(QToolButton, "chain") is None
    frame.set_pinned(True)
    assert not frame.pinned


def test_empty_states_come_and_go(qtbot: QtBot, frame: PaneFrame) -> None:
    ran: list[int] = []
    frame.show_empty(EmptyState("plots", "No run yet", "Why", ("Train", lambda: ran.append(1))))
    assert frame.is_empty
    button = frame.findChild(QPushButton, "empty_action")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert ran == [1]
    frame.show_empty(None)
    assert not frame.is_empty


def test_long_explanations_of_empty_states_are_not_cut(qtbot: QtBot, frame: PaneFrame) -> None:
    frame.window().resize(240, 400)
    empty = EmptyState("plots", "No run yet", "Every training start is kept here. " * 4)
    frame.show_empty(empty)
    label = next(each for each in empty.findChildren(QLabel) if each.text().startswith("Every"))
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()) > 40)


@pytest.mark.parametrize("height", [72, 96, 120, 180, 300])
def test_empty_states_never_cut_a_line(qtbot: QtBot, dark: Theme, height: int) -> None:
    pane = QWidget()
    pane.resize(240, 300)
    qtbot.addWidget(pane)
    empty = EmptyState(
        "plots", "Every run is here", "Settings, curves and weights, to compare and to go on with.",
        ("Train", lambda: None), pane,
    )  # fmt: skip
    empty.setGeometry(0, 0, 240, height)
    shown(qtbot, pane)
    sentence, explanation = empty.findChildren(QLabel)
    qtbot.waitUntil(lambda: all(
        label.isHidden() or label.height() >= label.heightForWidth(label.width())
        for label in (sentence, explanation)
    ))  # fmt: skip
    assert not sentence.isHidden()
    assert explanation.isHidden() or height > 72
    assert height < 180 or not explanation.isHidden()
    assert empty.toolTip() == (explanation.text() if explanation.isHidden() else "")


@pytest.fixture
def registry() -> ActionRegistry:
    made = ActionRegistry()
    made.declare(
        ActionTable(
            2,
            Action("graph.layout", "Lay out", "Arranges layers.", run=lambda _: None),
        )
    )
    return made


def test_menus_show_keys_reasons_and_checks(qtbot: QtBot, registry: ActionRegistry) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    ran: list[str] = []
    table: ActionTable[list[str]] = ActionTable(
        1,
        Action(
            "edit.undo", "Undo", "Takes the last step back.", ("Ctrl+Z",), "Edit",
            run=lambda ran: ran.append("undo"),
        ),
        Action(
            "graph.bypass", "Bypass", "Passes data on.", ("M",),
            run=lambda ran: ran.append("bypass"), enabled=lambda _: "nothing is selected",
            checked=lambda _: True,
        ),
    )  # fmt: skip
    registry.attach(table, ran)
    menu = menu_of(
        registry, ["edit.undo", None, ("More", ["graph.bypass", "graph.layout"])], parent
    )
    undo, line, more = menu.actions()
    assert undo.text() == "Undo\tCtrl+Z"
    assert undo.shortcut().isEmpty()
    assert line.isSeparator()
    inside = QMenu.menuInAction(more).actions()
    assert not inside[0].isEnabled()
    assert inside[0].isChecked()
    assert "Nothing is selected." in inside[0].toolTip()
    assert not inside[1].isEnabled()
    undo.trigger()
    assert ran == ["undo"]


@pytest.mark.slow
def test_contexts_hold_widgets_weakly(qtbot: QtBot) -> None:
    outer = QWidget()
    qtbot.addWidget(outer)
    inner = QWidget(outer)
    told: list[tuple[str, QWidget]] = []

    def hear(context: str, widget: QWidget) -> None:
        told.append((context, widget))

    contexts.registered.connect(hear)
    contexts.register("listing", outer)
    contexts.register("listing", outer)
    assert told == [("listing", outer)]
    assert contexts.context_of(inner) == "listing"
    assert contexts.context_of(None) == "window"
    gone = QWidget()
    contexts.register("plot", gone)
    told.clear()
    del gone
    gc.collect()
    assert contexts.members("plot") == ()


def test_keys_stand_behind_a_tip() -> None:
    assert with_keys("Save", ("Ctrl+S",)) == "Save (Ctrl+S)"
    assert with_keys("Redo", ("Ctrl+Shift+Z", "Ctrl+Y")) == "Redo (Ctrl+Shift+Z or Ctrl+Y)"
    assert with_keys("Plain", ()) == "Plain"
