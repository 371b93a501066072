"""Barriers stand exactly where a dispatch meets what another one wrote or read."""

from __future__ import annotations

import random

import pytest

from studio.engine.gl.plan.hazards import (
    Hazards,
    Levels,
    Span,
    Touches,
    with_slack,
    without_seam,
)

A: Span = (1, 0, 64)
B: Span = (1, 64, 128)
OVER_BOTH: Span = (1, 32, 96)
ELSEWHERE: Span = (2, 0, 64)
C: Span = (3, 0, 64)
D: Span = (3, 64, 128)


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


def test_levels_hold_what_need_not_wait_for_each_other() -> None:
    levels = Levels()
    assert levels.place([], [A]) == 0
    assert levels.place([], [B]) == 0
    assert levels.place([A], [ELSEWHERE]) == 1
    assert levels.place([B], []) == 1
    assert levels.place([ELSEWHERE], []) == 2
    assert levels.place([], [OVER_BOTH]) == 2
    assert levels.place([B], []) == 3


@pytest.mark.parametrize("seed", range(5))
def test_levels_keep_every_pair_that_meets_in_order(seed: int) -> None:
    draw = random.Random(seed)

    def spans() -> list[Span]:
        begins = [(draw.randrange(2), draw.randrange(20)) for _ in range(draw.randrange(4))]
        return [(name, begin, begin + draw.randrange(1, 5)) for name, begin in begins]

    def bytes_of(found: list[Span]) -> set[tuple[int, int]]:
        return {(name, at) for name, begin, end in found for at in range(begin, end)}

    levels = Levels()
    lines = [(bytes_of(r), bytes_of(w), levels.place(r, w)) for r, w in
             ((spans(), spans()) for _ in range(120))]  # fmt: skip
    for later, (reads, writes, level) in enumerate(lines):
        met = [before for r, w, before in lines[:later] if writes & (r | w) or reads & w]
        assert level == max((before + 1 for before in met), default=0)


def test_patient_dispatches_run_one_level_later_where_nobody_waits_there() -> None:
    # A product leaves parts, their sum is patient; the next level reads something else.
    touches: list[tuple[list[Span], list[Span]]] = [
        ([], [A]),
        ([A], [B]),
        ([A], [ELSEWHERE]),
        ([ELSEWHERE], []),
        ([B], []),
    ]
    levels = Levels()
    found = [levels.place(*one) for one in touches]
    assert found == [0, 1, 1, 2, 2]
    patient = [False, True, False, False, False]
    assert with_slack(found, touches, patient) == [0, 1, 1, 2, 2]
    assert with_slack(found[:-1], touches[:-1], patient[:-1]) == [0, 2, 1, 2]
    # The last level stays the last.
    assert with_slack(found[:3], touches[:3], patient[:3]) == [0, 1, 1]
    # Who writes where it reads waits for it.
    again = [*touches[:-1], ([ELSEWHERE], [A])]
    assert with_slack(found, again, patient) == [0, 1, 1, 2, 2]


def test_patient_dispatches_make_room_for_each_other() -> None:
    # Parts of a product and their sum may both wait, while a chain of others goes on.
    touches: list[tuple[list[Span], list[Span]]] = [
        ([], [A]),
        ([], [B]),
        ([A], [ELSEWHERE]),
        ([ELSEWHERE], [C]),
        ([C], []),
        ([B], [D]),
    ]
    levels = Levels()
    found = [levels.place(*one) for one in touches]
    assert found == [0, 0, 1, 2, 3, 1]
    patient = [False, True, False, False, False, True]
    assert with_slack(found, touches, patient) == [0, 1, 1, 2, 3, 2]
    # Not where the sum has to come at once, nor where somebody writes what the product reads.
    patient[5] = False
    assert with_slack(found, touches, patient) == [0, 0, 1, 2, 3, 1]
    patient[5] = True
    touches[1], touches[2] = ([C], [B]), ([A], [ELSEWHERE, C])
    assert with_slack(found, touches, patient) == [0, 0, 1, 2, 3, 2]


@pytest.mark.parametrize(
    ("begin", "end", "seamless"),
    [
        (([A], [C]), ([B], [D]), True),
        (([A], [C]), ([A], [D]), True),
        # The end writes what begins by being read; what the end touches is written again.
        (([A], [C]), ([B], [OVER_BOTH]), False),
        (([A], [C]), ([C], [D]), False),
        (([A], [C]), ([B], [C]), False),
    ],
)
def test_steps_join_where_their_ends_do_not_meet(
    begin: tuple[list[Span], list[Span]], end: tuple[list[Span], list[Span]], seamless: bool
) -> None:
    wants_all: tuple[list[Span], list[Span]] = ([C, D], [A, ELSEWHERE])
    nothing: tuple[list[Span], list[Span]] = ([], [])
    assert joined([begin, wants_all, end], [0, 1, 2]) == ([0, 1, 2] if seamless else None)
    # Every dispatch of the first level counts, and every one of the last.
    plain = [0, 0, 1, 2, 2]
    touches = [nothing, begin, wants_all, end, nothing]
    assert joined(touches, plain) == (plain if seamless else None)


def joined(touches: list[Touches], expected: list[int]) -> list[int] | None:
    """Levels without a seam of dispatches whose own levels are as expected."""
    return without_seam(expected, touches, [0] * len(touches))


def test_what_stands_at_the_seam_begins_a_level_later_if_that_takes_no_more_levels() -> None:
    counter: Span = (4, 0, 8)
    touches: list[Touches] = [
        ([counter], [A]),
        ([counter], [B]),
        ([A], [C]),
        ([counter], [counter]),
        ([C], [D]),
        ([B, D], [ELSEWHERE]),
        ([ELSEWHERE], [OVER_BOTH]),
    ]
    levels = Levels()
    found = [levels.place(*one) for one in touches]
    assert found == [0, 0, 1, 1, 2, 3, 4]
    # Both copies are written where the last dispatch writes, and one is wanted at once.
    assert joined(touches, found) is None
    touches[-1] = ([ELSEWHERE], [(1, 72, 128)])
    # The other one goes beside who wants the first; the counter moves on behind it.
    assert joined(touches, found) == [0, 1, 1, 2, 2, 3, 4]


def test_a_step_of_one_level_waits_for_itself() -> None:
    assert joined([([A], [B])], [0]) is None
    assert joined([], []) is None
