"""The tensor map through real events: picture and table, linked both ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.engine.core.tensor import Ref
from studio.graph_editor.model.document import Document
from studio.graph_editor.model.edits.removal import delete
from studio.instruction_view.model.memory_picture import Box
from studio.instruction_view.model.tensor_columns import TENSOR_COLUMNS, Extremes
from studio.instruction_view.view.tensor_map_pane import TensorMapPane
from studio.ui.kit.empty_state import EmptyState
from studio.ui.models import entities
from studio.ui.models.entities import Entity
from studio.ui.models.studio import Studio
from tests.ui.painted import Painted

Open = Callable[[str], Document]
NONE = Qt.KeyboardModifier.NoModifier
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def document(opened: Open) -> Document:
    return opened("digits-cnn")


@pytest.fixture
def pane(studio: Studio, document: Document, qtbot: QtBot) -> TensorMapPane:
    made = TensorMapPane(studio)
    qtbot.addWidget(made)
    made.resize(900, 800)
    made.show()
    qtbot.waitExposed(made)
    return made


def box_of(pane: TensorMapPane, name: str, *, grad: bool = False) -> Box:
    assert pane.picture.picture is not None
    key = f"{name}.grad" if grad else name
    return next(box for box in pane.picture.picture.boxes if box.key == key)


def middle(pane: TensorMapPane, box: Box) -> QPoint:
    return pane.picture.axes.rect_of(box).center().toPoint()


def send_move(pane: TensorMapPane, at: QPoint, pressed: Qt.MouseButton) -> None:
    spot = QPointF(at)
    event = QMouseEvent(
        QEvent.Type.MouseMove, spot, QPointF(pane.picture.mapToGlobal(at)),
        Qt.MouseButton.NoButton, pressed, NONE,
    )  # fmt: skip
    QApplication.sendEvent(pane.picture, event)


def turn_wheel(pane: TensorMapPane, at: QPoint, notches: int, held: Qt.KeyboardModifier) -> None:
    event = QWheelEvent(
        QPointF(at), QPointF(pane.picture.mapToGlobal(at)), QPoint(), QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton, held, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(pane.picture, event)


@pytest.mark.parametrize(("height", "low"), [(116, True), (180, True), (320, False)])
def test_the_arena_keeps_inside_a_low_pane(
    pane: TensorMapPane, qtbot: QtBot, height: int, low: bool
) -> None:
    # A dock may be lower than what stands in it would like.
    pane.setMinimumSize(1, 1)
    pane.resize(612, height)
    qtbot.waitUntil(lambda: pane.height() == height)
    picture = pane.picture
    seen = picture.mapTo(pane, picture.rect().bottomLeft()).y()
    assert seen < height
    area = picture.axes.area
    assert area.height() >= 30
    # Below it stand the names of the sections, and what the picture is where there is room.
    assert area.bottom() + (18 if low else 34) == picture.height()
    first, last = picture.picture.boxes[0], picture.picture.boxes[-1]
    for box in (first, last):
        assert area.adjusted(0, -1, 0, 1).contains(picture.axes.rect_of(box))


def test_boxes_lie_where_the_plan_says(studio: Studio, pane: TensorMapPane) -> None:
    shown = studio.compilation.shown
    assert shown is not None
    axes = pane.picture.axes
    assert axes.is_fitted
    for storage, slot in shown.plan.slots.items():
        box = next(b for b in shown.picture.boxes if b.ref == (storage.root, storage.grad))
        rect = axes.rect_of(box)
        share = axes.area.width() / len(shown.program)
        assert rect.left() == pytest.approx(axes.area.left() + slot.first * share)
        assert rect.right() == pytest.approx(axes.area.left() + (slot.last + 1) * share)
        height = axes.area.height() / shown.plan.total_bytes
        assert rect.bottom() == pytest.approx(axes.area.bottom() - slot.offset * height)
        assert rect.height() == pytest.approx(slot.nbytes * height)


def test_pointing_at_a_box_lights_its_tensor(studio: Studio, pane: TensorMapPane) -> None:
    box = box_of(pane, "conv2/output")
    send_move(pane, middle(pane, box), Qt.MouseButton.NoButton)
    assert studio.bus.hover_entity == entities.tensor("conv2/output")
    assert pane.links.glow == {box.ref: "solid"}
    QApplication.sendEvent(pane.picture, QEvent(QEvent.Type.Leave))
    assert studio.bus.hover_entity is None
    assert pane.links.glow == {}


def test_a_gradient_lights_its_forward_tensor_too(studio: Studio, pane: TensorMapPane) -> None:
    studio.bus.hover(entities.tensor("conv2/output", grad=True), "listing")
    box = box_of(pane, "conv2/output")
    assert pane.links.glow == {box.ref.gradient: "solid", box.ref: "dashed"}


def test_a_click_selects_and_marks_in_the_table(studio: Studio, pane: TensorMapPane) -> None:
    box = box_of(pane, "conv1/output")
    QTest.mouseClick(pane.picture, LEFT, NONE, middle(pane, box))
    assert studio.bus.selection.entities == (entities.tensor("conv1/output"),)
    chosen = pane.table.selectionModel().selectedRows()
    assert [pane.table.model().index(i.row(), 0).data() for i in chosen] == [str(box.ref)]


def test_a_row_selects_and_marks_in_the_picture(studio: Studio, pane: TensorMapPane) -> None:
    box = box_of(pane, "pool/output")
    index = pane.table.row_of(box.ref)
    pane.table.scrollTo(index)
    at = pane.table.visualRect(index).center()
    QTest.mouseClick(pane.table.viewport(), LEFT, NONE, at)
    assert studio.bus.selection.primary == entities.tensor("pool/output")
    assert pane.links.primary == box.ref
    QTest.keyClick(pane.table, Qt.Key.Key_Down)
    assert studio.bus.selection.primary != entities.tensor("pool/output")
    assert len(studio.bus.selection.entities) == 1


def test_a_selection_elsewhere_is_brought_into_sight_only_when_it_is_not(
    studio: Studio, pane: TensorMapPane
) -> None:
    bar = pane.table.verticalScrollBar()
    studio.bus.select([entities.tensor("conv1/kernel")], source="canvas")
    assert bar.value() == 0
    studio.bus.select([entities.tensor("digit/bias/v")], source="canvas")
    assert bar.value() > 0
    assert pane.table.is_in_sight(pane.table.currentIndex())


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


def test_the_instruction_of_the_path_has_its_column(studio: Studio, pane: TensorMapPane) -> None:
    provenance = studio.compilation.provenance
    studio.bus.select([entities.instruction(provenance.key_of(12))], source="listing")
    assert pane.links.row == 12
    rows = studio.compilation.shown
    assert rows is not None
    assert pane.links.marks == {*rows.rows.written(12), *rows.rows.read(12)}
    assert pane.note.endswith(f"of {len(pane.links.marks)}")


def test_the_wheel_zooms_at_the_pointer_and_a_double_click_shows_all(pane: TensorMapPane) -> None:
    axes = pane.picture.axes
    at = middle(pane, box_of(pane, "conv2/output"))
    row, byte = axes.row_at(at.x()), axes.byte_at(at.y())
    turn_wheel(pane, at, 8, NONE)
    assert axes.shown_rows < axes.rows
    assert axes.row_at(at.x()) == pytest.approx(row)
    assert axes.shown_bytes == axes.nbytes
    turn_wheel(pane, at, 4, Qt.KeyboardModifier.ShiftModifier)
    assert axes.shown_bytes < axes.nbytes
    assert axes.byte_at(at.y()) == pytest.approx(byte)
    empty = QPoint(int(axes.area.left()) + 3, 4)
    QTest.mouseDClick(pane.picture, LEFT, NONE, empty)
    assert axes.is_fitted


def test_dragging_pans_and_selects_nothing(studio: Studio, pane: TensorMapPane) -> None:
    axes = pane.picture.axes
    at = middle(pane, box_of(pane, "conv2/output"))
    turn_wheel(pane, at, 8, NONE)
    left = axes.left
    QTest.mousePress(pane.picture, LEFT, NONE, at)
    for step in range(1, 5):
        send_move(pane, at + QPoint(-20 * step, 0), LEFT)
    QTest.mouseRelease(pane.picture, LEFT, NONE, at + QPoint(-80, 0))
    assert axes.left == pytest.approx(left + 80 / axes.row_width)
    assert studio.bus.selection.entities == ()


def test_arrows_walk_the_boxes_and_enter_reveals(studio: Studio, pane: TensorMapPane) -> None:
    revealed: list[Entity] = []
    listener = lambda entity, _source: revealed.append(entity)  # noqa: E731
    studio.bus.revealed.connect(listener)
    QTest.mouseClick(pane.picture, LEFT, NONE, middle(pane, box_of(pane, "conv2/output")))
    pane.picture.setFocus()
    QTest.keyClick(pane.picture, Qt.Key.Key_Right)
    caret = pane.picture.caret
    assert caret is not None
    assert caret.key != "conv2/output"
    assert studio.bus.selection.primary == Entity("tensor", caret.key)
    QTest.keyClick(pane.picture, Qt.Key.Key_Up)
    assert pane.picture.caret is not None
    assert pane.picture.caret.offset > caret.offset
    QTest.keyClick(pane.picture, Qt.Key.Key_Plus)
    assert not pane.picture.axes.is_fitted
    QTest.keyClick(pane.picture, Qt.Key.Key_Home)
    assert pane.picture.axes.is_fitted
    QTest.keyClick(pane.picture, Qt.Key.Key_Return)
    assert revealed == [Entity("tensor", pane.picture.caret.key)]


def test_the_legend_keeps_one_role(studio: Studio, pane: TensorMapPane) -> None:
    shown = studio.compilation.shown
    assert shown is not None
    everything = len(pane.table.shown)
    assert everything == len(shown.tensors)
    QTest.mouseClick(pane.legend.buttons["gradient"], LEFT)
    assert {row.role for row in pane.table.shown} == {"gradient"}
    QTest.mouseClick(pane.legend.buttons["gradient"], LEFT)
    assert len(pane.table.shown) == everything
    transient = sum(row.nbytes or 0 for row in shown.tensors if not row.kept)
    assert transient == shown.plan.sum_bytes


def test_the_legend_fades_where_it_goes_on(pane: TensorMapPane) -> None:
    legend = pane.legend

    def fading() -> tuple[bool, bool]:
        before, after = legend.findChildren(QWidget, "legend_fade")
        return before.isVisible(), after.isVisible()

    pane.resize(2400, 500)
    QApplication.processEvents()
    assert fading() == (False, False)
    pane.resize(500, 500)
    QApplication.processEvents()
    assert fading() == (False, True)
    bar = legend.horizontalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert fading() == (True, True)
    picture = legend.grab().toImage()
    ends = [picture.pixelColor(x, picture.height() // 2) for x in (0, picture.width() - 1)]
    between = picture.pixelColor(picture.width() // 2, 0)
    assert ends == [between] * 2
    bar.setValue(bar.maximum())
    assert fading() == (True, False)


def test_columns_sort_by_what_they_mean(pane: TensorMapPane) -> None:
    columns = {
        pane.table.model().headerData(c, Qt.Orientation.Horizontal): c
        for c in range(pane.table.model().columnCount())
    }
    pane.table.sortByColumn(columns["Bytes"], Qt.SortOrder.DescendingOrder)
    sizes = [row.nbytes for row in pane.table.shown if row.nbytes is not None]
    assert sizes == sorted(sizes, reverse=True)
    pane.table.sortByColumn(columns["Register"], Qt.SortOrder.AscendingOrder)
    refs = [row.ref for row in pane.table.shown]
    assert refs == sorted(refs)
    pane.table.sortByColumn(columns["Name"], Qt.SortOrder.AscendingOrder)
    names = [row.key for row in pane.table.shown]
    assert names == sorted(names)


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


def test_an_edit_draws_the_new_plan(
    studio: Studio, document: Document, pane: TensorMapPane, settled: Callable[[], None]
) -> None:
    before = pane.picture.picture
    document.apply("Delete", delete(document.state, ["dropout1"]))
    assert pane.note.endswith("of the program before")
    settled()
    assert pane.note == ""
    assert pane.picture.picture is not before
    assert studio.compilation.shown is not None
    assert pane.picture.picture is studio.compilation.shown.picture
    assert "dropout1/output" not in {row.key for row in pane.table.shown}


def test_a_pinned_map_keeps_its_own_selection(studio: Studio, pane: TensorMapPane) -> None:
    QTest.mouseClick(pane.picture, LEFT, NONE, middle(pane, box_of(pane, "conv2/output")))
    pane.set_pinned(True)
    marks = pane.links.marks
    studio.bus.select([entities.tensor("digit/output")], source="canvas")
    studio.bus.hover(entities.tensor("digit/output"), "canvas")
    assert pane.links.marks == marks
    assert pane.links.glow == {}


def test_without_a_program_it_says_so(studio: Studio, opened: Open, qtbot: QtBot) -> None:
    opened("iris")
    studio.replace(Document.new("empty"))
    pane = TensorMapPane(studio)
    qtbot.addWidget(pane)
    empty = pane.findChild(EmptyState)
    assert empty is not None
    assert empty.accessibleName() == "Appears with the program"


def test_what_live_views_have_seen_stands_in_the_table(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    columns = [column.key for column in TENSOR_COLUMNS]
    view = studio.live.open(entities.tensor("conv1/kernel"))
    view.want(active=True)
    qtbot.waitUntil(lambda: view.frame is not None, timeout=20_000)
    qtbot.waitUntil(lambda: not pane.table.isColumnHidden(columns.index("least")), timeout=5_000)
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
    pane._look.stop()
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
    table.horizontalScrollBar().setValue(table.horizontalScrollBar().maximum())
    painted.take()
    table.take_seen({key: Extremes(-1.0, 1.0 + 2 * (key == keys[1]), 0, 1) for key in keys})
    row = table.visualRect(table.model().index(1, live[0]))
    parts = painted.take()
    assert parts
    assert all(part.top() >= row.top() - 1 for part in parts)
    assert all(part.bottom() <= row.bottom() + 1 for part in parts)
    assert table.model().index(1, live[1]).data().strip() == "3"


def test_copied_rows_tell_at_which_step_a_tensor_was_looked_at(pane: TensorMapPane) -> None:
    pane._look.stop()
    first, second, third = (row.key for row in pane.table.shown[:3])
    pane.table.take_seen({first: Extremes(-1.0, 2.0, 0, 120), second: Extremes(None, None, 4, 7)})
    # Out of sight, where nothing is looked at.
    assert pane.table.keys_wanted() == ()
    head, *lines = (line.split("\t") for line in pane.table.copied().splitlines())
    begin = head.index("Min")
    assert head[begin:] == ["Min", "Max", "NaN", "Seen at"]
    assert [line[begin:] for line in lines[:3]] == [
        ["-1", "2", "0", "120"], ["", "", "4", "7"], ["", "", "", ""],
    ]  # fmt: skip
    assert third == pane.table.shown[2].key


def test_a_view_that_nobody_sees_tells_nothing_of_its_tensor(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    pane._look.stop()
    pane.table.take_seen({})
    least = [column.key for column in TENSOR_COLUMNS].index("least")
    index = pane.table.row_of(tensor_ref(pane, "conv1/kernel"))

    def cell() -> str:
        return str(pane.table.model().index(index.row(), least).data()).strip()

    for place, each in enumerate(TENSOR_COLUMNS):
        if each.is_live:
            pane.table.choose_column(place, is_shown=False)
    view = studio.live.open(entities.tensor("conv1/kernel"))
    view.want(active=True)
    qtbot.waitUntil(lambda: view.frame is not None, timeout=20_000)
    pane._survey.forget()
    pane.take_seen()
    assert cell()
    # Its picture stays what it was, while the tensor changes.
    view.want(active=False)
    pane.take_seen()
    assert not cell()
    view.close()


def test_a_tensor_seen_anew_takes_its_place_where_rows_are_sorted_by_that(
    pane: TensorMapPane,
) -> None:
    table = pane.table
    pane._look.stop()
    greatest = [column.key for column in TENSOR_COLUMNS].index("greatest")
    keys = [row.key for row in table.shown[:3]]
    table.take_seen({key: Extremes(0.0, float(n), 0, 1) for n, key in enumerate(keys)})
    table.sortByColumn(greatest, Qt.SortOrder.AscendingOrder)
    assert [row.key for row in table.shown[:3]] == keys
    table.take_seen({key: Extremes(0.0, 9.0 - n, 0, 1) for n, key in enumerate(keys)})
    assert [row.key for row in table.shown[:3]] == keys[::-1]


def tensor_ref(pane: TensorMapPane, key: str) -> Ref:
    return next(row.ref for row in pane.table.shown if row.key == key)


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
        qtbot.waitUntil(lambda n=name: bool(greatest(n)), timeout=30_000)
        values = resting.read(name)
        assert values is not None
        assert float(greatest(name)) == pytest.approx(float(values.max()), rel=1e-2)
    pane.hide()
    qtbot.waitUntil(lambda: not studio.live.views)


def test_tensors_are_not_looked_at_for_columns_out_of_sight(
    studio: Studio, pane: TensorMapPane, qtbot: QtBot
) -> None:
    table, bar = pane.table, pane.table.horizontalScrollBar()
    greatest = [each.key for each in TENSOR_COLUMNS].index("greatest")
    # The columns appear with the first look, beyond the right edge.
    qtbot.waitUntil(lambda: not table.isColumnHidden(greatest), timeout=20_000)
    qtbot.waitUntil(lambda: table.columnViewportPosition(greatest) > table.viewport().width())
    qtbot.waitUntil(lambda: not studio.live.views and table.keys_wanted() == ())
    pane._look.stop()
    pane.take_seen()
    assert studio.live.views == ()
    # Rows in order of what was seen have to be kept in order.
    table.sortByColumn(greatest, Qt.SortOrder.AscendingOrder)
    assert table.keys_wanted()
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert table.keys_wanted() == ()
    bar.setValue(bar.maximum())
    assert table.keys_wanted()
    pane.take_seen()
    qtbot.waitUntil(lambda: bool(studio.live.views))
    for place, each in enumerate(TENSOR_COLUMNS):
        if each.is_live:
            table.choose_column(place, is_shown=False)
    assert table.keys_wanted() == ()
