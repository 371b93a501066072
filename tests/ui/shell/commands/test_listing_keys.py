"""The keys of the listing in the whole window: each does its one thing, and none in a field."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.instruction_view.listing import actions as listing_actions
from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.path_bar import actions as path_actions
from studio.ui.shell.window import MainWindow
from tests.ui.shell.driving import press

KEYS = (
    ("G", "listing.goto"),
    ("Ctrl+F", "listing.find"),
    ("F3", "listing.find_next"),
    ("Shift+F3", "listing.find_previous"),
    ("Alt+Left", "listing.back"),
    ("Esc", "listing.back"),
    ("Alt+Right", "listing.forward"),
    ("P", "listing.producer"),
    ("X", "listing.uses"),
    ("Shift+X", "listing.pin_uses"),
    ("N", "listing.name"),
    (";", "listing.comment"),
    ("Ctrl+Right", "listing.next_register"),
    ("Ctrl+Left", "listing.previous_register"),
    ("Return", "listing.reveal"),
    ("Space", "listing.show"),
    ("I", "listing.level_down"),
    ("Shift+I", "listing.level_up"),
    ("Left", "listing.fold"),
    ("Right", "listing.unfold"),
    ("Ctrl+C", "listing.copy"),
    ("Ctrl+Shift+C", "listing.copy_table"),
    ("Ctrl+B", "view.baseline"),
    ("Alt+1", "go.layer"),
    ("Alt+2", "go.instruction"),
    ("Alt+3", "go.tensor"),
    ("Alt+4", "go.kernel"),
)


@pytest.fixture
def pane(qtbot: QtBot, opened: MainWindow) -> ListingPane:
    qtbot.waitUntil(lambda: opened.studio.compilation.shown is not None)
    opened.docks.show("listing").ensure()
    found = opened.findChild(ListingPane)
    assert found is not None
    qtbot.waitUntil(found.view.isVisible)
    return found


def stand(pane: ListingPane) -> None:
    """The caret on a line with registers, having come from another."""
    pane.search.hide()
    pane.show_level("instructions")
    rows = pane.listing.rows
    assert rows is not None
    row = next(i for i in range(len(rows)) if rows.mnemonic(i).startswith("LINEAR"))
    pane.view.go_to_row(len(rows) - 1)
    pane.view.go_to_row(row)
    pane.view.go_to_row(0)
    pane.view.go_back()
    pane.view.setFocus()


def test_every_key_of_the_listing_does_its_one_thing(opened: MainWindow, pane: ListingPane) -> None:
    done: list[str] = []
    listener = lambda action_id: done.append(action_id)  # noqa: E731
    opened.studio.actions.triggered.connect(listener)
    for keys, action_id in KEYS:
        stand(pane)
        done.clear()
        press(keys, pane.view)
        assert done == [action_id], keys


def test_the_table_of_keys_is_whole() -> None:
    given = {
        (key, spec.id)
        for spec in (*listing_actions.ACTIONS, *path_actions.ACTIONS)
        for key in spec.keys
    }
    assert given - set(KEYS) == {("Enter", "listing.reveal")}


def test_in_the_field_letters_are_letters(opened: MainWindow, pane: ListingPane) -> None:
    stand(pane)
    press("G", pane.view)
    done: list[str] = []
    listener = lambda action_id: done.append(action_id)  # noqa: E731
    opened.studio.actions.triggered.connect(listener)
    QTest.keyClicks(pane.search.field, "gxpni; X")
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Space):
        QTest.keyClick(pane.search.field, key)
    assert pane.search.field.text() == "gxpni; X "
    assert done == []
