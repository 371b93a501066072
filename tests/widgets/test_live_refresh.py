"""Live refreshes of widgets and tensors, as far apart as the budget of the window says."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.engine.core.signal import Signal
from studio.session.core import entities
from studio.session.live import scheduler as live_scheduler
from studio.session.live.scheduler import (
    MOST_FACT_MS,
    QUIET_FACT_MS,
    LiveBudget,
)
from studio.session.studio import Studio
from studio.session.training.session_base import EVENT_SECONDS
from studio.widgets import binding


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


@pytest.mark.slow
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
    qtbot.waitUntil(lambda: picture.count == 1 and fact.count > facts)


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
    monkeypatch.setattr(studio.training, "set_event_seconds", told.append)
    in_force.follow(studio.training, studio.profiling, studio.scheduler)
    assert told[-1] == EVENT_SECONDS
    in_force.training_changed("running")
    for _ in range(20):
        in_force.adapt(0.5)
    assert told[-1] == pytest.approx(1e-3 * MOST_FACT_MS)
    studio.profiling.set_quiet(True)
    assert told[-1] == pytest.approx(1e-3 * QUIET_FACT_MS)
    # A training that stands still tells at once what is done to it.
    in_force.training_changed("paused")
    assert told[-1] == EVENT_SECONDS
