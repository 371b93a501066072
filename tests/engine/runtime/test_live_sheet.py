"""Sheets of tensors against loops over single elements."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.errors import ParameterError
from studio.engine.runtime.live_sheet import (
    HAS_FINITE,
    HAS_MINUS,
    HAS_NAN,
    HAS_PLUS,
    Pick,
    Sheet,
    Tile,
    draw,
)


def whole(shape: tuple[int, ...], **axes: int | tuple[int, int]) -> Sheet:
    return Sheet(shape, tuple(Pick(0, 1, size) for size in shape), **axes)  # type: ignore[arg-type]


def naive(array: np.ndarray, sheet: Sheet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least, greatest and marks of every cell, element by element."""
    counts = [1 if axis is None else sheet.picks[axis].count for axis in sheet.axes]
    if sheet.empty:
        counts[0] = 0
    tiles, rows, columns, channels = counts
    down, across = sheet.block
    cells = (tiles, math.ceil(rows / down), math.ceil(columns / across), channels)
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    marks = np.zeros(cells, int)
    for t, r, c, k in itertools.product(*(range(n) for n in counts)):
        index = [pick.start for pick in sheet.picks]
        for axis, place in zip(sheet.axes, (t, r, c, k), strict=True):
            if axis is not None:
                index[axis] += sheet.picks[axis].step * place
        value = float(array[tuple(index)])
        cell = (t, r // down, c // across, k)
        if math.isnan(value):
            marks[cell] |= HAS_NAN
        elif math.isinf(value):
            marks[cell] |= HAS_PLUS if value > 0 else HAS_MINUS
        else:
            marks[cell] |= HAS_FINITE
            low[cell], high[cell] = min(low[cell], value), max(high[cell], value)
    none = (marks & HAS_FINITE) == 0
    low[none] = high[none] = np.nan
    return low, high, marks


def assert_same(tile: Tile, array: np.ndarray, sheet: Sheet) -> None:
    low, high, marks = naive(array, sheet)
    np.testing.assert_array_equal(tile.marks, marks)
    np.testing.assert_array_equal(tile.low, low.astype(np.float32))
    np.testing.assert_array_equal(tile.high, high.astype(np.float32))


def spoiled(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    array = rng.standard_normal(shape).astype(np.float32)
    flat = array.reshape(-1)
    for value in (np.nan, np.inf, -np.inf):
        flat[rng.integers(0, flat.size, max(1, flat.size // 9))] = value
    return array


SHEETS = {
    "number": ((), {}),
    "bars": ((7,), {"columns": 0}),
    "bars coarse": ((23,), {"columns": 0, "block": (1, 4)}),
    "matrix": ((5, 6), {"rows": 0, "columns": 1}),
    "matrix turned": ((5, 6), {"rows": 1, "columns": 0}),
    "matrix coarse": ((9, 11), {"rows": 0, "columns": 1, "block": (2, 3)}),
    "tiles": ((3, 4, 5), {"tiles": 0, "rows": 1, "columns": 2}),
    "maps": ((2, 4, 5, 3), {"tiles": 3, "rows": 1, "columns": 2}),
    "colour": ((2, 4, 5, 3), {"tiles": 0, "rows": 1, "columns": 2, "channels": 3}),
    "colour coarse": (
        (2, 7, 5, 3),
        {"tiles": 0, "rows": 1, "columns": 2, "channels": 3, "block": (3, 2)},
    ),
    "six": ((2, 2, 3, 2, 3, 2), {"tiles": 2, "rows": 4, "columns": 5}),
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_tile_holds_what_single_elements_say(name: str, rng: np.random.Generator) -> None:
    shape, axes = SHEETS[name]
    array = spoiled(rng, shape)
    sheet = whole(shape, **axes)
    assert_same(draw(array, sheet), array, sheet)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float16])
def test_exact_cells_keep_the_elements_of_every_type(
    dtype: type[np.generic], rng: np.random.Generator
) -> None:
    array = rng.integers(0, 2, (4, 6)).astype(dtype)
    if dtype is np.int32:
        array[1, 2] = 16777217
    tile = draw(array, whole((4, 6), rows=0, columns=1))
    assert tile.values is not None
    assert tile.values.dtype == dtype
    np.testing.assert_array_equal(tile.values[0, :, :, 0], array)
    coarse = whole((4, 6), rows=0, columns=1, block=(2, 4))
    assert_same(draw(array, coarse), array, coarse)


picks = st.integers(1, 9).flatmap(
    lambda size: st.tuples(
        st.just(size), st.integers(0, size - 1), st.integers(-3, 3).filter(bool)
    ).flatmap(
        lambda found: st.tuples(
            st.just(found[0]),
            st.just(found[1]),
            st.just(found[2]),
            st.integers(
                0,
                1 + (found[0] - 1 - found[1] if found[2] > 0 else found[1]) // abs(found[2]),
            ),
        )
    )
)


@pytest.mark.slow
@given(
    st.lists(picks, min_size=1, max_size=4), st.permutations(range(4)), st.integers(1, 4),
    st.integers(1, 4),
)  # fmt: skip
def test_slices_with_steps_of_both_signs(
    axes: list[tuple[int, int, int, int]], order: list[int], down: int, across: int
) -> None:
    shape = tuple(size for size, *_ in axes)
    array = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    roles = [axis if axis < len(shape) else None for axis in order]
    sheet = Sheet(shape, tuple(Pick(*rest) for _, *rest in axes), *roles, block=(down, across))
    assert_same(draw(array, sheet), array, sheet)


def test_places_and_indices_are_each_other_s_inverse() -> None:
    sheet = Sheet(
        (2, 5, 7), (Pick(1, 1, 1), Pick(4, -2, 3), Pick(1, 2, 3)), rows=1, columns=2
    )  # fmt: skip
    seen = set()
    for row, column in itertools.product(range(3), range(3)):
        index = sheet.index(0, row, column)
        assert sheet.place(index) == (0, row, column, 0)
        seen.add(index)
    every = itertools.product(range(2), range(5), range(7))
    assert {index for index in every if sheet.place(index) is not None} == seen
    assert seen == {(1, a, b) for a in (4, 2, 0) for b in (1, 3, 5)}


def test_an_empty_tensor_makes_an_empty_tile() -> None:
    sheet = whole((0, 4), rows=0, columns=1)
    tile = draw(np.empty((0, 4), np.float32), sheet)
    assert tile.low.size == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"picks": (Pick(0, 1, 4),)},
        {"picks": (Pick(0, 1, 6), Pick(0, 1, 6))},
        {"picks": (Pick(0, -1, 2), Pick(0, 1, 6))},
        {"rows": 2},
        {"rows": 0, "columns": 0},
        {"block": (0, 1)},
    ],
)
def test_a_sheet_outside_its_tensor_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Sheet(**{"shape": (5, 6), "picks": (Pick(0, 1, 5), Pick(0, 1, 6)), **bad})  # type: ignore[arg-type]


def test_a_large_tensor_is_looked_at_in_bands(rng: np.random.Generator) -> None:
    array = spoiled(rng, (1500, 1400))
    sheet = whole(array.shape, rows=0, columns=1, block=(64, 50))
    tile = draw(array, sheet)
    blocks = [
        [array[r : r + 64, c : c + 50] for c in range(0, 1400, 50)] for r in range(0, 1500, 64)
    ]
    for at_row, row in enumerate(blocks):
        for at_column, block in enumerate(row):
            finite = block[np.isfinite(block)]
            assert tile.low[0, at_row, at_column, 0] == finite.min()
            assert tile.high[0, at_row, at_column, 0] == finite.max()
            assert bool(tile.marks[0, at_row, at_column, 0] & HAS_NAN) == np.isnan(block).any()
