"""Live views make room for the training, and Quiet stops them."""

from __future__ import annotations

import pytest

from studio.session.live.scheduler import (
    BUDGET,
    MOST_LOOK_SECONDS,
    SHARE,
    LiveBudget,
    Pace,
)


@pytest.fixture
def budget() -> LiveBudget:
    return LiveBudget()


def test_without_a_training_everything_comes_as_often_as_it_likes(budget: LiveBudget) -> None:
    budget.set_quiet(True)
    assert budget.interval_ms("picture", 100) == 100
    assert budget.interval_ms("fact", 33) == 33


def test_too_large_a_share_spaces_refreshes_out_until_it_fits(budget: LiveBudget) -> None:
    # Live views that cost 20 ms each, ten times a second: a fifth of a core.
    for _ in range(40):
        interval = budget.interval_ms("picture", 100)
        assert interval is not None
        budget.adapt(0.02 * 1000 / interval)
    assert budget.share == pytest.approx(BUDGET, rel=0.35)
    assert budget.interval_ms("picture", 100) >= 400
    # Two places that tell the same fact at different rates stay close.
    assert budget.interval_ms("fact", 125) <= 500


def test_cheap_views_keep_their_rate(budget: LiveBudget) -> None:
    for _ in range(40):
        interval = budget.interval_ms("picture", 100)
        assert interval is not None
        budget.adapt(0.001 * 1000 / interval)
    assert budget.interval_ms("picture", 100) == 100


def test_a_passing_burst_is_forgotten(budget: LiveBudget) -> None:
    for share in (0.5, 0.5, 0.5):
        budget.adapt(share)
    assert budget.stretch > 4
    for _ in range(40):
        budget.adapt(0.01)
    assert budget.stretch == 1.0


def test_even_the_most_expensive_view_still_comes(budget: LiveBudget) -> None:
    for _ in range(100):
        budget.adapt(1.0)
    assert budget.interval_ms("picture", 100) <= 1500


def test_tensors_are_looked_at_less_often_by_the_same_budget(budget: LiveBudget) -> None:
    pace = Pace(budget)
    pace.rest(100.0)
    assert 90 < pace.left <= 100
    for _ in range(100):
        budget.adapt(1.0)
    # Often ones are spaced out up to a limit, seldom ones not at all.
    for wanted, least in ((0.01, 0.05), (0.1, 1.0), (100.0, 90.0)):
        pace.rest(wanted)
        assert least < pace.left <= max(wanted, MOST_LOOK_SECONDS)
    pace.hurry()
    assert pace.left == 0.0


def test_what_takes_long_to_copy_or_to_draw_is_looked_at_less_often(budget: LiveBudget) -> None:
    pace = Pace(budget)
    pace.rest(0.1, 30 * SHARE)
    assert 20 < pace.left <= 30
    pace.spend(30 * SHARE)
    assert 50 < pace.left <= 60
    pace.spend(30 * SHARE, postpones=False)
    assert pace.left <= 60
    assert budget.is_spent


def test_quiet_does_not_forget_how_far_apart_views_had_to_lie(budget: LiveBudget) -> None:
    budget.training_changed("running")
    for _ in range(10):
        budget.adapt(0.5)
    stretch = budget.stretch
    budget.set_quiet(True)
    budget.set_quiet(False)
    assert budget.stretch == stretch > 1.0
    budget.training_changed("finished")
    assert budget.stretch == 1.0
