"""Work is counted from its last break on."""

from __future__ import annotations

import pytest

from studio.engine.profiler.steady_work import MOST_BREAKS, SteadyWork


def counted(*blocks: float) -> float:
    """Seconds counted after blocks that follow each other."""
    work, now = SteadyWork(), 100.0
    for took in blocks:
        now += took
        work.add(now, took)
    return work.seconds


def test_the_first_block_does_not_count() -> None:
    assert counted() == 0.0
    assert counted(5.0) == 0.0
    assert counted(5.0, 0.25, 0.5) == pytest.approx(0.75)


def test_blocks_that_get_shorter_all_count() -> None:
    assert counted(1.0, 0.9, 0.5, 0.3, 0.25) == pytest.approx(1.95)


def test_a_break_begins_anew() -> None:
    assert counted(0.1, 0.1, 0.1, 1.6, 0.1, 0.15) == pytest.approx(0.25)
    assert counted(0.1, 0.1, 0.19, 0.1) == pytest.approx(0.39), "a little longer is no break"
    assert counted(0.01, 0.01, 0.2, 0.01) == pytest.approx(0.22), "too short for a clock to sink"
    assert counted(1.0, 1.0, 1.9, 1.0) == pytest.approx(3.9), "blocks of seconds may vary"


def test_breaks_do_not_go_on_for_ever() -> None:
    unsettled = [0.1] + [0.1, 1.0] * 20
    left = 20 - MOST_BREAKS
    assert counted(*unsettled) == pytest.approx(left * 1.1)
