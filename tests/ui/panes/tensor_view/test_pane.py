"""The tensor view as a person meets it: what it shows, points at, and does when things change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QWheelEvent
from PySide6.QtWidgets import QApplication, QInputDialog, QSlider

from studio.engine.layers.graph import Port
from studio.session.core import entities
from studio.session.core.theme import Mode
from studio.session.document.document import Document
from studio.session.live.sources import HeldWeights
from studio.session.tensor_view.colours import colour_map
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.widgets import contexts
from tests.engine.layers.several_outputs import cut_digits, split_layer
from tests.session.colour_vision import lab
from tests.session.tensor_view.desk import is_settled

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from studio.session.studio import Studio

HEAD = 24


@pytest.fixture
def pane(qtbot: QtBot, studio: Studio) -> Iterator[TensorViewPane]:
    made = TensorViewPane(studio)
    qtbot.addWidget(made)
    made.resize(420, 620)
    made.show()
    yield made
    made.close_view()


def show(qtbot: QtBot, studio: Studio, pane: TensorViewPane, array: np.ndarray) -> None:
    studio.live.rest_on(HeldWeights("a test", lambda: {"t": array}))
    pane.show_tensor(entities.tensor("t"))
    settle(qtbot, pane)


def settle(qtbot: QtBot, pane: TensorViewPane) -> None:
    qtbot.waitUntil(lambda: is_settled(pane.view))
    QApplication.processEvents()


def pixels(pane: TensorViewPane) -> QImage:
    return pane.sheet.grab().toImage()


def centre(pane: TensorViewPane, row: int, column: int) -> QPoint:
    sheet_layout = pane.view.sheet_layout
    assert sheet_layout is not None
    left, top = sheet_layout.tile_at(0)
    return QPoint(
        round(left + (column + 0.5) * sheet_layout.cell),
        round(HEAD + top + (row + 0.5) * sheet_layout.cell),
    )


@pytest.mark.slow
def test_nothing_chosen_says_what_to_do(pane: TensorViewPane) -> None:
    assert pane.is_empty


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [(), (9,), (5, 6), (3, 4, 5), (2, 3, 4, 5), (2, 2, 3, 4, 3), (2, 1, 2, 3, 2, 3),
              (0,), (0, 3)],
    ids=str,
)  # fmt: skip
def test_every_rank_is_painted(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, shape: tuple[int, ...],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    array = np.asarray(rng.standard_normal(shape)).astype(np.float32)
    show(qtbot, studio, pane, array)
    assert not pane.is_empty
    image = pixels(pane)
    colours = {image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(30, 300, 7)}
    assert len(colours) > 1 or array.size < 2


def test_cells_have_the_colours_of_numpy(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, rng: np.random.Generator
) -> None:
    array = rng.uniform(-1, 1, (20, 24)).astype(np.float32)
    show(qtbot, studio, pane, array)
    image = pixels(pane)
    reach = float(np.abs(array).max())
    table = colour_map("diverging")
    for row in range(20):
        for column in range(24):
            share = (float(array[row, column]) + reach) / (2 * reach)
            wanted = table[int(np.floor(share * 255 + 0.5))]
            found = QColor(image.pixel(centre(pane, row, column)))
            apart = np.abs(np.array(found.getRgb()[:3]) - wanted.astype(int)).max()
            assert apart <= 2


def test_nan_and_infinities_are_painted_in_their_own_colours(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    array = np.zeros((12, 16), np.float32)
    array[2, 3], array[5, 5], array[8, 9] = np.nan, np.inf, -np.inf
    show(qtbot, studio, pane, array)
    image = pixels(pane)
    sheet_layout = pane.view.sheet_layout
    assert sheet_layout is not None
    half = sheet_layout.cell / 2
    middle = centre(pane, 2, 3)
    seen = {
        image.pixelColor(middle + QPoint(dx, dy)).name() for dx in range(-4, 5)
        for dy in range(-4, 5)
    }  # fmt: skip
    assert seen == {"#ff00ff", "#4a004a"}
    up, down = centre(pane, 5, 5), centre(pane, 8, 9)
    near = round(half) - 2
    assert image.pixelColor(up + QPoint(0, near)).name() == "#ffffff"
    assert image.pixelColor(up + QPoint(-near, -near)).name() == "#18181c"
    assert image.pixelColor(down + QPoint(0, -near)).name() == "#d8d8d8"
    assert image.pixelColor(down + QPoint(near, near)).name() == "#18181c"


def test_infinities_among_bars_can_be_told_from_the_sheet(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    array = np.array([1, np.inf, -1, -np.inf, 0.5], np.float32)
    show(qtbot, studio, pane, array)
    image = pixels(pane)
    sheet_layout = pane.view.sheet_layout
    assert sheet_layout is not None
    middle = [round((number + 0.5) * sheet_layout.cell) for number in range(array.size)]
    aside, high = round(sheet_layout.cell / 2) - 4, image.height() - HEAD
    for number, wedge, base, tip in ((1, "#ffffff", 0.45, 0.05), (3, "#d8d8d8", 0.55, 0.95)):
        assert image.pixelColor(middle[number], HEAD + round(base * high)).name() == wedge
        for x in (middle[number] - aside, middle[number] + aside):
            assert image.pixelColor(x, HEAD + round(tip * high)).name() == "#18181c"


def test_a_click_points_and_the_element_is_read_out(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    array = np.arange(30, dtype=np.float32).reshape(5, 6) / 7
    show(qtbot, studio, pane, array)
    qtbot.mouseClick(pane.sheet, Qt.MouseButton.LeftButton, pos=centre(pane, 3, 2))
    settle(qtbot, pane)
    assert pane.view.pointing.index == (3, 2)
    qtbot.waitUntil(lambda: "[3, 2] = 2.857143" in pane._pick.whole)
    studio.actions.trigger("tensor.pick_right")
    settle(qtbot, pane)
    assert pane.view.pointing.index == (3, 3)
    studio.actions.trigger("tensor.copy_value")
    assert QGuiApplication.clipboard().text() == "3.0"


@pytest.mark.slow
def test_the_wheel_goes_nearer_and_the_middle_button_moves(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    array = np.arange(4000 * 3000, dtype=np.float32).reshape(4000, 3000)
    show(qtbot, studio, pane, array)
    assert pane.view.sheet_layout is not None
    assert not pane.view.sheet_layout.sheet.exact
    at = QPointF(centre(pane, 20, 30))
    for _ in range(40):
        wheel = QWheelEvent(
            at, pane.sheet.mapToGlobal(at), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(pane.sheet, wheel)
        if pane.view.sheet_layout.sheet.exact:
            break
    settle(qtbot, pane)
    assert pane.view.sheet_layout.sheet.exact
    region = pane.view.view_state.region
    assert region is not None
    start = centre(pane, 5, 5)
    qtbot.mousePress(pane.sheet, Qt.MouseButton.MiddleButton, pos=start)
    far = start - QPoint(120, 0)
    qtbot.mouseMove(pane.sheet, far)
    moved = pane.view.view_state.region
    qtbot.mouseRelease(pane.sheet, Qt.MouseButton.MiddleButton, pos=far)
    assert moved is not None
    assert moved.column > region.column
    assert moved.rows == region.rows


def test_a_double_click_opens_a_tile_and_goes_back(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, rng: np.random.Generator
) -> None:
    show(qtbot, studio, pane, rng.standard_normal((6, 8, 8)).astype(np.float32))
    sheet_layout = pane.view.sheet_layout
    assert sheet_layout is not None
    left, top = sheet_layout.tile_at(4)
    at = QPoint(round(left + sheet_layout.cell), round(top + HEAD + sheet_layout.cell))
    qtbot.mouseDClick(pane.sheet, Qt.MouseButton.LeftButton, pos=at)
    settle(qtbot, pane)
    assert pane.view.view_state.tile == 4
    qtbot.waitUntil(lambda: pane.findChild(QSlider, "tensor_axis_0") is not None)
    slider = pane.findChild(QSlider, "tensor_axis_0")
    assert slider is not None
    assert (slider.value(), slider.maximum()) == (4, 5)
    # Its round handle, with the border, is whole.
    assert slider.height() >= 16
    slider.setValue(1)
    assert pane.view.view_state.tile == 1
    qtbot.mouseDClick(pane.sheet, Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
    assert pane.view.view_state.tile is None


def test_sliders_do_not_lie_on_each_other_when_one_comes_in_front(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, rng: np.random.Generator
) -> None:
    for shape in ((1, 2, 3, 4, 5), (3, 2, 3, 4, 5), (3, 1, 3, 4, 5), (3, 2, 3, 4, 5)):
        show(qtbot, studio, pane, rng.standard_normal(shape).astype(np.float32))
        qtbot.waitUntil(lambda shape=shape: pane.view.shape == shape, timeout=60000)
        wanted = [slider.axis for slider in pane.view.sliders if slider.count > 1]
        assert len(wanted) == (2 if 1 not in shape else 1)
        qtbot.waitUntil(
            lambda wanted=wanted: (
                sorted(rows(pane)) == wanted and len(set(rows(pane).values())) == len(wanted)
            ),
            timeout=60000,
        )


def rows(pane: TensorViewPane) -> dict[int, int]:
    """The upper edge of each slider in sight, by its axis."""
    found = pane.slices.findChildren(QSlider)
    return {int(each.objectName()[-1]): each.y() for each in found if each.isVisible()}


def test_an_axis_of_one_index_has_no_slider(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, rng: np.random.Generator
) -> None:
    show(qtbot, studio, pane, rng.standard_normal((1, 8, 8, 16)).astype(np.float32))
    assert [slider.axis for slider in pane.view.sliders] == [0]
    assert pane.findChild(QSlider, "tensor_axis_0") is None
    show(qtbot, studio, pane, rng.standard_normal((2, 8, 8, 16)).astype(np.float32))
    qtbot.waitUntil(lambda: pane.findChild(QSlider, "tensor_axis_0") is not None)


def test_a_typed_slice_is_taken_and_a_wrong_one_is_told_in_its_place(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, rng: np.random.Generator
) -> None:
    array = rng.standard_normal((4, 6, 7)).astype(np.float32)
    show(qtbot, studio, pane, array)
    field = pane.slices.field
    field.setFocus()
    qtbot.keyClicks(field, "[2, ::2]")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    settle(qtbot, pane)
    assert pane.view.frame is not None
    assert pane.view.frame.tile is not None
    np.testing.assert_array_equal(pane.view.frame.tile.low[0, :, :, 0], array[2, ::2])
    field.clear()
    qtbot.keyClicks(field, "[9]")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: pane.slices._error.text() == "axis 0 has 4 indices, got 9")
    assert field.property("wrong")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not pane.slices._error.text())
    assert field.text() == "[2, ::2]"


def test_handles_over_the_histogram_move_the_range(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    array = np.linspace(0, 10, 100, dtype=np.float32).reshape(10, 10)
    show(qtbot, studio, pane, array)
    bar = pane.histogram
    qtbot.waitUntil(lambda: "to 10" in bar.toolTip())
    start = QPoint(round(bar.position_of(10.0)), 20)
    end = QPoint(round(bar.position_of(5.0)), 20)
    qtbot.mousePress(bar, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(bar, end)
    qtbot.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=end)
    assert pane.view.colours.high == pytest.approx(5.0, abs=0.2)
    assert not pane.view.colours.follows
    qtbot.waitUntil(lambda: "above the range" in pane._statistics.whole)
    studio.actions.trigger("tensor.fit_range")
    assert pane.view.colours.high == 10.0


@pytest.mark.slow
def test_an_index_is_asked_for_and_gone_to(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    show(qtbot, studio, pane, np.zeros((3, 4), np.float32))
    studio.actions.trigger("tensor.go_to")
    dialog = pane.findChild(QInputDialog, "go_to_index")
    assert dialog is not None
    dialog.setTextValue("2, -1")
    dialog.accept()
    assert pane.view.pointing.index == (2, 3)
    studio.actions.trigger("tensor.go_to")
    dialog = next(d for d in pane.findChildren(QInputDialog) if d.isVisible())
    dialog.setTextValue("7, 7")
    dialog.accept()
    assert "axis 0 has 3" in studio.notices.all[-1].text


def test_a_hidden_pane_asks_for_nothing(qtbot: QtBot, studio: Studio, pane: TensorViewPane) -> None:
    show(qtbot, studio, pane, np.zeros((3, 4), np.float32))
    (live,) = studio.live.views
    assert live.wish.active
    pane.hide()
    assert not live.wish.active
    pane.show()
    assert live.wish.active


def test_the_pane_follows_the_selection_unless_pinned(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    arrays = {name: np.zeros((2, 2), np.float32) for name in ("a", "b")}
    studio.live.rest_on(HeldWeights("a test", lambda: arrays))
    studio.bus.select((entities.tensor("a"),), source="listing")
    assert pane.view.entity == entities.tensor("a")
    pane.set_pinned(True)
    studio.bus.select((entities.tensor("b"),), source="listing")
    assert pane.view.entity == entities.tensor("a")
    pane.set_pinned(False)
    studio.bus.select((entities.tensor("a"),), source="listing")
    studio.bus.select((entities.tensor("b"),), source="listing")
    assert pane.view.entity == entities.tensor("b")
    assert pane.note == "" or pane.note == "b"


@pytest.mark.slow
def test_the_pane_shows_the_output_that_is_chosen_or_that_a_wire_leaves(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane
) -> None:
    with split_layer():
        studio.replace(Document.of_project(cut_digits(joined=True)))
        qtbot.waitUntil(lambda: studio.compilation.shown is not None, timeout=60000)
        second = studio.compilation.provenance.tensor_of_output(Port("cut", 1))
        assert second not in ("", "split/output")
        studio.bus.select((entities.node("cut"),), source="canvas")
        assert pane.view.entity == entities.tensor("split/output")
        studio.bus.choose_output(Port("cut", 1))
        assert pane.view.entity == entities.tensor(second)
        studio.bus.choose_output(Port("cut"))
        assert pane.view.entity == entities.tensor("split/output")
        studio.bus.select((entities.wire("cut", "dropout", 0, 1),), source="canvas")
        assert pane.view.entity == entities.tensor(second)
        assert studio.bus.path.tensor == entities.tensor(second)
        pane.set_pinned(True)
        studio.bus.select((entities.node("cut"),), source="canvas")
        studio.bus.choose_output(Port("cut"))
        assert pane.view.entity == entities.tensor(second)
        # What nothing reads has no tensor: the other output is not shown in its place.
        studio.replace(Document.of_project(cut_digits()))
        qtbot.waitUntil(lambda: studio.compilation.shown is not None, timeout=60000)
        assert studio.compilation.provenance.tensor_of_output(Port("cut")) == ""


@pytest.mark.parametrize("mode", ["dark", "light"])
def test_cells_near_zero_are_told_from_where_there_is_none(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, mode: Mode, rng: np.random.Generator
) -> None:
    studio.theme.choose("light" if mode == "dark" else "dark")
    values = rng.uniform(-1e-4, 1e-4, (5, 6, 7)).astype(np.float32)
    values[0, 0, 0] = 1.0
    show(qtbot, studio, pane, values)
    studio.theme.choose(mode)
    wanted = QColor(studio.theme.colour("picture"))
    qtbot.waitUntil(lambda: pixels(pane).pixelColor(2, HEAD + 2) == wanted)
    image, sheet_layout = pixels(pane), pane.view.sheet_layout
    assert sheet_layout is not None
    rows, columns = sheet_layout.cells
    ground = lab(wanted.name())
    for tile in range(sheet_layout.tiles):
        left, top = sheet_layout.tile_at(tile)
        row, column = np.mgrid[0:rows, 0:columns].reshape(2, -1)
        for y, x in zip(row, column, strict=True):
            at = QPointF(
                left + (x + 0.5) * sheet_layout.cell, HEAD + top + (y + 0.5) * sheet_layout.cell
            )
            assert np.linalg.norm(lab(image.pixelColor(at.toPoint()).name()) - ground) > 20
        # Between this tile and the next one.
        gap = QPointF(
            left + (columns + 0.5) * sheet_layout.cell, HEAD + top + sheet_layout.cell / 2
        )
        assert image.pixelColor(gap.toPoint()) == wanted


@pytest.mark.parametrize("mode", ["dark", "light"])
@pytest.mark.parametrize("shape", [(), (9,)], ids=str)
def test_numbers_and_bars_stand_on_the_ground_of_the_theme_s_texts(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, mode: Mode, shape: tuple[int, ...]
) -> None:
    show(qtbot, studio, pane, np.ones(shape, np.float32))
    studio.theme.choose(mode)
    wanted = QColor(studio.theme.colour("canvas"))
    qtbot.waitUntil(lambda: pixels(pane).pixelColor(2, 2) == wanted)


def test_keys_of_the_view_clash_with_no_other(studio: Studio) -> None:
    mine = [found for found in studio.actions.conflicts() if "tensor." in found[1] + found[2]]
    assert mine == []


@pytest.mark.slow
def test_the_picture_is_where_the_keys_work(studio: Studio, pane: TensorViewPane) -> None:
    assert contexts.context_of(pane.sheet) == "tensor"
    assert contexts.context_of(pane.slices.field) == "window"


def test_every_action_is_bound(studio: Studio, pane: TensorViewPane) -> None:
    unbound = [
        spec.id
        for spec in studio.actions
        if spec.id.startswith("tensor.") and studio.actions.why_not(spec.id) == "not available here"
    ]
    assert unbound == []


def test_everything_has_a_name_for_those_who_do_not_see(pane: TensorViewPane) -> None:
    for widget in (pane.sheet, pane.histogram, pane.slices.field, pane._chooser, *pane.tools):
        assert widget.accessibleName()
        assert widget.objectName()


@pytest.mark.parametrize(
    ("wide", "high"), [(1000, 160), (1000, 230), (2400, 420), (420, 620), (420, 200)]
)
def test_nothing_lies_over_anything_else_however_low_the_pane_is(
    qtbot: QtBot, studio: Studio, pane: TensorViewPane, wide: int, high: int
) -> None:
    show(qtbot, studio, pane, np.arange(4 * 3 * 5 * 6, dtype=np.float32).reshape(4, 3, 5, 6))
    pane.resize(wide, high)
    settle(qtbot, pane)
    parts = (pane.sheet, pane.histogram, pane.slices)
    areas = [QRect(each.mapTo(pane, QPoint(0, 0)), each.size()) for each in parts]
    for one, other in itertools.combinations(areas, 2):
        assert not one.intersects(other)
    assert (areas[1].left() > areas[0].right()) == (wide > 600)
    if wide > 600:
        # What is looked at is whole; what it is about may be scrolled to.
        assert pane.rect().contains(areas[0])
