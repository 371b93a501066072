"""Gaps in an arena: the same ones as by looking at every storage placed before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.compiler.lifetimes import Life, Span
from studio.engine.compiler.taken_bytes import TakenBytes

LENGTH = 37
ENDLESS = 1 << 20
"""A part no test fills."""


def looked_for(
    placed: list[tuple[Life, int, int]], life: Life, nbytes: int, alignment: int, part: int
) -> int:
    """The lowest of the smallest gaps that hold it, by the bytes free during the life."""
    rivals = [p for p in placed if p[0].meets(life)]
    ends = [-(-(offset + size) // alignment) * alignment for _, offset, size in rivals]
    seams = range(0, max(ends, default=0) + 2 * part, part)
    found = []
    for begin in sorted({*ends, *seams}):
        seam = begin - begin % part + part
        if begin + nbytes > seam:
            continue
        above = [offset for _, offset, size in rivals if offset + size > begin]
        if any(offset <= begin for offset in above):
            continue
        room = min(above, default=None)
        if room is None or room - begin >= nbytes:
            found.append((float("inf") if room is None else min(room, seam) - begin, begin))
    return min(found)[1]


spans = st.tuples(st.integers(0, LENGTH - 1), st.integers(0, LENGTH - 1)).map(
    lambda ends: Span(min(ends), max(ends))
)
lives = st.builds(Life, spans, spans)
sizes = st.integers(1, 12).map(lambda words: 4 * words)


@pytest.mark.slow
@given(
    st.lists(st.tuples(lives, sizes), max_size=90),
    st.sampled_from([4, 16, 64]),
    st.sampled_from([64, 192, ENDLESS]),
)
def test_every_storage_takes_the_best_gap(
    wanted: list[tuple[Life, int]], alignment: int, part: int
) -> None:
    taken = TakenBytes(alignment, part)
    placed: list[tuple[Life, int, int]] = []
    for life, nbytes in wanted:
        offset = taken.place(life, nbytes)
        assert offset == looked_for(placed, life, nbytes, alignment, part)
        assert offset // part == (offset + nbytes - 1) // part
        placed.append((life, offset, nbytes))


def line(first: int, last: int) -> Life:
    """A life in a program whose lines are levels of their own."""
    return Life(Span(first, last), Span(first, last))


def test_of_two_gaps_the_smaller_one_is_taken() -> None:
    taken = TakenBytes(4, ENDLESS)
    places = [
        taken.place(line(0, 0), 16), taken.place(line(0, 3), 4), taken.place(line(0, 0), 8),
        taken.place(line(0, 3), 4),
    ]  # fmt: skip
    assert places == [0, 16, 20, 28]
    assert taken.place(line(2, 3), 8) == 20
    assert taken.place(line(1, 1), 8) == 20
    assert taken.place(line(2, 3), 8) == 0


def test_bytes_are_shared_only_by_what_is_apart_in_lines_and_in_levels() -> None:
    taken = TakenBytes(4, ENDLESS)
    assert taken.place(Life(Span(0, 2), Span(0, 2)), 8) == 0
    # Later in the program, but beside it: in a level of its own, or even before.
    assert taken.place(Life(Span(3, 4), Span(2, 3)), 8) == 8
    assert taken.place(Life(Span(5, 6), Span(0, 0)), 8) == 16
    assert taken.place(Life(Span(7, 8), Span(4, 5)), 8) == 0


def test_at_one_line() -> None:
    taken = TakenBytes(16, ENDLESS)
    assert [taken.place(line(0, 0), 4) for _ in range(3)] == [0, 16, 32]
