"""Pace and time left: medians of known steps, hidden at first, without unexplained jumps."""

from __future__ import annotations

import pytest

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.ui.models.scheduling import ManualScheduler, Work
from studio.ui.models.training_pace import BATCHES, FIRST, Pace, TimeLeftTeller
from studio.ui.models.training_relay import Relay
from studio.ui.models.training_staleness import graph_difference


def test_there_is_no_pace_before_enough_steps() -> None:
    pace = Pace()
    pace.add(FIRST - 1, 1.0)
    assert pace.step_seconds is None
    assert pace.seconds_left(100, 1) is None
    pace.add(1, 0.1)
    assert pace.step_seconds is not None


def test_the_pace_is_the_median_of_the_last_steps() -> None:
    pace = Pace()
    for _ in range(500):
        pace.add(1, 1.0)
    for seconds in (0.1, 0.2, 0.3, 0.4, 9.0) * (BATCHES // 5):
        pace.add(1, seconds)
    assert pace.step_seconds == pytest.approx(0.3)


def test_parts_of_many_steps_count_as_many() -> None:
    pace = Pace()
    pace.add(30, 3.0)
    pace.add(1, 5.0)
    assert pace.step_seconds == pytest.approx(0.1)


def test_what_lies_between_epochs_counts_once_for_each() -> None:
    pace = Pace()
    pace.add(40, 4.0)
    for gap in (1.0, 2.0, 30.0):
        pace.add_gap(gap)
    assert pace.seconds_left(100, 3) == pytest.approx(100 * 0.1 + 3 * 2.0)


def test_time_left_is_told_as_estimated_where_it_passes_as_expected() -> None:
    teller = TimeLeftTeller()
    assert teller.tell(None, 0.0).seconds is None
    assert teller.tell(100.0, 10.0).seconds == 100.0
    assert teller.tell(95.0, 15.0) == (teller.tell(95.0, 15.0))
    assert teller.tell(90.0, 20.0).note == ""


@pytest.mark.parametrize(
    ("estimate", "note"), [(500.0, "slower than before"), (10.0, "faster than before")]
)
def test_a_jump_is_taken_in_steps_and_explained(estimate: float, note: str) -> None:
    teller = TimeLeftTeller()
    teller.tell(100.0, 0.0)
    first = teller.tell(estimate, 1.0)
    assert first.note == note
    assert first.seconds is not None
    assert abs(first.seconds - 99.0) <= 0.2 * 99.0 + 1.0
    for second in range(2, 60):
        last = teller.tell(estimate, float(second))
    assert last.seconds == pytest.approx(estimate)
    assert last.note == ""


def test_many_calls_of_a_busy_thread_are_one_on_the_windows() -> None:
    scheduler, heard = ManualScheduler(), []
    relay = Relay(scheduler, 0.1, lambda: heard.append(scheduler.now))
    for _ in range(1000):
        relay.ask()
    scheduler.advance()
    assert heard == [0.0]
    for _ in range(1000):
        relay.ask()
    scheduler.advance(0.05)
    assert heard == [0.0]
    scheduler.advance(0.1)
    assert heard == [0.0, pytest.approx(0.1)]
    relay.ask()
    relay.close()
    scheduler.advance(1.0)
    assert len(heard) == 2


def chain(*units: int, activation: str = "relu") -> LayerGraph:
    graph = LayerGraph("net")
    port = graph.add(Input((4,), name="input"), node_id="input")
    for index, size in enumerate(units):
        layer = Dense(size, activation, name=f"dense{index}")
        port = graph.add(layer, port, node_id=f"dense{index}")
    graph.outputs = (port,)
    return graph


@pytest.mark.parametrize(
    ("older", "newer", "text"),
    [
        (chain(3), chain(3), ""),
        (chain(3), chain(3, 2), "+1 layer"),
        (chain(3, 2), chain(3), "\u22121 layer"),
        (chain(3, 2), chain(4, 2), "dense0 changed"),
        (chain(1, 2, 3, 4), chain(2, 3, 4, 5), "dense0, dense1, dense2 and 1 more changed"),
    ],
    ids=["same", "added", "removed", "changed", "many"],
)
def test_the_difference_of_two_networks_is_said_in_a_few_words(
    older: LayerGraph, newer: LayerGraph, text: str
) -> None:
    found = graph_difference(older, newer)
    assert found.text == text
    assert found.is_empty == (not text)


def test_a_new_name_is_no_difference() -> None:
    older, newer = LayerGraph("a"), LayerGraph("b")
    for graph, name in ((older, "one"), (newer, "two")):
        port = graph.add(Input((4,), name="in"), node_id="input")
        graph.outputs = (graph.add(Dense(2, name=name), port, node_id="d"),)
    assert graph_difference(older, newer).is_empty


def test_a_relay_that_rests_does_not_wake_the_window() -> None:
    scheduler, heard, posted = Counting(), [], []
    scheduler.posted = posted
    relay = Relay(scheduler, 1.0, lambda: heard.append(scheduler.now))
    for _ in range(20):
        relay.ask()
        scheduler.advance(0.1)
    assert heard == [0.0, pytest.approx(1.0), pytest.approx(2.0)]
    # The first call wakes it; the others come while it rests, and it looks by itself behind that.
    assert len(posted) == 1
    relay.set_seconds(0.1)
    scheduler.advance(1.0)
    before = len(heard)
    for _ in range(10):
        relay.ask()
        scheduler.advance(0.1)
    assert len(heard) - before >= 9


class Counting(ManualScheduler):
    """Counts how often somebody wakes the window."""

    posted: list[int]

    def post(self, work: Work) -> None:
        self.posted.append(1)
        super().post(work)
