"""The history: every step by name, a click goes there and back, nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from studio.graph_editor.panes.history import HistoryPane, history_rows
from studio.session.document.document import Document
from studio.session.document.edits.layers import collapse, freeze, rename
from studio.session.document.history import History
from studio.session.document.state import DocumentState
from tests.graph_editor.hands import Hands
from tests.session.document.networks import chain
from tests.ui.fixtures import shown

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(hands: Hands) -> Iterator[HistoryPane]:
    made = HistoryPane(hands.studio)
    made.resize(320, 400)
    shown(hands.qtbot, made, active=False)
    yield made
    made.close()
    made.deleteLater()


def three_steps(hands: Hands) -> list[DocumentState]:
    """The states of a document with three steps, the first before any."""
    hands.open(chain(), zoom=0.8)
    states = [hands.state]
    for text, edit in (
        ("Collapse conv2d", lambda s: collapse(s, ["conv2d"])),
        ("Freeze conv2d", lambda s: freeze(s, ["conv2d"])),
        ("Rename dense to head", lambda s: rename(s, "dense", "head")),
    ):
        hands.document.apply(text, edit(hands.state))
        states.append(hands.state)
    return states


def click(pane: HistoryPane, row: int) -> None:
    area = pane.view.visualRect(pane.view.model().index(row, 0))
    QTest.mouseClick(pane.view.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, area.center())


def told(hands: Hands, pane: HistoryPane, *conditions: str) -> None:
    hands.qtbot.waitUntil(lambda: [row.condition for row in pane.rows] == list(conditions))


def test_steps_are_listed_by_name_and_a_click_goes_there(hands: Hands, pane: HistoryPane) -> None:
    assert pane.is_empty
    states = three_steps(hands)
    told(hands, pane, "done", "done", "done", "now")
    assert not pane.is_empty
    assert [row.text for row in pane.rows] == [
        "Start", "Collapse conv2d", "Freeze conv2d", "Rename dense to head",
    ]  # fmt: skip
    for row in (1, 0, 3, 2):
        click(pane, row)
        assert hands.state == states[row]
        told(hands, pane, *["done"] * row, "now", *["undone"] * (3 - row))
        assert pane.view.currentIndex().row() == row
    assert pane.note == "2 of 3"


def test_the_list_follows_undo_redo_and_another_document(hands: Hands, pane: HistoryPane) -> None:
    three_steps(hands)
    told(hands, pane, "done", "done", "done", "now")
    hands.canvas.setFocus()
    hands.key(Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    told(hands, pane, "done", "done", "now", "undone")
    hands.studio.replace(Document(chain()))
    hands.qtbot.waitUntil(lambda: pane.is_empty)
    assert pane.note == ""


def test_enter_goes_to_the_row_the_keys_are_on(hands: Hands, pane: HistoryPane) -> None:
    states = three_steps(hands)
    told(hands, pane, "done", "done", "done", "now")
    pane.activateWindow()
    pane.view.setFocus()
    hands.qtbot.waitUntil(pane.view.hasFocus)
    QTest.keyClick(pane.view, Qt.Key.Key_Up)
    assert hands.state == states[3]
    QTest.keyClick(pane.view, Qt.Key.Key_Up)
    QTest.keyClick(pane.view, Qt.Key.Key_Return)
    assert hands.state == states[1]


def test_where_steps_were_forgotten_the_first_row_does_not_claim_to_be_the_beginning() -> None:
    history = History(chain(), limit=2)
    for _ in range(3):
        history.push("Collapse", collapse(history.state, ["conv2d"]))
    assert [row.text for row in history_rows(history)] == [
        "Oldest kept state", "Collapse", "Collapse",
    ]  # fmt: skip
