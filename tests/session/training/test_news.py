"""News of a training come in portions, and what differs between two networks is said."""

from __future__ import annotations

import pytest

from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.session.core.scheduling import ManualScheduler, Work
from studio.session.training.events import CrossThreadThrottle
from studio.session.training.staleness import graph_difference


def test_many_calls_of_a_busy_thread_are_one_on_the_windows() -> None:
    scheduler, heard = ManualScheduler(), []
    relay = CrossThreadThrottle(scheduler, 0.1, lambda: heard.append(scheduler.now))
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
    relay = CrossThreadThrottle(scheduler, 1.0, lambda: heard.append(scheduler.now))
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
