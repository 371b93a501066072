"""Tables of records: one model, told of by difference, and one way to set up a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QStyle,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.session.core.theme import Theme
from studio.widgets.record_table.columns import Column, Edit, Tick
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import CellPainter, RecordList, RecordTable
from tests.ui.fixtures import shown

DOWN, UP = Qt.SortOrder.DescendingOrder, Qt.SortOrder.AscendingOrder


@dataclass(frozen=True)
class Planet:
    name: str
    radius: float | None = None
    is_seen: bool = False


PLANETS = (
    Planet("Mercury", 2439.7), Planet("Venus", 6051.8), Planet("Earth", 6371.0),
    Planet("Vulcan"), Planet("Mars", 3389.5), Planet("Theia"),
)  # fmt: skip


class Dot(CellPainter[Planet]):
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        found = self.record(index)
        assert found is not None
        painter.fillRect(option.rect, Qt.GlobalColor.red)


def columns(**changes: object) -> tuple[Column[Planet], ...]:
    radius = Column[Planet](
        "radius", "Radius", lambda p: "" if p.radius is None else f"{p.radius:.0f}", tip="In km.",
        exact=lambda p: str(p.radius), order=lambda p: p.radius, is_number=True,
    )  # fmt: skip
    return (
        Column("name", "Name", lambda p: p.name, order=lambda p: p.name, is_fixed=True),
        replace(radius, **changes),  # type: ignore[arg-type]
        Column("seen", "", lambda p: "", name="Seen", is_copied=False, painter=Dot),
    )


def model(*records: Planet, keyed: bool = True, **options: object) -> RecordModel[Planet]:
    made = RecordModel(columns(), key=(lambda p: p.name) if keyed else None, **options)  # type: ignore[arg-type]
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Warning, made)
    made.take(records)
    return made


class Told:
    """What a model tells its views, in words."""

    def __init__(self, made: RecordModel[Planet]) -> None:
        self.words: list[str] = []
        made.dataChanged.connect(
            lambda a, b: self.words.append(f"{a.row()}-{b.row()} of {a.column()}-{b.column()}")
        )
        made.rowsInserted.connect(lambda _p, a, b: self.words.append(f"in {a}-{b}"))
        made.rowsRemoved.connect(lambda _p, a, b: self.words.append(f"out {a}-{b}"))
        made.layoutChanged.connect(lambda: self.words.append("moved"))
        made.modelReset.connect(lambda: self.words.append("reset"))

    def take(self) -> list[str]:
        found, self.words = self.words, []
        return found


def names(made: RecordModel[Planet]) -> list[str]:
    return [made.at(row).data() for row in range(made.rowCount())]


def test_records_given_again_are_told_of_where_they_differ(qtbot: QtBot) -> None:
    made = model(*PLANETS)
    told = Told(made)
    made.take([replace(each) for each in PLANETS])
    assert told.take() == []
    made.take([replace(p, radius=1.0) if n in (1, 2, 4) else p for n, p in enumerate(PLANETS)])
    assert told.take() == ["1-2 of 0-2", "4-4 of 0-2"]
    assert made.at(4, "radius").data() == "1"
    made.take(PLANETS[:3])
    assert told.take() == ["reset"]
    made.take(PLANETS)
    assert told.take() == ["in 3-5"]
    made.take((*PLANETS[2:], Planet("Ceres")))
    assert told.take() == ["out 0-1", "in 4-4"]
    made.take(tuple(reversed(made.rows)))
    assert told.take() == ["moved"]
    made.take(())
    made.take(())
    assert told.take() == ["reset"]


@pytest.mark.slow
def test_without_a_key_other_records_begin_from_the_top(qtbot: QtBot) -> None:
    made = model(*PLANETS, keyed=False)
    told = Told(made)
    made.take(PLANETS)
    assert told.take() == ["reset"]


def test_rows_whose_face_changed_are_told_of_though_their_records_are_the_same(
    qtbot: QtBot,
) -> None:
    seen: set[str] = set()
    made = model(*PLANETS, keyed=False, face=lambda p: p.name in seen)
    told = Told(made)
    made.refresh()
    assert told.take() == []
    seen.update(("Venus", "Mars"))
    made.refresh("radius", "seen")
    assert told.take() == ["1-1 of 1-2", "4-4 of 1-2"]


def test_sorting_is_stable_and_rows_without_a_value_come_last(qtbot: QtBot) -> None:
    made = model(*PLANETS, says_order=True)
    made.sort(1, DOWN)
    assert names(made) == ["Earth", "Venus", "Mars", "Mercury", "Vulcan", "Theia"]
    assert made.order == ("radius", True)
    across = Qt.Orientation.Horizontal
    assert made.headerData(1, across) == "\u25be Radius"
    made.sort(1, UP)
    assert names(made) == ["Mercury", "Mars", "Venus", "Earth", "Vulcan", "Theia"]
    made.take((*PLANETS[:-1], Planet("Theia", 3000.0)))
    assert names(made) == ["Mercury", "Theia", "Mars", "Venus", "Earth", "Vulcan"]
    made.sort(-1)
    assert names(made) == [each.name for each in PLANETS]
    assert made.headerData(1, across) == "Radius"


class Lazy(Sequence[Planet]):
    """A hundred thousand records made when they are asked for."""

    def __init__(self) -> None:
        self.asked: set[int] = set()

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        if not 0 <= place < len(self):
            raise IndexError(place)
        self.asked.add(place)
        return Planet(f"planet {place}", float(place))


@pytest.fixture
def table(qtbot: QtBot, dark: Theme) -> RecordTable:
    made = RecordTable(model(*PLANETS), "planets", "Planets")
    made.copies_rows = True
    made.offer_columns()
    qtbot.addWidget(made)
    made.resize(400, 240)
    shown(qtbot, made)
    return made


@pytest.mark.slow
def test_only_rows_in_sight_are_asked_for(qtbot: QtBot, dark: Theme) -> None:
    made = RecordTable(RecordModel(columns()), "planets", "Planets")
    qtbot.addWidget(made)
    made.resize(400, 240)
    shown(qtbot, made)
    records = Lazy()
    made.entries.take(records)
    made.grab()
    made.scrollToBottom()
    made.grab()
    assert {0, 99_999} <= records.asked
    assert len(records.asked) < 60


def test_choice_and_caret_go_with_their_records(table: RecordTable) -> None:
    table.setColumnHidden(1, True)
    table.choose([2, 4])
    table.setCurrentIndex(table.entries.at(4))
    table.entries.sort(0, DOWN)
    chosen = [table.entries.rows[row].name for row in table.chosen_rows()]
    assert table.entries.rows[table.currentIndex().row()].name == "Mars"
    assert "Mars" in chosen
    table.entries.keep(lambda p: p.radius is None or p.name == "Mars")
    assert names(table.entries) == ["Vulcan", "Theia", "Mars"]
    assert table.entries.rows[table.currentIndex().row()].name == "Mars"
    # Its first row is gone, by which Qt tells hidden columns.
    assert table.isColumnHidden(1)
    table.entries.keep(lambda p: p.name == "Earth")
    assert not table.currentIndex().isValid()
    assert table.isColumnHidden(1)
    table.entries.keep(None)
    assert len(names(table.entries)) == len(PLANETS)


def test_rows_are_copied_as_text_with_the_columns_shown(table: RecordTable) -> None:
    table.choose([3, 1])
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert copied.split("\n") == ["Name\tRadius", "Venus\t6051.8", "Vulcan\tNone"]
    table.clearSelection()
    table.show_column("radius", False)
    assert table.copied().split("\n") == ["Name", *(each.name for each in PLANETS)]


def test_columns_are_chosen_by_their_menu(table: RecordTable) -> None:
    menu = table.column_menu(table)
    actions = {each.objectName(): each for each in menu.actions()}
    assert [each.text() for each in menu.actions()] == ["Name", "Radius", "Seen"]
    assert not actions["column.name"].isEnabled()
    actions["column.radius"].trigger()
    assert table.shown_columns() == ("name", "seen")
    table.show_column("name", False)
    assert table.shown_columns() == ("name", "seen")
    menu.deleteLater()


@pytest.mark.slow
def test_a_painter_belongs_to_its_column_also_when_columns_change(table: RecordTable) -> None:
    def is_red(column: str) -> bool:
        middle = table.visualRect(table.entries.at(1, column)).center()
        colour = table.viewport().grab().toImage().pixelColor(middle)
        return colour == Qt.GlobalColor.red

    assert [is_red(key) for key in ("name", "radius", "seen")] == [False, False, True]
    table.entries.take(PLANETS, tuple(reversed(columns())))
    assert [is_red(key) for key in ("name", "radius", "seen")] == [False, False, True]


def test_texts_without_a_box_begin_where_those_behind_boxes_do(qtbot: QtBot, dark: Theme) -> None:
    tick = Tick[Planet](lambda p: True, lambda p, on: None, lambda p: p.name != "Venus",
                        lambda p: p.name != "Venus")  # fmt: skip
    column: Column[Planet] = Column("name", "Name", lambda p: p.name, tick=tick)
    entries = RecordModel((column,))
    entries.take(PLANETS)
    made = RecordTable(entries, "planets", "Planets")
    qtbot.addWidget(made)
    shown(qtbot, made)
    lefts = []
    for row in (0, 1):
        option = QStyleOptionViewItem()
        option.rect = made.visualRect(entries.at(row))
        made.itemDelegate().initStyleOption(option, entries.at(row))
        text = QStyle.SubElement.SE_ItemViewItemText
        lefts.append(made.style().subElementRect(text, option, made).left())
        assert lefts[-1] > option.rect.left() + 10
    assert abs(lefts[0] - lefts[1]) <= 2


def test_boxes_are_ticked_and_texts_written_by_the_user(qtbot: QtBot, dark: Theme) -> None:
    ticks: list[tuple[str, bool]] = []
    texts: list[tuple[str, str]] = []
    tick = Tick[Planet](
        lambda p: p.is_seen, lambda p, on: ticks.append((p.name, on)), lambda p: p.name != "Venus"
    )
    edit = Edit[Planet](lambda p: p.name.lower(), lambda p, text: texts.append((p.name, text)))
    column: Column[Planet] = Column("name", "Name", lambda p: p.name, tick=tick, edit=edit)
    entries = RecordModel((column,))
    entries.take(PLANETS)
    made = RecordTable(entries, "planets", "Planets")
    made.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
    qtbot.addWidget(made)
    shown(qtbot, made)
    for row in (0, 1):
        box = made.visualRect(entries.at(row)).topLeft() + QPoint(10, made.rowHeight(row) // 2)
        QTest.mouseClick(made.viewport(), Qt.MouseButton.LeftButton, pos=box)
    assert ticks == [("Mercury", True)]
    QTest.keyClick(made, Qt.Key.Key_F2)
    field = made.findChild(QLineEdit)
    assert field is not None
    assert field.text() == "venus"
    QTest.keyClicks(field, "hesperus")
    QTest.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts == [("Venus", "hesperus")])


def test_tab_leaves_a_table(qtbot: QtBot, dark: Theme) -> None:
    box = QWidget()
    made = RecordTable(model(*PLANETS), "planets", "Planets", box)
    field = QLineEdit(box)
    column = QVBoxLayout(box)
    column.addWidget(made)
    column.addWidget(field)
    qtbot.addWidget(box)
    box.show()
    box.activateWindow()
    made.setFocus()
    qtbot.waitUntil(made.hasFocus)
    QTest.keyClick(made, Qt.Key.Key_Tab)
    assert field.hasFocus()


def test_headings_have_their_font_in_every_theme(qtbot: QtBot, dark: Theme) -> None:
    def heading(made: RecordModel[Planet]) -> RecordTable:
        table = RecordTable(made, "planets", "Planets", font="small")
        qtbot.addWidget(table)
        shown(qtbot, table)
        return table

    plain, large = heading(model()), heading(model(heading="large"))
    high = large.horizontalHeader().sizeHint().height()
    for mode in ("dark", "light", "dark"):
        dark.choose(mode)
        assert large.horizontalHeader().sizeHint().height() == high
        assert plain.horizontalHeader().sizeHint().height() < high


@pytest.mark.slow
def test_a_list_shows_the_first_column(qtbot: QtBot, dark: Theme) -> None:
    made = RecordList(model(*PLANETS), "planets", "Planets")
    qtbot.addWidget(made)
    shown(qtbot, made)
    made.go_to(2)
    assert made.row == 2
    assert made.currentIndex().data() == "Earth"


def test_rows_move_only_where_what_they_are_sorted_by_asks_for_it(qtbot: QtBot) -> None:
    radius = {each.name: float(n) for n, each in enumerate(PLANETS)}
    cells = columns(order=lambda p: radius[p.name], text=lambda p: str(radius[p.name]))
    made = RecordModel(cells, face=lambda p: radius[p.name])
    made.take(PLANETS)
    made.sort(1, DOWN)
    told = Told(made)
    radius["Vulcan"] = 3.5
    made.refresh("radius")
    assert told.take() == ["2-2 of 1-1"]
    radius["Vulcan"] = 4.5
    made.refresh("name")
    assert told.take() == ["2-2 of 0-0"]
    radius["Mercury"] = 9.0
    made.refresh("radius")
    assert told.take() == ["moved"]
    assert names(made) == ["Mercury", "Theia", "Vulcan", "Mars", "Earth", "Venus"]
