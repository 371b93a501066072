"""Garbage is collected on the window's thread only, and none is forgotten."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from studio.widgets.event_loop.collector import Collector

pytestmark = pytest.mark.slow


class Ring:
    """Garbage that only the collector finds; it notes the thread it dies on."""

    died: set[int]

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        Ring.died.add(threading.get_ident())


@pytest.fixture
def collector(qapp: object) -> Iterator[Collector]:
    Ring.died = set()
    gc.collect()
    gc.enable()
    made = Collector()
    yield made
    made.close()
    made.deleteLater()
    # The window is not put away yet.
    assert not gc.isenabled()


def test_what_a_thread_leaves_dies_on_the_windows_thread(
    qtbot: QtBot, collector: Collector
) -> None:
    def litter() -> None:
        for _ in range(50_000):
            Ring()

    thread = threading.Thread(target=litter)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: bool(Ring.died))
    assert Ring.died == {threading.get_ident()}


def test_what_grew_old_is_collected_too(
    qtbot: QtBot, collector: Collector, request: pytest.FixtureRequest
) -> None:
    before = gc.get_threshold()
    request.addfinalizer(lambda: gc.set_threshold(*before))
    gc.set_threshold(before[0], 1, 1)
    ring = Ring()
    gc.collect(0)
    gc.collect(1)
    gone = weakref.ref(ring)
    del ring

    def litter() -> bool:
        for _ in range(2_000):
            Ring()
        return gone() is None

    qtbot.waitUntil(litter)


def test_what_was_there_at_the_start_is_not_gone_through_again(
    qtbot: QtBot, collector: Collector
) -> None:
    before = len(gc.get_objects())
    collector.settle()
    assert len(gc.get_objects()) < before / 10
    collector.close()
    assert len(gc.get_objects()) > before / 2
