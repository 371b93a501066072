"""The table of the tensor map: its columns, and what is seen of tensors in them."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QResizeEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.engine.core.tensor import Ref
from studio.instruction_view.tensor_map import tensor_table
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.session.core import entities
from studio.session.listing.tensor_map.columns import (
    TENSOR_COLUMNS,
    Extremes,
    TensorColumnKey,
    tensor_cell,
)
from studio.session.listing.tensor_map.rows import TensorRow
from studio.session.studio import Studio
from studio.widgets import theme
from studio.widgets.frames.side_fades import FADE
from tests.ui.painted import Painted


@pytest.fixture
def pane(tensor_map: TensorMapPane) -> TensorMapPane:
    return tensor_map


def tensor_ref(pane: TensorMapPane, key: str) -> Ref:
    return next(row.ref for row in pane.table.shown if row.key == key)


def test_a_row_is_brought_into_sight_without_moving_the_columns(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    pane.resize(420, 260)
    across = pane.table.horizontalScrollBar()
    qtbot.waitUntil(lambda: across.maximum() > 0)
    for name in ("digit/bias/v", "input/output", "conv2/kernel"):
        studio.bus.select([entities.tensor(name)], source="canvas")
        assert pane.table.is_in_sight(pane.table.currentIndex())
        assert across.value() == 0


@pytest.mark.slow
def test_columns_sort_by_what_they_mean(pane: TensorMapPane) -> None:
    columns = {each.title: place for place, each in enumerate(pane.table.entries.columns)}
    pane.table.sortByColumn(columns["Bytes"], Qt.SortOrder.DescendingOrder)
    sizes = [row.nbytes for row in pane.table.shown if row.nbytes is not None]
    assert sizes == sorted(sizes, reverse=True)
    pane.table.sortByColumn(columns["Register"], Qt.SortOrder.AscendingOrder)
    refs = [row.ref for row in pane.table.shown]
    assert refs == sorted(refs)
    pane.table.sortByColumn(columns["Name"], Qt.SortOrder.AscendingOrder)
    names = [row.key for row in pane.table.shown]
    assert names == sorted(names)


def test_the_arrow_of_the_sorted_column_stands_beside_its_title(
    pane: TensorMapPane, qtbot: QtBot
) -> None:
    table, header = pane.table, pane.table.horizontalHeader()
    pane.resize(1200, 400)
    place = table.entries.place_of("bytes")
    at = QPoint(header.sectionViewportPosition(place) + 6, header.height() // 2)
    for arrow in ("▴", "▾", "▴"):
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        title = table.entries.headerData(place, Qt.Orientation.Horizontal)
        assert title == f"{arrow} Bytes"
        # One that Qt draws would lie over the title, which is on the right.
        assert not header.isSortIndicatorShown()
        room = header.fontMetrics().horizontalAdvance(title)
        qtbot.waitUntil(lambda room=room: header.sectionSize(place) >= room, timeout=60_000)


def test_a_copied_table_has_exact_bytes(pane: TensorMapPane) -> None:
    lines = pane.table.copied().splitlines()
    assert len(lines) == 1 + len(pane.table.shown)
    place = lines[0].split("\t").index("Bytes")
    for line, row in zip(lines[1:], pane.table.shown, strict=True):
        assert line.split("\t")[place] == ("" if row.nbytes is None else str(row.nbytes))


def test_ctrl_c_copies_whole_rows(pane: TensorMapPane) -> None:
    first = pane.table.row_of(tensor_ref(pane, "conv1/kernel")).row()
    pane.table.selectRow(first)
    QTest.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    head, *lines = QGuiApplication.clipboard().text().splitlines()
    assert head.split("\t")[:2] == ["Register", "Name"]
    assert [line.split("\t")[1] for line in lines] == [pane.table.shown[first].key]


def test_letters_lead_to_names_whatever_column_the_caret_is_in(
    studio: Studio, pane: TensorMapPane
) -> None:
    pane.table.setCurrentIndex(pane.table.model().index(0, 0))
    QTest.keyClicks(pane.table, "digit/k")
    assert pane.table.shown[pane.table.currentIndex().row()].key.startswith("digit/k")
    assert studio.bus.selection.primary is not None
    assert studio.bus.selection.primary.key.startswith("digit/k")


def test_columns_are_chosen_from_the_heading(pane: TensorMapPane) -> None:
    keys = [column.key for column in TENSOR_COLUMNS]
    menu = pane.table.column_menu()
    actions = {action.objectName(): action for action in menu.actions()}
    assert not actions["tensor_map.column.name"].isEnabled()
    actions["tensor_map.column.dtype"].trigger()
    assert pane.table.isColumnHidden(keys.index("dtype"))
    actions["tensor_map.column.least"].trigger()
    pane.take_seen()
    assert not pane.table.isColumnHidden(keys.index("least"))
    menu.deleteLater()


@pytest.mark.slow
def test_what_live_views_have_seen_stands_in_the_table(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    columns = [column.key for column in TENSOR_COLUMNS]
    view = studio.live.open(entities.tensor("conv1/kernel"))
    view.want(active=True)
    qtbot.waitUntil(lambda: view.frame is not None)
    qtbot.waitUntil(lambda: not pane.table.isColumnHidden(columns.index("least")))
    assert view.frame is not None
    values = view.frame.snapshot.array()
    index = pane.table.row_of(tensor_ref(pane, "conv1/kernel"))
    cells = {
        key: pane.table.model().index(index.row(), place).data().strip()
        for place, key in enumerate(columns)
    }
    assert float(cells["least"]) == pytest.approx(float(values.min()), rel=1e-3)
    assert float(cells["greatest"]) == pytest.approx(float(values.max()), rel=1e-3)
    assert cells["nan"] == "0"
    view.close()


def test_a_tensor_seen_anew_paints_its_own_cells_and_no_more(pane: TensorMapPane) -> None:
    table = pane.table
    live = [place for place, column in enumerate(TENSOR_COLUMNS) if column.is_live]
    pane.resize(900, 500)
    pane._look.set_on(False)
    keys = [row.key for row in table.shown[:3]]
    table.take_seen({key: Extremes(-1.0, 1.0, 0, 1) for key in keys})
    told: list[tuple[int, int, int, int]] = []
    table.model().dataChanged.connect(
        lambda first, last: told.append((first.row(), first.column(), last.row(), last.column()))
    )
    painted = Painted(table.viewport())
    table.take_seen({key: Extremes(-1.0, 1.0, 0, 1) for key in keys})
    assert told == []
    assert painted.take() == []
    table.take_seen({key: Extremes(-1.0, 1.0 + (key == keys[1]), 0, 1) for key in keys})
    assert told == [(1, live[0], 1, live[-1])]
    # Those columns are out of sight.
    assert painted.take() == []
    table.horizontalScrollBar().setValue(table.horizontalHeader().sectionPosition(live[0]))
    painted.take()
    table.take_seen({key: Extremes(-1.0, 1.0 + 2 * (key == keys[1]), 0, 1) for key in keys})
    row = table.visualRect(table.model().index(1, live[0]))
    parts = painted.take()
    assert parts
    assert all(part.top() >= row.top() - 1 for part in parts)
    assert all(part.bottom() <= row.bottom() + 1 for part in parts)
    assert table.model().index(1, live[1]).data().strip() == "3"


def test_copied_rows_tell_at_which_step_a_tensor_was_looked_at(pane: TensorMapPane) -> None:
    pane._look.set_on(False)
    first, second, third = (row.key for row in pane.table.shown[:3])
    pane.table.take_seen({first: Extremes(-1.0, 2.0, 0, 120), second: Extremes(None, None, 4, 7)})
    head, *lines = (line.split("\t") for line in pane.table.copied().splitlines())
    begin = head.index("Min")
    end = begin + 4
    assert head[begin:end] == ["Min", "Max", "NaN", "Step"]
    assert [line[begin:end] for line in lines[:3]] == [
        ["-1", "2", "0", "120"], ["", "", "4", "7"], ["", "", "", ""],
    ]  # fmt: skip
    assert third == pane.table.shown[2].key


def test_a_view_that_nobody_sees_tells_nothing_of_its_tensor(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    pane._look.set_on(False)
    pane.table.take_seen({})
    least = [column.key for column in TENSOR_COLUMNS].index("least")
    index = pane.table.row_of(tensor_ref(pane, "conv1/kernel"))

    def cell() -> str:
        return str(pane.table.model().index(index.row(), least).data()).strip()

    for each in TENSOR_COLUMNS:
        if each.is_live:
            pane.table.show_column(each.key, False)
    view = studio.live.open(entities.tensor("conv1/kernel"))
    view.want(active=True)
    qtbot.waitUntil(lambda: view.frame is not None)
    pane._survey.forget()
    pane.take_seen()
    assert cell()
    # Its picture stays what it was, while the tensor changes.
    view.want(active=False)
    pane.take_seen()
    assert not cell()
    view.close()


@pytest.mark.slow
def test_a_tensor_seen_anew_takes_its_place_where_rows_are_sorted_by_that(
    pane: TensorMapPane,
) -> None:
    table = pane.table
    pane._look.set_on(False)
    greatest = [column.key for column in TENSOR_COLUMNS].index("greatest")
    keys = [row.key for row in table.shown[:3]]
    table.take_seen({key: Extremes(0.0, float(n), 0, 1) for n, key in enumerate(keys)})
    table.sortByColumn(greatest, Qt.SortOrder.AscendingOrder)
    assert [row.key for row in table.shown[:3]] == keys
    table.take_seen({key: Extremes(0.0, 9.0 - n, 0, 1) for n, key in enumerate(keys)})
    assert [row.key for row in table.shown[:3]] == keys[::-1]


@pytest.mark.slow
def test_tensors_in_sight_are_looked_at_in_turn_without_being_watched(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    column = [each.key for each in TENSOR_COLUMNS].index("greatest")
    # Wide enough that the columns with what is seen are in sight.
    pane.resize(1800, 1500)

    def greatest(name: str) -> str:
        index = pane.table.row_of(tensor_ref(pane, name))
        return str(pane.table.model().index(index.row(), column).data()).strip()

    resting = studio.live.resting
    assert resting is not None
    for name in ("digit/kernel", "conv1/kernel"):
        pane.table.scrollTo(pane.table.row_of(tensor_ref(pane, name)))
        qtbot.waitUntil(lambda n=name: bool(greatest(n)))
        values = resting.read(name)
        assert values is not None
        assert float(greatest(name)) == pytest.approx(float(values.max()), rel=1e-2)
    pane.hide()
    assert pane._survey.wanted == ()


@pytest.mark.slow
def test_tensors_are_not_looked_at_for_columns_out_of_sight(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    table, bar = pane.table, pane.table.horizontalScrollBar()
    greatest = [each.key for each in TENSOR_COLUMNS].index("greatest")
    # The columns appear with the first look, beyond the right edge.
    pane.resize(360, 900)
    qtbot.waitUntil(lambda: not table.isColumnHidden(greatest))
    qtbot.waitUntil(lambda: table.columnViewportPosition(greatest) > table.viewport().width())
    qtbot.waitUntil(lambda: table.keys_wanted() == ())
    pane._look.set_on(False)
    pane.take_seen()
    assert pane._survey.wanted == ()
    # Rows in order of what was seen have to be kept in order.
    table.sortByColumn(greatest, Qt.SortOrder.AscendingOrder)
    assert table.keys_wanted()
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert table.keys_wanted() == ()
    # The columns up to the first that is live are in sight, and of that one all but its digits.
    least = [each.is_live for each in TENSOR_COLUMNS].index(True)
    end = table.horizontalHeader().sectionPosition(least) + table.columnWidth(least)
    bar.setValue(end - table.viewport().width() - 4)
    assert 0 < table.columnViewportPosition(least) < table.viewport().width()
    assert table.keys_wanted() == ()
    bar.setValue(table.horizontalHeader().sectionPosition(greatest))
    assert table.keys_wanted()
    pane.take_seen()
    assert pane._survey.wanted == table.keys_wanted()
    for each in TENSOR_COLUMNS:
        if each.is_live:
            table.show_column(each.key, False)
    assert table.keys_wanted() == ()


def width_of_all(pane: TensorMapPane, *keys: str) -> int:
    table = pane.table
    places = [place for place, column in enumerate(TENSOR_COLUMNS) if column.key in keys]
    return sum(table.columnWidth(place) for place in places if not table.isColumnHidden(place))


def settle(qtbot: QtBot, pane: TensorMapPane, wide: int) -> None:
    """A pane higher than wide has the table under the picture, as wide as the pane."""
    pane.resize(wide, max(900, wide + 200))
    table = pane.table
    pane.table.take_seen({row.key: Extremes(-1.0, 1.0, 0, 1) for row in table.shown[:3]})
    qtbot.waitUntil(lambda: wide - 40 <= table.viewport().width() <= wide)


@pytest.mark.slow
def test_what_is_seen_of_tensors_is_in_sight_in_a_pane_of_usual_width(
    pane: TensorMapPane, qtbot: QtBot
) -> None:
    settle(qtbot, pane, 680)
    table = pane.table
    for place, column in enumerate(TENSOR_COLUMNS):
        if column.is_live:
            assert not table.isColumnHidden(place)
            end = table.columnViewportPosition(place) + table.columnWidth(place)
            assert end <= table.viewport().width()


@pytest.mark.slow
@pytest.mark.parametrize("wide", range(300, 900, 75))
def test_the_last_number_in_sight_is_whole(pane: TensorMapPane, qtbot: QtBot, wide: int) -> None:
    settle(qtbot, pane, wide)
    table, room = pane.table, pane.table.viewport().width()
    cut = []
    for place, column in enumerate(TENSOR_COLUMNS):
        begin = table.columnViewportPosition(place)
        if not table.isColumnHidden(place) and begin < room < begin + table.columnWidth(place):
            cut.append(column.key)
            # It begins under the fade.
            assert begin >= room - FADE
    assert len(cut) <= 1
    assert table.fades.shown == (False, True)


def test_names_have_the_room_that_numbers_leave(pane: TensorMapPane, qtbot: QtBot) -> None:
    settle(qtbot, pane, 320)
    narrow = width_of_all(pane, "name")
    longest = max(len(row.key) for row in pane.table.shown)
    figure = QFontMetricsF(theme.font("mono")).horizontalAdvance("0")
    wanted = round(min(longest, 28) * figure)
    # How wide the numbers are depends on the font of the machine.
    numbers = pane.table.horizontalHeader().length() - narrow
    settle(qtbot, pane, numbers + wanted + 60)
    wide = width_of_all(pane, "name")
    assert wide > narrow
    assert wide >= wanted
    # Where there is room for all of a name, it does not take more.
    settle(qtbot, pane, numbers + 4 * wanted)
    assert wanted <= width_of_all(pane, "name") < 2 * wanted


def test_the_ends_tell_that_there_is_more_beside(pane: TensorMapPane, qtbot: QtBot) -> None:
    settle(qtbot, pane, 420)
    table, bar = pane.table, pane.table.horizontalScrollBar()
    assert table.fades.shown == (False, True)
    bar.setValue(bar.maximum() // 2)
    assert table.fades.shown == (True, True)
    bar.setValue(bar.maximum())
    assert table.fades.shown == (True, False)
    picture = table.grab().toImage()
    below = table.viewport().geometry().bottom() - 2
    assert picture.pixelColor(0, below) == picture.pixelColor(0, below - 60)


def test_a_width_the_user_drew_stays(pane: TensorMapPane, qtbot: QtBot) -> None:
    settle(qtbot, pane, 680)
    header = pane.table.horizontalHeader()
    name = [column.key for column in TENSOR_COLUMNS].index("name")
    edge = header.sectionViewportPosition(name) + header.sectionSize(name) - 1
    level = header.height() // 2
    view = header.viewport()
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=QPoint(edge, level))
    QTest.mouseMove(view, QPoint(edge + 20, level))
    QTest.mouseMove(view, QPoint(edge + 60, level))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=QPoint(edge + 60, level))
    drawn = header.sectionSize(name)
    settle(qtbot, pane, 420)
    assert header.sectionSize(name) == drawn


def test_a_resized_table_does_not_go_through_its_cells_again(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(row: TensorRow, key: TensorColumnKey, *rest: Any) -> str:
        asked.append(key)
        return tensor_cell(row, key, *rest)

    place = next(i for i, column in enumerate(TENSOR_COLUMNS) if column.key == "name")
    before = pane.table.widest(place)
    monkeypatch.setattr(tensor_table, "tensor_cell", counted)
    for wide in (500, 450, 700, 600):
        QApplication.sendEvent(pane.table, QResizeEvent(QSize(wide, 200), pane.table.size()))
    assert asked == []
    studio.annotations.name_tensor("conv1/kernel", "longest")
    qtbot.waitUntil(lambda: pane.table.widest(place) > before)
    assert asked
