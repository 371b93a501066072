"""Gaps in an arena: the same ones as by looking at every storage placed before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.engine.compiler.lifetimes import Span
from studio.engine.compiler.taken_bytes import TakenBytes

LENGTH = 37
ENDLESS = 1 << 20
"""A part no test fills."""


def looked_for(
    placed: list[tuple[Span, int, int]], span: Span, nbytes: int, alignment: int, part: int
) -> int:
    """The lowest of the smallest gaps that hold it, by the bytes free in every instruction."""
    rivals = [p for p in placed if p[0].first <= span.last and span.first <= p[0].last]
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
sizes = st.integers(1, 12).map(lambda words: 4 * words)


@given(
    st.lists(st.tuples(spans, sizes), max_size=40),
    st.sampled_from([4, 16, 64]),
    st.sampled_from([64, 192, ENDLESS]),
)
def test_every_storage_takes_the_best_gap(
    wanted: list[tuple[Span, int]], alignment: int, part: int
) -> None:
    taken = TakenBytes(LENGTH, alignment, part)
    placed: list[tuple[Span, int, int]] = []
    for span, nbytes in wanted:
        offset = taken.place(span, nbytes)
        assert offset == looked_for(placed, span, nbytes, alignment, part)
        assert offset // part == (offset + nbytes - 1) // part
        placed.append((span, offset, nbytes))


def test_of_two_gaps_the_smaller_one_is_taken() -> None:
    taken = TakenBytes(4, 4, ENDLESS)
    places = [
        taken.place(Span(0, 0), 16), taken.place(Span(0, 3), 4), taken.place(Span(0, 0), 8),
        taken.place(Span(0, 3), 4),
    ]  # fmt: skip
    assert places == [0, 16, 20, 28]
    assert taken.place(Span(2, 3), 8) == 20
    assert taken.place(Span(1, 1), 8) == 20
    assert taken.place(Span(2, 3), 8) == 0


def test_a_program_of_one_instruction() -> None:
    taken = TakenBytes(1, 16, ENDLESS)
    assert [taken.place(Span(0, 0), 4) for _ in range(3)] == [0, 16, 32]
