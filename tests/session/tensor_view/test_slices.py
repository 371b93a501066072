"""Typed slices against NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.errors import ParameterError
from studio.engine.runtime.live_sheet import Sheet, draw
from studio.session.tensor_view.slices import (
    MOST_PAST,
    parse_index,
    parse_slicing,
    past_wanted,
)


def taken(text: str, array: np.ndarray) -> np.ndarray:
    """What a text takes, by the picks alone."""
    found = parse_slicing(text, array.shape)
    grid = np.ix_(*[[p.start + p.step * k for k in range(p.count)] for p in found.picks])
    return array[grid].squeeze(axis=tuple(found.fixed))


@pytest.mark.parametrize(
    "text",
    ["[0, :, ::2]", "[:, -1]", "[...]", "[..., 3]", "[1, ..., 0]", "::-1", "", "[]", "[2:1]",
     "[-2:, 1:4:2, 5]", "[ 1 , : ]", "[5:0:-2]", "[0, :,]", "[:, :, -3:-1]"],
)  # fmt: skip
def test_slices_take_what_numpy_takes(text: str) -> None:
    array = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    inside = text.strip().removeprefix("[").removesuffix("]").strip().rstrip(",") or "..."
    wanted = eval(f"array[{inside}]", {"array": array})
    np.testing.assert_array_equal(taken(text, array), wanted)


bounds = st.none() | st.integers(-9, 9)


@given(st.integers(0, 7), bounds, bounds, st.none() | st.integers(-4, 4).filter(bool))
def test_stretches_of_all_kinds(
    size: int, start: int | None, stop: int | None, step: int | None
) -> None:
    array = np.arange(size)
    text = ":".join("" if n is None else str(n) for n in (start, stop, step))
    np.testing.assert_array_equal(taken(text, array), array[slice(start, stop, step)])
    if 0 in taken(text, array).shape:
        return
    Sheet(array.shape, parse_slicing(text, array.shape).picks, columns=0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[4, :, :]", "axis 0 has 4 indices, got 4"),
        ("[:, -6]", "axis 1 has 5 indices, got -6"),
        ("[a]", "axis 0: expected a whole number"),
        ("[1.5]", "axis 0: expected a whole number"),
        ("[0, 0, 0, 0]", "3 axes: got 4"),
        ("[::0]", "step of axis 0 cannot be 0"),
        ("[0:1:2:3]", "start:stop:step"),
        ("[..., ...]", "only once"),
        ("[0", "bracket"),
        ("[0,,1]", "axis 1: expected"),
        ("__import__('os')", "bracket|axis 0"),
    ],
)
def test_what_is_no_slice_is_refused_with_the_axis(text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse_slicing(text, (4, 5, 6))


def test_an_index_names_one_element() -> None:
    assert parse_index("3, -1, 0", (4, 5, 6)) == (3, 4, 0)
    assert parse_index("", ()) == ()
    with pytest.raises(ParameterError, match="one index for each axis"):
        parse_index("3, :", (4, 5))


def test_a_sliced_picture_holds_what_numpy_takes(rng: np.random.Generator) -> None:
    array = rng.standard_normal((5, 6, 7)).astype(np.float32)
    found = parse_slicing("[2, ::-2, 1::3]", array.shape)
    made = draw(array, Sheet(array.shape, found.picks, rows=1, columns=2))
    np.testing.assert_array_equal(made.low[0, :, :, 0], array[2, ::-2, 1::3])


@pytest.mark.parametrize(
    ("text", "count"),
    [("t[-50:]", 50), (" t [ -3 : , 0 ]", 3), ("t[-1]", 1), ("t[:]", MOST_PAST), ("t[]", MOST_PAST),
     ("t[::2, :, 1]", MOST_PAST), ("t[-9999:]", MOST_PAST), ("[-50:]", 0), ("", 0), ("t", 0),
     ("tt[-5:]", 0), ("-50:", 0)],
)  # fmt: skip
def test_a_slice_over_the_past_says_how_many_pictures_it_needs(text: str, count: int) -> None:
    assert past_wanted(text) == count


def test_a_slice_over_the_past_is_taken_of_the_pictures_in_a_row() -> None:
    array = np.arange(5 * 3 * 4).reshape(5, 3, 4)
    for text, wanted in (
        ("t[-2:]", array[-2:]),
        ("t[::2, 1]", array[::2, 1]),
        ("t[-1]", array[-1]),
    ):
        np.testing.assert_array_equal(taken(text, array), wanted)
    with pytest.raises(ParameterError, match="bracket"):
        parse_slicing("t[-2:", array.shape)
