"""The listing pane through real events: pointer, keyboard, edits and other views."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QEnterEvent, QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from studio.engine.core.tensor import Ref
from studio.engine.isa.text import format_listing
from studio.graph_editor.model.document import Document
from studio.graph_editor.model.edits.layers import add_layer, set_option
from studio.graph_editor.model.edits.removal import delete
from studio.graph_editor.model.edits.wires import connect, disconnect
from studio.instruction_view.model.columns import COLUMNS
from studio.instruction_view.model.quantities import ms_text
from studio.instruction_view.view.line_table import ROW, Spot
from studio.instruction_view.view.listing_pane import ListingPane
from studio.instruction_view.view.listing_table import FIRST
from studio.instruction_view.view.path_bar import PathBar
from studio.ui.kit.empty_state import EmptyState
from studio.ui.models import entities
from studio.ui.models.entities import Entity
from studio.ui.models.studio import Studio

Open = Callable[[str], Document]
Settle = Callable[[], None]


@pytest.fixture
def document(opened: Open) -> Document:
    return opened("digits-cnn")


@pytest.fixture
def pane(studio: Studio, document: Document, qtbot: QtBot) -> ListingPane:
    made = ListingPane(studio)
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    qtbot.waitExposed(made)
    made.view.setFocus()
    return made


def place_of(pane: ListingPane, mnemonic: str, start: int = 0) -> int:
    rows = pane.listing.rows
    assert rows is not None
    found = (
        place
        for place, line in enumerate(pane.view.lines)
        if place >= start and line.kind == "instruction" and rows.mnemonic(line.row) == mnemonic
    )
    return next(found)


def move_to(pane: ListingPane, at: QPoint) -> None:
    """Move the pointer as the window system would tell of it."""
    spot = QPointF(at)
    screen = QPointF(pane.view.viewport().mapToGlobal(at))
    none = Qt.MouseButton.NoButton
    event = QMouseEvent(
        QEvent.Type.MouseMove, spot, screen, none, none, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(pane.view.viewport(), event)


def leave(pane: ListingPane) -> None:
    QApplication.sendEvent(pane.view, QEvent(QEvent.Type.Leave))


def click(pane: ListingPane, at: QPoint, held: Qt.KeyboardModifier | None = None) -> None:
    modifiers = held or Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(pane.view.viewport(), Qt.MouseButton.LeftButton, modifiers, at)


def click_line(pane: ListingPane, place: int) -> None:
    """Click on the number of a line."""
    click(pane, QPoint(48, pane.view.spot_rect(place).center().y()))


def operand_place(pane: ListingPane, place: int, operand: int) -> QPoint:
    return pane.view.spot_rect(place, operand).center()


def tensor_of(pane: ListingPane, name: str, *, grad: bool = False) -> Ref:
    rows = pane.listing.rows
    assert rows is not None
    return Ref(rows.program.tensors.named(name).id, grad)


# -- the table ------------------------------------------------------------------------------------


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
    assert pane.note == f"1 of {len(rows.rows_of('conv1'))}" or pane.note.endswith("of 8")


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


def answer_of(pane: ListingPane) -> str:
    label = pane.search.findChild(QLabel, "listing.search.answer")
    assert label is not None
    return label.text()


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
    assert listed.count() == len(uses)  # type: ignore[attr-defined]
    item = listed.item(listed.count() - 1)  # type: ignore[attr-defined]
    area = listed.visualItemRect(item)  # type: ignore[attr-defined]
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
    assert {line.count("\t") for line in table} == {9}


# -- compiling ------------------------------------------------------------------------------------


def test_an_edit_flashes_what_came_and_strikes_what_went(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    click_line(pane, place_of(pane, "LINEAR"))
    state = delete(document.state, ["dropout1"])
    document.apply("Delete", state)
    assert studio.compilation.stale_edits == 1
    assert age_of(pane) == "1 edit ago"
    settled()
    assert age_of(pane) == ""
    gone = [line.title.split()[0] for line in pane.view.lines if line.kind == "removed"]
    assert gone == ["DROPOUT", "GRADS_DROPOUT"]
    line, rows = pane.listing.caret_line, pane.listing.rows
    assert line is not None
    assert rows is not None
    assert rows.mnemonic(line.row) == "LINEAR"
    qtbot.waitUntil(lambda: not any(x.kind == "removed" for x in pane.view.lines), timeout=4000)


def age_of(pane: ListingPane) -> str:
    label = pane.findChild(QLabel, "listing.age")
    assert label is not None
    return label.text()


def test_rows_that_stay_keep_their_place_on_the_screen(
    document: Document, pane: ListingPane, settled: Settle
) -> None:
    bar = pane.view.verticalScrollBar()
    bar.setValue(bar.maximum() - 5)
    place = next(p for p in range(len(pane.view.lines)) if pane.view.is_row_visible(p))
    key, top = pane.view.lines[place].key, place * ROW - bar.value()
    state = disconnect(document.state, "conv2", 0)
    state = add_layer(state, "BatchNormalization", after="conv1")
    document.apply("Insert", connect(state, "batch_normalization", "conv2"))
    settled()
    now = next(p for p, line in enumerate(pane.view.lines) if line.key == key)
    assert now != place
    assert abs(now * ROW - bar.value() - top) <= 1


def test_an_error_keeps_the_listing_and_says_where_it_stopped(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle
) -> None:
    count = len(pane.view.lines)
    state = set_option(document.state, "conv2", "kernel_size", [9, 9])
    document.apply("Kernel", set_option(state, "conv2", "padding", "valid"))
    settled()
    failures = [(p, x) for p, x in enumerate(pane.view.lines) if x.kind == "failure"]
    assert len(pane.view.lines) == count + 1
    ((place, line),) = failures
    assert line.title.startswith("conv2: ")
    assert pane.listing.rows is not None
    assert pane.view.lines[place + 1].row == pane.listing.rows.rows_of("conv2")[0]
    assert age_of(pane) == "1 edit ago"
    document.undo()
    settled()
    assert not any(x.kind == "failure" for x in pane.view.lines)


def test_levels_groups_and_programs_by_their_buttons(studio: Studio, pane: ListingPane) -> None:
    def press(name: str) -> None:
        button = pane.findChild(QToolButton, f"{name}.button")
        assert button is not None
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    press("listing.level_layers")
    assert {line.kind for line in pane.view.lines} == {"heading"}
    press("listing.level_kernels")
    assert {line.kind for line in pane.view.lines} == {"kernel"}
    press("listing.level_instructions")
    press("listing.infer")
    assert pane.listing.rows is not None
    assert pane.listing.rows.program.mode == "infer"
    assert studio.bus.selection.entities == ()
    assert studio.actions.trigger("listing.group_section")
    assert pane.view.lines[0].title == "data"


def test_where_there_is_little_room_choices_become_menus(
    studio: Studio, pane: ListingPane, qtbot: QtBot
) -> None:
    buttons = [
        pane.findChild(QToolButton, f"listing.level_{name}.button")
        for name in ("layers", "instructions", "kernels")
    ]
    one = pane.findChild(QToolButton, "listing.level_layers.menu")
    assert one is not None
    assert one.isHidden()
    pane.resize(380, 500)
    qtbot.waitUntil(one.isVisible)
    assert all(button is not None and button.isHidden() for button in buttons)
    assert one.text() == "Instructions"
    assert studio.actions.trigger("listing.level_kernels")
    assert one.text() == "Kernels"
    QTest.mouseClick(one, Qt.MouseButton.LeftButton)
    menu = pane.findChild(QMenu)
    assert menu is not None
    assert [a.objectName() for a in menu.actions()][:2] == [
        "listing.level_layers",
        "listing.level_instructions",
    ]
    menu.close()
    pane.resize(900, 500)
    qtbot.waitUntil(one.isHidden)


def test_times_come_with_a_measured_step(
    studio: Studio, pane: ListingPane, settled: Settle, qtbot: QtBot
) -> None:
    bar = PathBar(studio)
    qtbot.addWidget(bar)
    studio.bus.select([entities.node("conv1")], source="canvas")
    titles = [column.key for column in COLUMNS]
    place = FIRST + titles.index("ms")
    assert pane.view.isColumnHidden(place)
    studio.profiling.start_dry_run()
    qtbot.waitUntil(lambda: studio.profiling.measurement is not None, timeout=30_000)
    settled()
    qtbot.waitUntil(lambda: not pane.view.isColumnHidden(place))
    times = studio.profiling.times_ms(studio.compilation.provenance)
    rows = pane.listing.rows
    assert rows is not None
    assert set(times) == set(rows.entries)
    for row, milliseconds in times.items():
        shown = pane.view.model().index(pane.listing.arrangement.place_of(row), place).data()
        assert shown == ms_text(milliseconds)
    bar.refresh()
    begin = rows.group(pane.links.primary_row).first
    assert bar.texts[-1] == f"{ms_text(times[begin])} ms"


def test_passes_show_what_each_changed(studio: Studio, pane: ListingPane, settled: Settle) -> None:
    assert studio.actions.trigger("listing.passes")
    settled()
    shown = studio.compilation.shown
    assert shown is not None
    viewer = pane.passes
    assert viewer.is_ready
    names = [step.name for step in viewer.steps]
    assert names == [step.name for step in shown.passes]
    listed = viewer.findChild(object, "passes.list")
    listed.setCurrentRow(names.index("merge_updates"))  # type: ignore[attr-defined]
    diff = viewer.findChild(object, "passes.diff")
    added = [x.after.name for x in diff.lines if x.change == "added"]  # type: ignore[attr-defined]
    assert added == ["FUSE", "END"]
    title = viewer.findChild(QLabel, "passes.title")
    assert title is not None
    assert "merge_updates" in title.text()
    assert studio.actions.trigger("listing.level_instructions")
    assert not pane.shows_passes


def test_a_baseline_is_compared_with_later_programs(
    studio: Studio, document: Document, pane: ListingPane, settled: Settle
) -> None:
    assert studio.actions.trigger("listing.baseline")
    settled()
    assert pane.passes.steps[0].name == "baseline"
    assert pane.passes.steps[0].is_empty
    document.apply("Delete", delete(document.state, ["dropout1"]))
    settled()
    step = pane.passes.steps[0]
    removed = [x.before.name for x in step.diff if x.change == "removed" and x.before is not None]
    assert "DROPOUT" in removed


def test_nothing_to_show_says_why(studio: Studio, opened: Open, qtbot: QtBot) -> None:
    document = opened("iris")
    studio.replace(Document.new("empty"))
    pane = ListingPane(studio)
    qtbot.addWidget(pane)
    assert pane.is_empty
    empty = pane.findChild(EmptyState)
    assert empty is not None
    assert empty.accessibleName() == "Add a layer and the program appears here"
    studio.replace(document)
    qtbot.waitUntil(lambda: not pane.is_empty, timeout=10_000)


def test_a_graph_with_problems_has_no_program_yet(
    studio: Studio, opened: Open, qtbot: QtBot
) -> None:
    opened("iris")
    document = Document.new("wrong")
    document.apply("Dense", add_layer(document.state, "Dense"))
    studio.replace(document)
    pane = ListingPane(studio)
    qtbot.addWidget(pane)
    empty = pane.findChild(EmptyState)
    assert empty is not None
    assert "so there is no program yet" in empty.accessibleName()


def test_cards_tell_of_opcodes_registers_and_exact_numbers(pane: ListingPane) -> None:
    place = place_of(pane, "CONV2D")
    card = pane.tip_of(Spot(place, "instruction", is_mnemonic=True))
    assert "Two-dimensional cross-correlation" in card
    assert "Weights [kh,kw,in,out]" in card
    card = pane.tip_of(Spot(place, "instruction", 0))
    assert "conv1/kernel" in card
    assert "parameter" in card
    rows = pane.listing.rows
    assert rows is not None
    nbytes = rows.cost(pane.view.lines[place].row).nbytes
    card = pane.tip_of(Spot(place, "bytes"))
    assert card.replace("\N{THIN SPACE}", "") == f"{nbytes} bytes read and written"


def test_the_gutter_is_named_for_screen_readers(pane: ListingPane) -> None:
    model = pane.view.model()
    place = place_of(pane, "CONV2D")
    told = model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert told == "conv1"


def test_entering_and_leaving_leaves_nothing_lit(studio: Studio, pane: ListingPane) -> None:
    at = QPointF(5, 5)
    QApplication.sendEvent(pane.view, QEnterEvent(at, at, at))
    move_to(pane, pane.view.spot_rect(3).center())
    assert studio.bus.hover_entity is not None
    leave(pane)
    assert studio.bus.hover_entity is None
