"""The tensor map through real events: picture and table, linked both ways."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.instruction_view.tensor_map.role_legend import ROLE_COLOURS
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from studio.session.document.edits.removal import delete
from studio.session.listing.tensor_map.memory_picture import Box
from studio.session.studio import Studio
from studio.widgets.frames.empty_state import EmptyState

Open = Callable[[str], Document]
NONE = Qt.KeyboardModifier.NoModifier
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def pane(tensor_map: TensorMapPane) -> TensorMapPane:
    return tensor_map


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_selection_elsewhere_is_brought_into_sight_only_when_it_is_not(
    studio: Studio, pane: TensorMapPane
) -> None:
    bar = pane.table.verticalScrollBar()
    studio.bus.select([entities.tensor("conv1/kernel")], source="canvas")
    assert bar.value() == 0
    studio.bus.select([entities.tensor("digit/bias/v")], source="canvas")
    assert bar.value() > 0
    assert pane.table.is_in_sight(pane.table.currentIndex())


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

    pane.resize(2400, 500)
    QApplication.processEvents()
    assert legend.fades.shown == (False, False)
    pane.resize(500, 500)
    QApplication.processEvents()
    assert legend.fades.shown == (False, True)
    bar = legend.horizontalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert legend.fades.shown == (True, True)
    picture = legend.grab().toImage()
    ends = [picture.pixelColor(x, picture.height() // 2) for x in (0, picture.width() - 1)]
    between = picture.pixelColor(picture.width() // 2, 0)
    assert ends == [between] * 2
    bar.setValue(bar.maximum())
    assert legend.fades.shown == (True, False)


@pytest.mark.slow
def test_an_edit_draws_the_new_plan(
    studio: Studio, document: Document, pane: TensorMapPane, settled: Callable[[], None]
) -> None:
    before = pane.picture.picture
    document.apply("Delete", delete(document.state, ["dropout1"]))
    assert pane.note.endswith("of the previous program")
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


@pytest.mark.slow
def test_without_a_program_it_says_so(studio: Studio, opened: Open, qtbot: QtBot) -> None:
    opened("iris")
    studio.replace(Document.new("empty"))
    pane = TensorMapPane(studio)
    qtbot.addWidget(pane)
    empty = pane.findChild(EmptyState)
    assert empty is not None
    assert empty.accessibleName() == "No program yet"


def test_what_a_run_needs_room_for_has_a_colour_for_each_role() -> None:
    roles = ("activation", "gradient", "input", "target", "scratch", "partial")
    assert len({ROLE_COLOURS[role] for role in roles}) == len(roles)
