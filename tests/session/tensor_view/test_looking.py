"""What is chosen of a tensor, pointed at and coloured: slices, tiles, elements, the range."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Role
from studio.session.core import entities
from studio.session.live.sources import HeldWeights
from studio.session.tensor_view.pointing import LinkedCursor
from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.session.tensor_view.words import pick_text
from tests.session.live.bench import Studio
from tests.session.tensor_view.desk import settled, showing


def test_typed_slices_and_sliders_choose_what_is_shown(
    studio: Studio, rng: np.random.Generator
) -> None:
    array = rng.standard_normal((4, 5, 6, 3)).astype(np.float32)
    view = showing(studio, array)
    settled(studio, view)
    assert [(s.axis, s.count) for s in view.sliders] == [(0, 4)]
    view.set_position(0, 2)
    settled(studio, view)
    assert view.frame is not None
    assert view.frame.tile is not None
    np.testing.assert_array_equal(
        view.frame.tile.low[..., 0], np.moveaxis(array[2], -1, 0)
    )  # fmt: skip
    assert view.set_slice("[1, ::2, :, 0]")
    settled(studio, view)
    assert view.frame.tile is not None
    np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], array[1, ::2, :, 0])
    assert not view.set_slice("[9]")
    assert view.slice_error == "axis 0 has 4 indices, got 9"
    np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], array[1, ::2, :, 0])
    told: list[str] = []

    def hear() -> None:
        told.append(view.slice_error)

    # Back at the slice that is shown: nothing else changes, and the word about the wrong one goes.
    view.changed.connect(hear)
    assert view.set_slice("[1, ::2, :, 0]")
    assert told == [""]
    assert view.set_slice("")
    assert view.slice_error == ""


def test_channels_and_tiles_are_looked_at_by_themselves(
    studio: Studio, rng: np.random.Generator
) -> None:
    array = rng.uniform(0, 1, (4, 5, 6, 3)).astype(np.float32)
    view = showing(studio, array, role=Role.INPUT)
    settled(studio, view)
    assert view.frame is not None
    assert view.frame.tile is not None
    assert view.frame.tile.low.shape == (4, 5, 6, 3)
    view.set_channel(1)
    settled(studio, view)
    np.testing.assert_array_equal(view.frame.tile.low[..., 0], array[..., 1])
    view.set_channel(None)
    view.set_colour(False)
    settled(studio, view)
    assert view.frame.tile.low.shape == (3, 5, 6, 1)
    view.open_tile(2)
    settled(studio, view)
    np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], array[0, :, :, 2])
    assert [(s.axis, s.at, s.count) for s in view.sliders] == [(0, 0, 4), (3, 2, 3)]
    view.turn(-1)
    settled(studio, view)
    np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], array[0, :, :, 1])
    view.set_position(3, 0)
    view.set_position(0, 3)
    settled(studio, view)
    np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], array[3, :, :, 0])
    view.open_tile(None)
    settled(studio, view)
    assert view.frame.tile.low.shape == (3, 5, 6, 1)


def test_pages_of_tiles_are_turned(studio: Studio) -> None:
    array = np.zeros((3000, 8, 8), np.uint8)
    view = showing(studio, array)
    assert view.sheet_layout is not None
    pages = view.sheet_layout.pages
    assert pages > 1
    for _ in range(pages + 2):
        view.turn(1)
    assert view.view_state.page == pages - 1
    view.turn(-1)
    assert view.view_state.page == pages - 2


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16"])
def test_what_is_pointed_at_is_exact(studio: Studio, dtype: str, rng: np.random.Generator) -> None:
    array = (rng.uniform(0, 250, (600, 700))).astype(dtype)
    if dtype == "int32":
        array[120, 140] = 16777217
    view = showing(studio, array)
    view.pointing.set((120, 140))
    studio.until(lambda: view.pointing.value is not None)
    assert view.pointing.value == array[120, 140]
    text = pick_text(view.pointing.index, view.pointing.value)
    assert text.startswith("[120, 140] = ")
    assert np.dtype(dtype).type(float(text.split(" = ")[1])) == array[120, 140]


def test_pixels_and_arrows_point_at_elements(studio: Studio) -> None:
    array = np.arange(30, dtype=np.float32).reshape(5, 6)
    view = showing(studio, array)
    settled(studio, view)
    sheet_layout = view.sheet_layout
    assert sheet_layout is not None
    view.pointing.at(
        sheet_layout.left + 2.5 * sheet_layout.cell, sheet_layout.top + 1.5 * sheet_layout.cell
    )
    assert view.pointing.index == (1, 2)
    assert view.pointing.value == 8.0
    for right, down, wanted in ((1, 0, (1, 3)), (0, 1, (2, 3)), (-9, 0, (2, 0)), (0, 9, (4, 0))):
        view.pointing.nudge(right, down)
        assert view.pointing.index == wanted
    view.pointing.at(-5, -5)
    assert view.pointing.index is None
    view.pointing.nudge(1, 0)
    assert view.pointing.index == (0, 0)


def test_an_index_can_be_typed_and_is_brought_into_sight(studio: Studio) -> None:
    array = np.zeros((4, 5, 6, 3), np.float32)
    array[3, 4, 5, 1] = 7.0
    view = showing(studio, array)
    settled(studio, view)
    view.set_slice("[0, :, :, 0]")
    view.pointing.go_to("3, -1, 5, 1")
    assert view.pointing.index == (3, 4, 5, 1)
    settled(studio, view)
    assert view.sheet_layout is not None
    assert view.sheet_layout.sheet.place((3, 4, 5, 1)) is not None
    assert view.pointing.value == 7.0
    with pytest.raises(ParameterError, match="axis 0 has 4"):
        view.pointing.go_to("4, 0, 0, 0")


def test_a_pick_is_shared_by_views_of_one_shape(studio: Studio) -> None:
    picks = LinkedCursor()
    arrays = {"a": np.ones((3, 4), np.float32), "b": np.zeros((3, 4), np.float32),
              "c": np.zeros((4, 3), np.float32)}  # fmt: skip
    studio.live.rest_on(HeldWeights("a test", lambda: arrays))
    views = [TensorViewModel(studio.live, studio.tasks, picks=picks) for _ in arrays]
    for view, name in zip(views, arrays, strict=True):
        view.set_active(True)
        view.show(entities.tensor(name))
    studio.until(lambda: all(view.frame for view in views))
    views[0].pointing.set((2, 1))
    assert [view.pointing.index for view in views] == [(2, 1), (2, 1), None]
    late = TensorViewModel(studio.live, studio.tasks, picks=picks)
    late.set_active(True)
    late.show(entities.tensor("b"))
    studio.until(lambda: late.pointing.index == (2, 1))


def test_the_range_follows_until_a_handle_is_moved(studio: Studio) -> None:
    arrays = {"t": np.array([[0.0, 4.0]], np.float32)}
    view = showing(studio, arrays["t"])
    assert (view.colours.low, view.colours.high, view.colours.map_name) == (0.0, 4.0, "sequential")

    def become(*values: float) -> None:
        before = view.frame
        array = np.array([values], np.float32)
        studio.live.rest_on(HeldWeights("a test", lambda: {"t": array}))
        studio.until(lambda: view.frame is not before)

    become(1.0, 9.0)
    assert (view.colours.low, view.colours.high) == (1.0, 9.0)
    become(-1.0, 3.0)
    assert (view.colours.low, view.colours.high, view.colours.map_name) == (-3.0, 3.0, "diverging")
    become(1.0, 2.0)
    assert (view.colours.low, view.colours.high) == (-2.0, 2.0)
    view.fit_range()
    become(-50.0, 50.0)
    assert (view.colours.low, view.colours.high) == (-2.0, 2.0)
    view.move_range(low=-5.0)
    assert (view.colours.low, view.colours.high) == (-5.0, 5.0)
    view.follow_range(True)
    assert (view.colours.low, view.colours.high) == (-50.0, 50.0)


def test_handles_do_not_cross() -> None:
    from studio.session.tensor_view.colours import ColourRange

    made = ColourRange(0.0, 4.0)
    assert made.moved(low=9.0).low == 4.0
    assert made.moved(high=-9.0).high == 0.0
    assert not made.moved(low=1.0).follows
