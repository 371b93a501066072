"""The listing pane through real events: pointer, keyboard, edits and other views."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QRegion
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from studio.engine.isa.text import format_listing
from studio.instruction_view.listing.line_table import INSTRUCTION, MILLISECONDS, PLACES, ROW, Spot
from studio.instruction_view.listing.pane import ListingPane
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.studio import Studio
from tests.instruction_view.listing_hands import (
    answer_of,
    click,
    click_line,
    leave,
    move_to,
    operand_place,
    place_of,
    tensor_of,
)
from tests.ui.painted import Painted

# -- the table ------------------------------------------------------------------------------------

NONE = Qt.KeyboardModifier.NoModifier
IN_BUILD = 612
"""Pixels of the listing in a window of 1600 by 1000."""


@pytest.mark.slow
def test_the_table_holds_the_compiler_s_own_lines(studio: Studio, pane: ListingPane) -> None:
    shown = studio.compilation.shown
    assert shown is not None
    model = pane.view.model()
    column = next(
        c for c in range(model.columnCount())
        if model.headerData(c, Qt.Orientation.Horizontal) == "Instruction"
    )  # fmt: skip
    lines = [model.index(row, column).data() for row in range(model.rowCount())]
    assert "".join(f"{line}\n" for line in lines) == format_listing(shown.program)


def test_registers_are_found_where_they_are_drawn(pane: ListingPane) -> None:
    rows = pane.listing.rows
    assert rows is not None
    place = place_of(pane, "CONV2D")
    for operand, span in enumerate(rows.spans(pane.view.lines[place].row)):
        at = operand_place(pane, place, operand)
        spot = pane.view.spot_at(at)
        assert (spot.place, spot.operand) == (place, operand if span.ref.present else -1)
    first = pane.view.spot_at(pane.view.spot_rect(place).topLeft() + QPoint(24, 8))
    assert first.is_mnemonic


def test_operands_are_whole_beside_columns_no_wider_than_what_they_hold(
    pane: ListingPane, qtbot: QtBot
) -> None:
    rows, view = pane.listing.rows, pane.view
    assert rows is not None
    pane.listing.set_times(times_of(pane).get)
    pane.resize(IN_BUILD, 480)
    qtbot.waitUntil(lambda: view.viewport().width() < IN_BUILD)
    assert not view.isColumnHidden(MILLISECONDS)
    edge = view.columnViewportPosition(INSTRUCTION) + view.columnWidth(INSTRUCTION)
    for place, line in enumerate(view.lines):
        for operand in range(len(rows.spans(line.row))):
            if rows.mnemonic(line.row) in ("GATHER_BATCH", "CONV2D", "LINEAR", "SOFTMAX"):
                assert view.spot_rect(place, operand).right() <= edge, rows.text(line.row)
    char = view.fontMetrics().horizontalAdvance("0")
    for key, texts in (
        ("shape", [rows.shape(line.row) for line in view.lines]),
        ("row", [str(len(view.lines) - 1)]),
    ):
        wide = max(len(text) for text in (*texts, view.entries.columns[PLACES[key]].title))
        assert wide * char <= view.columnWidth(PLACES[key]) <= (wide + 3) * char


def test_pointing_at_a_register_lights_every_use(studio: Studio, pane: ListingPane) -> None:
    place = place_of(pane, "MAXPOOL2D")
    heard: list[Entity | None] = []
    listener = lambda entity, _source: heard.append(entity)  # noqa: E731
    studio.bus.hovered.connect(listener)
    move_to(pane, operand_place(pane, place, 1))
    assert heard == [entities.tensor("pool/output")]
    rows = pane.listing.rows
    assert rows is not None
    ref = tensor_of(pane, "pool/output")
    assert set(pane.links.light.rows) == {use.row for use in rows.uses(ref)}
    assert studio.bus.selection.entities == ()
    leave(pane)
    assert heard[-1] is None
    assert not pane.links.light.rows


def test_a_click_on_a_register_selects_its_tensor(studio: Studio, pane: ListingPane) -> None:
    place = place_of(pane, "MAXPOOL2D")
    click(pane, operand_place(pane, place, 1))
    assert studio.bus.selection.entities == (entities.tensor("pool/output"),)
    assert pane.listing.caret == place
    assert pane.listing.operand == 1
    assert pane.note.endswith(f"of {len(pane.links.marked_rows)}")


def test_ctrl_and_click_goes_to_the_producer(studio: Studio, pane: ListingPane) -> None:
    rows = pane.listing.rows
    assert rows is not None
    held = Qt.KeyboardModifier.ControlModifier
    click(pane, operand_place(pane, place_of(pane, "MAXPOOL2D"), 0), held)
    line = pane.listing.caret_line
    assert line is not None
    assert rows.text(line.row).endswith(str(tensor_of(pane, "conv2/output")))
    assert studio.bus.selection.primary == entities.instruction(line.key)
    # In this line the register means the gradient, and its bytes are first written as a view.
    place = place_of(pane, "GRADS_DROPOUT", place_of(pane, "GRADS_RELU"))
    pane.view.show_place(place)
    value = pane.view.verticalScrollBar().value()
    click(pane, operand_place(pane, place, 1), held)
    line = pane.listing.caret_line
    assert line is not None
    assert rows.mnemonic(line.row) == "GRADS_LINEAR"
    assert rows.owners(line.row) == ("hidden",)
    assert studio.actions.trigger("listing.back")
    assert pane.view.verticalScrollBar().value() == value


def test_the_arrow_keys_move_the_caret_and_select(studio: Studio, pane: ListingPane) -> None:
    click_line(pane, 4)
    for expected in (5, 6):
        QTest.keyClick(pane.view, Qt.Key.Key_Down)
        assert pane.listing.caret == expected
        key = pane.view.lines[expected].key
        assert studio.bus.selection.primary == entities.instruction(key)
    QTest.keyClick(pane.view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert len(studio.bus.selection.entities) == 2
    QTest.keyClick(pane.view, Qt.Key.Key_End)
    assert pane.listing.caret == len(pane.view.lines) - 1
    assert pane.view.is_row_visible(pane.listing.caret)


def test_the_triangle_folds_and_opens_a_group(pane: ListingPane) -> None:
    place = place_of(pane, "FUSE")
    count = len(pane.view.lines)
    at = QPoint(17, pane.view.spot_rect(place).center().y())
    assert pane.view.spot_at(at) == Spot(place, is_fold=True)
    click(pane, at)
    assert len(pane.view.lines) == count - 3
    click(pane, at)
    assert len(pane.view.lines) == count


def test_fold_and_unfold_by_keyboard(studio: Studio, pane: ListingPane) -> None:
    place = place_of(pane, "FUSE")
    click_line(pane, place + 1)
    assert studio.actions.trigger("listing.fold")
    assert pane.listing.caret == place
    assert studio.actions.trigger("listing.fold")
    assert pane.listing.is_folded(pane.view.lines[place])
    assert studio.actions.trigger("listing.unfold")
    assert not pane.listing.is_folded(pane.view.lines[place])


# -- links ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_selection_elsewhere_is_marked_without_scrolling_where_it_is_seen(
    studio: Studio, pane: ListingPane
) -> None:
    studio.bus.select([entities.node("conv1")], source="canvas")
    rows = pane.listing.rows
    assert rows is not None
    assert pane.view.verticalScrollBar().value() == 0
    assert set(pane.links.marked_rows) == set(rows.rows_of("conv1"))
    marks = [pane.links.mark_of(line) for line in pane.view.lines]
    assert marks.count("primary") == 1
    assert marks.count("member") == len(rows.rows_of("conv1")) - 1
    assert pane.note == f"marked 1 of {len(rows.rows_of('conv1'))}" or pane.note.endswith("of 8")


def test_a_selection_out_of_sight_comes_into_the_middle_third_and_back_returns(
    studio: Studio, pane: ListingPane
) -> None:
    rows = pane.listing.rows
    assert rows is not None
    last = len(rows) - 1
    studio.bus.select([entities.instruction(rows.key(last - 8))], source="canvas")
    bar, height = pane.view.verticalScrollBar(), pane.view.viewport().height()
    top = (last - 8) * ROW - bar.value()
    assert bar.value() > 0
    assert height / 3 - ROW <= top <= 2 * height / 3
    assert studio.actions.trigger("listing.back")
    assert bar.value() == 0


@pytest.mark.slow
def test_a_hover_elsewhere_never_scrolls(studio: Studio, pane: ListingPane) -> None:
    rows = pane.listing.rows
    assert rows is not None
    for row in range(len(rows)):
        studio.bus.hover(entities.instruction(rows.key(row)), "canvas")
        assert pane.view.verticalScrollBar().value() == 0
        assert set(pane.links.light.rows) == {row}


def test_the_listing_never_scrolls_itself_for_its_own_selection(
    studio: Studio, pane: ListingPane
) -> None:
    bar = pane.view.verticalScrollBar()
    bar.setValue(bar.maximum())
    value = bar.value()
    place = next(p for p in range(len(pane.view.lines)) if pane.view.is_row_visible(p))
    click_line(pane, place)
    assert bar.value() == value


def test_a_pinned_listing_keeps_its_own_selection(studio: Studio, pane: ListingPane) -> None:
    click_line(pane, 4)
    pane.set_pinned(True)
    marked = pane.links.marked_rows
    studio.bus.select([entities.node("digit")], source="canvas")
    studio.bus.hover(entities.node("digit"), "canvas")
    assert pane.links.marked_rows == marked
    assert not pane.links.light.rows
    click_line(pane, 6)
    assert studio.bus.selection.primary == entities.node("digit")
    assert pane.links.marked_rows == (6,)
    pane.set_pinned(False)
    rows = pane.listing.rows
    assert rows is not None
    assert set(pane.links.marked_rows) == set(rows.rows_of("digit"))


def test_f3_walks_what_belongs_to_the_selection(studio: Studio, pane: ListingPane) -> None:
    studio.bus.select([entities.node("conv2")], source="canvas")
    marked = pane.links.marked_rows
    seen = [pane.links.primary_row]
    for _ in marked[1:]:
        assert studio.actions.trigger("listing.find_next")
        seen.append(pane.links.primary_row)
    assert sorted(seen) == list(marked)
    assert studio.bus.selection.entities == (entities.node("conv2"),)


def test_enter_asks_the_graph_to_show_the_layer(studio: Studio, pane: ListingPane) -> None:
    revealed: list[tuple[Entity, str]] = []
    listener = lambda entity, source: revealed.append((entity, source))  # noqa: E731
    studio.bus.revealed.connect(listener)
    click_line(pane, place_of(pane, "MAXPOOL2D"))
    assert studio.actions.trigger("listing.reveal")
    assert studio.actions.trigger("listing.show")
    assert revealed == [(entities.node("pool"), "listing")] * 2


def test_a_revealed_layer_is_brought_into_sight(studio: Studio, pane: ListingPane) -> None:
    bar = pane.view.verticalScrollBar()
    bar.setValue(bar.maximum())
    studio.bus.reveal(entities.node("conv1"), "canvas")
    assert pane.view.is_row_visible(place_of(pane, "CONV2D"))


# -- going places ---------------------------------------------------------------------------------


def test_find_marks_matches_and_walks_them(studio: Studio, pane: ListingPane) -> None:
    assert studio.actions.trigger("listing.find")
    QTest.keyClicks(pane.search.field, "relu")
    matches = pane.listing.matches
    assert len(matches) == 6
    assert len(pane.view.scroll_marks.marks["warning"]) == 6
    for row in (*matches, matches[0]):
        QTest.keyClick(pane.search.field, Qt.Key.Key_Return)
        line = pane.listing.caret_line
        assert line is not None
        assert line.row == row
        assert pane.view.is_row_visible(pane.listing.caret)
    assert answer_of(pane) == "1 of 6"
    QTest.keyClicks(pane.search.field, "x")
    assert answer_of(pane) == "not found"
    QTest.keyClick(pane.search.field, Qt.Key.Key_Escape)
    assert pane.search.isHidden()
    assert pane.listing.matches == ()


def test_goto_takes_registers_names_and_says_what_is_wrong(
    studio: Studio, pane: ListingPane
) -> None:
    ref = tensor_of(pane, "digit/output")
    assert studio.actions.trigger("listing.goto")
    QTest.keyClicks(pane.search.field, "0xffff")
    QTest.keyClick(pane.search.field, Qt.Key.Key_Return)
    assert "no register 0xffff" in answer_of(pane)
    assert pane.search.isVisible()
    pane.search.field.selectAll()
    QTest.keyClicks(pane.search.field, str(ref))
    QTest.keyClick(pane.search.field, Qt.Key.Key_Return)
    line, rows = pane.listing.caret_line, pane.listing.rows
    assert line is not None
    assert rows is not None
    assert rows.mnemonic(line.row) == "SOFTMAX_CE"
    assert pane.search.isHidden()
    assert studio.bus.selection.primary == entities.tensor("digit/output")


def test_one_jump_is_one_step_back(studio: Studio, pane: ListingPane) -> None:
    bar = pane.view.verticalScrollBar()
    bar.setValue(bar.maximum())
    click_line(pane, len(pane.view.lines) - 2)
    before = (bar.value(), pane.listing.caret)
    assert studio.actions.trigger("listing.goto")
    QTest.keyClicks(pane.search.field, "0")
    QTest.keyClick(pane.search.field, Qt.Key.Key_Return)
    assert pane.listing.caret == 0
    assert pane.view.is_row_visible(0)
    assert studio.actions.trigger("listing.back")
    assert (bar.value(), pane.listing.caret) == before
    assert not pane.view.can_go_back()
    assert studio.actions.trigger("listing.forward")
    assert pane.listing.caret == 0
    assert pane.view.is_row_visible(0)
    viewport, middle = pane.view.viewport(), QPoint(100, 60)
    QTest.mouseClick(viewport, Qt.MouseButton.BackButton, NONE, middle)
    assert (bar.value(), pane.listing.caret) == before
    QTest.mouseClick(viewport, Qt.MouseButton.ForwardButton, NONE, middle)
    assert pane.listing.caret == 0
    assert studio.actions.trigger("listing.back")
    click_line(pane, before[1] - 1)
    pane.view.go_to_row(1)
    assert not pane.view.can_go_forward()


@pytest.mark.slow
def test_back_returns_the_caret_a_selection_elsewhere_has_moved(
    studio: Studio, pane: ListingPane
) -> None:
    rows = pane.listing.rows
    assert rows is not None
    click_line(pane, 2)
    studio.bus.select([entities.instruction(rows.key(len(rows) - 3))], source="canvas")
    assert pane.listing.caret == len(rows) - 3
    assert studio.actions.trigger("listing.back")
    assert pane.listing.caret == 2


@pytest.mark.slow
def test_f3_walks_the_matches_from_the_field_too(studio: Studio, pane: ListingPane) -> None:
    assert studio.actions.trigger("listing.find")
    QTest.keyClicks(pane.search.field, "relu")
    rows = []
    for held in (NONE, NONE, Qt.KeyboardModifier.ShiftModifier):
        QTest.keyClick(pane.search.field, Qt.Key.Key_F3, held)
        assert pane.listing.caret_line is not None
        rows.append(pane.listing.caret_line.row)
    first, second = pane.listing.matches[:2]
    assert rows == [first, second, first]


def test_the_caret_begins_in_the_first_line(studio: Studio, pane: ListingPane) -> None:
    for place in (0, 1):
        QTest.keyClick(pane.view, Qt.Key.Key_Down)
        assert pane.listing.caret == place
        assert studio.bus.selection.primary == pane.links.entity_at(pane.view.lines[place])


def test_uses_are_listed_pinned_and_followed(studio: Studio, pane: ListingPane) -> None:
    place = place_of(pane, "MAXPOOL2D")
    click(pane, operand_place(pane, place, 1))
    assert studio.actions.trigger("listing.pin_uses")
    click(pane, operand_place(pane, place, 0))
    assert studio.actions.trigger("listing.uses")
    assert pane.uses.registers == (entities.tensor("pool/output"), entities.tensor("conv2/output"))
    listed = pane.uses.findChild(object, "listing.uses.list")
    rows = pane.listing.rows
    assert rows is not None
    uses = rows.uses(tensor_of(pane, "conv2/output"))
    assert listed.entries.rowCount() == len(uses)  # type: ignore[attr-defined]
    area = listed.visualRect(listed.entries.at(len(uses) - 1))  # type: ignore[attr-defined]
    QTest.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, pos=area.center())  # type: ignore[attr-defined]
    line = pane.listing.caret_line
    assert line is not None
    assert line.row == uses[-1].row
    pane.uses.close_current()
    assert pane.uses.registers == (entities.tensor("pool/output"),)


def test_registers_of_a_line_are_walked_and_selected(studio: Studio, pane: ListingPane) -> None:
    click(pane, pane.view.spot_rect(place_of(pane, "MAXPOOL2D")).topLeft() + QPoint(20, 8))
    selected = []
    for _ in range(3):
        assert studio.actions.trigger("listing.next_register")
        selected.append(studio.bus.selection.primary)
    first, second = entities.tensor("conv2/output"), entities.tensor("pool/output")
    assert selected == [first, second, first]


# -- copying --------------------------------------------------------------------------------------


def test_copied_lines_are_the_text_of_the_compiler(studio: Studio, pane: ListingPane) -> None:
    shown = studio.compilation.shown
    assert shown is not None
    pane.listing.set_caret(-1)
    assert studio.actions.trigger("listing.copy")
    assert QGuiApplication.clipboard().text() == format_listing(shown.program)
    place = place_of(pane, "FUSE")
    click(pane, QPoint(17, pane.view.spot_rect(place).center().y()))
    click_line(pane, place)
    assert studio.actions.trigger("listing.copy")
    lines = format_listing(shown.program).splitlines(keepends=True)
    row = pane.view.lines[place].row
    assert QGuiApplication.clipboard().text() == "".join(lines[row : row + 4])
    assert studio.actions.trigger("listing.copy_table")
    table = QGuiApplication.clipboard().text().splitlines()
    assert len(table) == 5
    assert {line.count("\t") for line in table} == {11}


# -- measured times -------------------------------------------------------------------------------


def times_of(pane: ListingPane, **others: float) -> dict[int, float]:
    """A millisecond and a quarter for every entry, but for those named by their index."""
    rows = pane.listing.rows
    assert rows is not None
    given = {int(key.removeprefix("at")): ms for key, ms in others.items()}
    return dict.fromkeys(rows.entries, 1.25) | given


def column_of_times(pane: ListingPane) -> tuple[int, int]:
    return pane.view.columnViewportPosition(MILLISECONDS), pane.view.columnWidth(MILLISECONDS)


def test_new_measurements_that_read_alike_paint_nothing(pane: ListingPane) -> None:
    pane.listing.set_times(times_of(pane).get)
    painted = Painted(pane.view.viewport())
    pane.listing.set_times(times_of(pane, at0=1.2503).get)
    assert painted.take() == []


def test_a_time_that_reads_otherwise_paints_its_cell_and_no_more(pane: ListingPane) -> None:
    pane.listing.set_times(times_of(pane).get)
    rows = pane.listing.rows
    assert rows is not None
    index = sorted(rows.entries)[2]
    place = pane.listing.arrangement.place_of(index)
    table = pane.view.viewport()
    painted = Painted(table)
    picture = table.grab()
    painted.take()
    pane.listing.set_times(times_of(pane, **{f"at{index}": 3.5}).get)
    left, width = column_of_times(pane)
    (cell,) = painted.take()
    assert cell == QRect(left, place * ROW, width, ROW)
    # The picture before, painted anew in that place, is that of everything painted anew.
    whole = table.grab().toImage()
    assert picture.toImage() != whole
    table.render(picture, cell.topLeft(), QRegion(cell))
    assert picture.toImage() == whole


def test_times_scrolled_into_sight_are_kept_up_too(pane: ListingPane) -> None:
    pane.listing.set_times(times_of(pane).get)
    pane.view.verticalScrollBar().setValue(20 * ROW)
    painted = Painted(pane.view.viewport())
    pane.listing.set_times(dict.fromkeys(times_of(pane), 7.0).get)
    assert painted.take()
    pane.listing.set_times(dict.fromkeys(times_of(pane), 7.0001).get)
    assert painted.take() == []


def test_times_out_of_sight_paint_nothing(pane: ListingPane) -> None:
    pane.listing.set_times(times_of(pane).get)
    pane.view.show_column("ms", False)
    painted = Painted(pane.view.viewport())
    pane.listing.set_times(dict.fromkeys(times_of(pane), 9.0).get)
    assert painted.take() == []
    pane.view.show_column("ms")
    assert painted.take()


def test_colours_that_stand_for_time_follow_it(pane: ListingPane) -> None:
    pane.listing.set_times(times_of(pane).get)
    pane.listing.set_colour_by("time")
    painted = Painted(pane.view.viewport())
    pane.listing.set_times(times_of(pane, at0=1.2503).get)
    assert any(part.left() == 0 for part in painted.take())
