"""Tables that go on to the side: what is whole there, and how it is told that there is more."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QTableWidget, QTableWidgetItem
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from studio.widgets.frames.side_fades import FADE, SideFades
from studio.widgets.record_table.column_widths import fit_column
from tests.ui.fixtures import shown

WIDTHS = (100, 60, 70, 80, 90)


@pytest.fixture
def table(qtbot: QtBot, dark: Theme) -> QTableWidget:
    made = QTableWidget(3, len(WIDTHS))
    qtbot.addWidget(made)
    made.verticalHeader().hide()
    made.horizontalHeader().setMinimumSectionSize(1)
    made.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    for place, wide in enumerate(WIDTHS):
        made.setColumnWidth(place, wide)
    made.resize(250, 160)
    shown(qtbot, made)
    return made


def with_room(qtbot: QtBot, table: QTableWidget, room: int) -> None:
    table.resize(table.width() + room - table.viewport().width(), table.height())
    qtbot.waitUntil(lambda: table.viewport().width() == room)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "name", "whole"),
    [
        # All fit, and the name fills what is left.
        (500, 200, 5), (400, 100, 5),
        # With the fade's room as many fit as without.
        (399, 165, 4), (335, 101, 4),
        # The fade would cost a column, which is worth more.
        (333, 123, 4), (310, 100, 4),
        (309, 155, 3), (90, 66, 1),
    ],
)  # fmt: skip
def test_names_take_the_room_that_leaves_the_last_number_whole(
    qtbot: QtBot, table: QTableWidget, room: int, name: int, whole: int
) -> None:
    with_room(qtbot, table, room)
    fit_column(table, 0, 50 if room == 90 else 100)
    assert table.columnWidth(0) == name
    ends = [table.columnViewportPosition(c) + table.columnWidth(c) for c in range(len(WIDTHS))]
    assert sum(end <= room for end in ends) == whole


def test_a_name_need_not_be_wider_than_it_is_long(qtbot: QtBot, table: QTableWidget) -> None:
    with_room(qtbot, table, 500)
    fit_column(table, 0, 50, 120)
    assert table.columnWidth(0) == 120


@pytest.mark.slow
def test_columns_moved_and_hidden_count_as_they_are_seen(qtbot: QtBot, table: QTableWidget) -> None:
    with_room(qtbot, table, 290)
    table.horizontalHeader().moveSection(4, 1)
    table.setColumnHidden(1, True)
    fit_column(table, 0, 100)
    # What was moved to the front stands there with one more, the next begins under the fade.
    assert table.columnWidth(0) + 90 + 70 == 290 - FADE


def test_the_fade_covers_what_is_cut_and_no_number_that_is_whole(
    qtbot: QtBot, table: QTableWidget
) -> None:
    fades = SideFades(table)
    with_room(qtbot, table, 240)
    left, right = fades._ends
    # The third column is seen from 160 to 230, of the fourth 10 pixels.
    assert fades.shown == (False, True)
    assert right.geometry().right() == table.viewport().geometry().right()
    assert right.width() == 10
    with_room(qtbot, table, 300)
    assert right.width() == FADE
    with_room(qtbot, table, 230)
    assert right.width() < 10
    table.horizontalScrollBar().setValue(90)
    assert fades.shown == (True, True)
    assert left.width() == 10
    table.horizontalScrollBar().setValue(table.horizontalScrollBar().maximum())
    assert fades.shown == (True, False)
    table.setColumnWidth(0, 10)
    with_room(qtbot, table, 400)
    assert fades.shown == (False, False)


def test_the_edge_has_the_ground_s_colour_and_takes_no_click(
    qtbot: QtBot, table: QTableWidget, dark: Theme
) -> None:
    for row in range(3):
        for column in range(len(WIDTHS)):
            item = QTableWidgetItem("")
            item.setBackground(QColor("white"))
            table.setItem(row, column, item)
    SideFades(table)
    with_room(qtbot, table, 300)
    at = QPoint(table.viewport().width() - 1, table.rowViewportPosition(1) + 5)
    picture = table.grab().toImage()
    edge = picture.pixelColor(table.viewport().mapTo(table, at))
    inside = picture.pixelColor(table.viewport().mapTo(table, at - QPoint(FADE + 5, 0)))
    assert inside == QColor("white")
    assert max(edge.getRgb()[:3]) < 60
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert table.currentRow() == 1
    assert table.childAt(table.viewport().mapTo(table, at)) is table.viewport()
