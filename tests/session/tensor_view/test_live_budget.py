"""Live views make room for the training, and Quiet stops them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.engine.core.signal import Signal
from studio.session.core import entities
from studio.session.studio import Studio
from studio.session.tensor_view import live_scheduler
from studio.session.tensor_view.live_scheduler import (
    BUDGET,
    MOST_FACT_MS,
    MOST_LOOK_SECONDS,
    QUIET_FACT_MS,
    SHARE,
    LiveBudget,
    Pace,
)
from studio.session.training.session import NEWS_SECONDS
from studio.widgets import binding


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


class Watching(QWidget):
    """Counts its refreshes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def refresh(self) -> None:
        self.count += 1


@pytest.fixture
def in_force() -> Iterator[LiveBudget]:
    found = live_scheduler.budget
    yield found
    found.training_changed("idle")
    found.set_quiet(False)


def test_quiet_stops_pictures_and_slows_facts_while_a_training_runs(
    qtbot: QtBot, in_force: LiveBudget
) -> None:
    signal: Signal[[]] = Signal()
    picture, fact, still = Watching(), Watching(), Watching()
    for widget in (picture, fact, still):
        qtbot.addWidget(widget)
    binding.refresh(picture, picture.refresh, signal, rate=100, live="picture")
    binding.refresh(fact, fact.refresh, signal, rate=100, live="fact")
    binding.refresh(still, still.refresh, signal, rate=100)
    in_force.training_changed("running")
    in_force.set_quiet(True)
    begun = time.monotonic()
    while still.count < 6:
        assert time.monotonic() - begun < 30
        signal.emit()
        qtbot.wait(5)
    assert picture.count == 0
    if time.monotonic() - begun < 0.9 * QUIET_FACT_MS * 1e-3:
        assert fact.count == 1
    facts = fact.count
    in_force.training_changed("finished")
    # What was held back comes once the training is over.
    qtbot.waitUntil(lambda: picture.count == 1 and fact.count > facts, timeout=20_000)


def test_what_quiet_stops_wakes_nobody_until_it_is_over(qtbot: QtBot, in_force: LiveBudget) -> None:
    signal: Signal[[]] = Signal()
    picture = Watching()
    qtbot.addWidget(picture)
    refresh = binding.refresh(picture, picture.refresh, signal, rate=100, live="picture")
    in_force.training_changed("running")
    in_force.set_quiet(True)
    signal.emit()
    qtbot.waitUntil(lambda: refresh.waiting)
    qtbot.wait(50)
    assert not any(timer.isActive() for timer in picture.findChildren(QTimer))
    in_force.set_quiet(False)
    assert picture.count == 1
    signal.emit()
    qtbot.waitUntil(lambda: picture.count == 2)


def test_quiet_does_not_forget_how_far_apart_views_had_to_lie(in_force: LiveBudget) -> None:
    in_force.training_changed("running")
    for _ in range(10):
        in_force.adapt(0.5)
    stretch = in_force.stretch
    in_force.set_quiet(True)
    in_force.set_quiet(False)
    assert in_force.stretch == stretch > 1.0
    in_force.training_changed("finished")
    assert in_force.stretch == 1.0


def test_quiet_of_the_studio_reaches_the_views(studio: Studio, in_force: LiveBudget) -> None:
    view = studio.live.open(entities.tensor("t"))
    studio.profiling.set_quiet(True)
    assert in_force.quiet
    assert view.status.state == "quiet"
    studio.profiling.set_quiet(False)
    assert not in_force.quiet


def test_news_come_no_more_often_than_facts_are_shown(
    studio: Studio, in_force: LiveBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    monkeypatch.setattr(studio.training, "set_news_seconds", told.append)
    in_force.follow(studio.training, studio.profiling, studio.scheduler)
    assert told[-1] == NEWS_SECONDS
    in_force.training_changed("running")
    for _ in range(20):
        in_force.adapt(0.5)
    assert told[-1] == pytest.approx(1e-3 * MOST_FACT_MS)
    studio.profiling.set_quiet(True)
    assert told[-1] == pytest.approx(1e-3 * QUIET_FACT_MS)
    # A training that stands still tells at once what is done to it.
    in_force.training_changed("paused")
    assert told[-1] == NEWS_SECONDS
