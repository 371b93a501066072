"""Barriers stand exactly where a dispatch meets what another one wrote or read."""

from __future__ import annotations

import pytest

from studio.engine.gl.recorder import Hazards, Span

A: Span = (1, 0, 64)
B: Span = (1, 64, 128)
OVER_BOTH: Span = (1, 32, 96)
ELSEWHERE: Span = (2, 0, 64)


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        (([], [A]), ([A], [B]), True),
        (([A], []), ([A], [B]), False),
        (([A], []), ([], [A]), True),
        (([], [A]), ([], [A]), True),
        (([], [A]), ([], [B]), False),
        (([], [A]), ([OVER_BOTH], []), True),
        (([], [A]), ([ELSEWHERE], [B]), False),
    ],
)
def test_overlaps_with_one_side_writing_wait(
    first: tuple[list[Span], list[Span]], second: tuple[list[Span], list[Span]], waits: bool
) -> None:
    hazards = Hazards()
    assert not hazards.needs_barrier(*first)
    assert hazards.needs_barrier(*second) is waits


def test_a_barrier_settles_everything_before_it() -> None:
    hazards = Hazards()
    hazards.needs_barrier([], [A])
    hazards.needs_barrier([], [B])
    assert hazards.needs_barrier([A], [ELSEWHERE])
    assert not hazards.needs_barrier([B], [])
    assert hazards.needs_barrier([ELSEWHERE], [])
