"""Which axis goes where, and that every cell of a layout can be pointed at."""

from __future__ import annotations

import itertools

import pytest

from studio.session.tensor_view.layout import SMALLEST_TILE, Layout, Region, layout_of, place
from studio.session.tensor_view.slices import Slicing, parse_slicing

VIEW = (400.0, 300.0)


@pytest.mark.parametrize(
    ("shape", "options", "wanted"),
    [
        ((), {}, Layout("number")),
        ((9,), {}, Layout("bars", columns=0)),
        ((4, 5), {}, Layout("map", rows=0, columns=1)),
        ((2, 4, 5), {}, Layout("tiles", 0, 1, 2)),
        ((3, 3, 8), {"weights": True}, Layout("tiles", 2, 0, 1)),
        ((4, 5, 3), {"colour": True}, Layout("colour", None, 0, 1, 2)),
        ((8, 6, 6, 16), {}, Layout("tiles", 3, 1, 2, None, (0,))),
        ((8, 6, 6, 1), {}, Layout("tiles", 0, 1, 2, None, (3,))),
        ((8, 6, 6, 3), {"colour": True}, Layout("colour", 0, 1, 2, 3)),
        ((8, 6, 6, 3), {}, Layout("tiles", 3, 1, 2, None, (0,))),
        ((3, 3, 8, 16), {"weights": True}, Layout("tiles", 3, 0, 1, None, (2,))),
        ((2, 3, 4, 5, 6), {}, Layout("tiles", 4, 2, 3, None, (0, 1))),
        ((2, 3, 4, 5, 6, 7), {}, Layout("tiles", 5, 3, 4, None, (0, 1, 2))),
    ],
    ids=str,
)
def test_every_rank_has_a_usual_layout(
    shape: tuple[int, ...], options: dict[str, bool], wanted: Layout
) -> None:
    assert layout_of(shape, Slicing.whole(shape), **options) == wanted


def test_a_named_index_takes_its_axis_out() -> None:
    shape = (8, 6, 6, 16)
    slicing = parse_slicing("[0, :, :, 3]", shape)
    assert layout_of(shape, slicing) == Layout("map", rows=1, columns=2)
    assert layout_of(shape, parse_slicing("[0, 1, 2, 3]", shape)).kind == "number"


@pytest.mark.parametrize(
    "shape", [(5,), (4, 7), (100, 80), (500, 900), (30, 8, 6), (7, 40, 33, 12), (1, 1), (9000,)],
    ids=str,
)  # fmt: skip
def test_a_layout_fits_its_view_and_every_cell_is_hit(shape: tuple[int, ...]) -> None:
    slicing = Slicing.whole(shape)
    sheet_layout = place(shape, slicing, layout_of(shape, slicing), VIEW)
    rows, columns = sheet_layout.cells
    assert sheet_layout.cell >= 1 or sheet_layout.sheet.rows is None
    seen = set()
    for tile in range(sheet_layout.tiles):
        left, top = sheet_layout.tile_at(tile)
        if sheet_layout.sheet.rows is not None:
            assert left >= 0
            assert left + columns * sheet_layout.cell <= VIEW[0] + 1e-6
            assert top + rows * sheet_layout.cell <= VIEW[1] + 1e-6
        for row, column in itertools.product({0, rows - 1}, {0, columns - 1}):
            x, y = left + (column + 0.5) * sheet_layout.cell, top + (row + 0.5) * sheet_layout.cell
            assert sheet_layout.hit(x, y) == (tile, row, column)
            seen.add((tile, row, column))
    assert len(seen) == sheet_layout.tiles * len({0, rows - 1}) * len({0, columns - 1})
    assert sheet_layout.hit(-1, 5) is None
    assert sheet_layout.hit(5, -1) is None


def test_gaps_between_tiles_hit_nothing() -> None:
    shape = (6, 4, 4)
    slicing = Slicing.whole(shape)
    sheet_layout = place(shape, slicing, layout_of(shape, slicing), VIEW)
    left, top = sheet_layout.tile_at(0)
    assert sheet_layout.hit(left + 4.5 * sheet_layout.cell, top + sheet_layout.cell) is None


def test_elements_below_a_pixel_share_cells() -> None:
    shape = (3000, 2000)
    slicing = Slicing.whole(shape)
    sheet_layout = place(shape, slicing, layout_of(shape, slicing), VIEW)
    down, across = sheet_layout.sheet.block
    assert down == across == 10
    assert sheet_layout.cells == (300, 200)


def test_more_tiles_than_fit_are_on_pages() -> None:
    shape = (60000, 28, 28)
    slicing = Slicing.whole(shape)
    layout = layout_of(shape, slicing)
    seen: list[int] = []
    first = place(shape, slicing, layout, VIEW)
    for page in range(first.pages):
        sheet_layout = place(shape, slicing, layout, VIEW, page=page)
        assert sheet_layout.cells[0] * sheet_layout.cell <= VIEW[1]
        pick = sheet_layout.sheet.picks[0]
        seen += range(pick.start, pick.start + pick.count)
    assert seen == list(range(60000))
    assert first.tiles <= (VIEW[0] // SMALLEST_TILE) * (VIEW[1] // SMALLEST_TILE)


def test_sliders_choose_one_index_of_their_axes() -> None:
    shape = (8, 6, 6, 16)
    slicing = parse_slicing("[::2]", shape)
    layout = layout_of(shape, slicing)
    sheet_layout = place(shape, slicing, layout, VIEW, positions={0: 3})
    assert sheet_layout.sheet.index(2, 4, 5) == (6, 4, 5, 2)
    assert place(shape, slicing, layout, VIEW, positions={0: 99}).sheet.picks[0].start == 6


def test_a_region_is_drawn_finer() -> None:
    shape = (3000, 2000)
    slicing = Slicing.whole(shape)
    region = Region(100, 50, 30, 40)
    sheet_layout = place(shape, slicing, layout_of(shape, slicing), VIEW, region=region)
    assert sheet_layout.sheet.exact
    assert sheet_layout.cell == 10
    assert sheet_layout.sheet.index(0, 0, 0) == (100, 50)
    assert sheet_layout.cells == (30, 40)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0, 5), (2, 3, 0, 4)], ids=str)
def test_empty_tensors_have_a_layout_with_nothing_on_it(shape: tuple[int, ...]) -> None:
    slicing = Slicing.whole(shape)
    sheet_layout = place(shape, slicing, layout_of(shape, slicing), VIEW)
    assert sheet_layout.sheet.empty
    assert sheet_layout.hit(10, 10) is None
