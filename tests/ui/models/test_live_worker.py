"""The thread of live views, where it ends and is needed again at the same moment."""

from __future__ import annotations

import threading

import pytest

from studio.engine.runtime.live import Moment
from studio.ui.models.live_frames import Frame, Status, Wish
from studio.ui.models.live_worker import Channel, LiveWorker


def channel(told: list[str], stop: threading.Event | None = None) -> Channel:
    """A channel that says what it was told, and then waits to be let on."""

    def label(moment: Moment) -> str:
        return f"step {moment.step}"

    def hear(news: Frame | Status) -> None:
        assert isinstance(news, Status)
        told.append(news.state)
        if stop is not None:
            assert stop.wait(10)

    made = Channel("t", False, None, label, hear)
    made.wish = Wish(active=True)
    return made


def test_a_view_that_comes_as_the_thread_has_waited_long_enough_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker, told, served = LiveWorker(lambda name: None), list[str](), threading.Event()
    first, late = channel([]), channel(told, served)
    wait, came = worker._condition.wait, threading.Event()

    def waited(timeout: float | None = None) -> bool:
        if worker._channels or came.is_set():
            return wait(timeout)
        # It is added before the lock is had again behind a wait that has timed out.
        came.set()
        worker.add(late)
        return False

    monkeypatch.setattr(worker._condition, "wait", waited)
    worker.add(first)
    worker.remove(first)
    assert came.wait(10)
    served.set()
    thread = worker._thread
    assert thread is not None
    for _ in range(500):
        if told:
            break
        thread.join(0.01)
    assert told == ["waiting"]
    worker.close()
    assert not thread.is_alive()


def test_what_is_served_while_all_is_closed_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, told, closing = LiveWorker(lambda name: None), list[str](), threading.Event()
    served = channel(told, closing)
    dropped: list[bool] = []
    drop = served.drop

    def let_go() -> None:
        dropped.append(closing.is_set())
        drop()

    monkeypatch.setattr(served, "drop", let_go)
    worker.add(served)
    thread = worker._thread
    assert thread is not None
    for _ in range(500):
        if told:
            break
        thread.join(0.01)
    worker._woken = False
    wake = worker.wake

    def woken_late() -> None:
        closing.set()
        thread.join(2)
        wake()

    monkeypatch.setattr(worker, "wake", woken_late)
    worker.close()
    assert dropped[-1:] == [True]
    assert not thread.is_alive()
