"""The scheduler on a real event loop: order, threads, timers, work that raises."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from studio.session.core.scheduling import Debounce, Throttle
from studio.widgets.event_loop.scheduling import QtScheduler


def test_posted_work_runs_in_order_on_the_windows_thread(
    qtbot: QtBot, scheduler: QtScheduler
) -> None:
    ran: list[tuple[str, int, int]] = []

    def post_many(name: str) -> None:
        for number in range(500):
            scheduler.post(lambda n=number: ran.append((name, n, threading.get_ident())))

    threads = [threading.Thread(target=post_many, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ran == []
    qtbot.waitUntil(lambda: len(ran) == 1500)
    assert {ident for _, _, ident in ran} == {threading.get_ident()}
    for name in "abc":
        assert [n for who, n, _ in ran if who == name] == list(range(500))


@pytest.mark.slow
def test_a_flood_of_posts_lets_the_window_have_its_turn(
    qtbot: QtBot, scheduler: QtScheduler
) -> None:
    turns = []
    left = [40]

    def work() -> None:
        end = time.perf_counter() + 0.002
        while time.perf_counter() < end:
            pass
        left[0] -= 1

    for _ in range(40):
        scheduler.post(work)
    scheduler.call_later(0, lambda: turns.append(left[0]))
    qtbot.waitUntil(lambda: left[0] == 0)
    qtbot.waitUntil(lambda: bool(turns))
    assert turns[0] > 0


def test_later_work_runs_once_and_can_be_cancelled(qtbot: QtBot, scheduler: QtScheduler) -> None:
    ran: list[str] = []
    stopped = scheduler.call_later(0.01, lambda: ran.append("stopped"))
    scheduler.call_later(0.03, lambda: ran.append("late"))
    scheduler.call_later(0.0, lambda: ran.append("soon"))
    stopped.cancel()
    stopped.cancel()
    qtbot.waitUntil(lambda: "late" in ran)
    assert ran == ["soon", "late"]


def test_timers_are_used_again(qtbot: QtBot, scheduler: QtScheduler) -> None:
    ran: list[int] = []

    def next_one() -> None:
        ran.append(len(ran))
        scheduler.call_later(10.0, lambda: ran.append(-1)).cancel()
        if len(ran) < 20:
            scheduler.call_later(0.0, next_one)

    scheduler.call_later(0.0, next_one)
    qtbot.waitUntil(lambda: len(ran) == 20)
    assert ran == list(range(20))
    assert len(scheduler.home.findChildren(QTimer)) <= 2
    # One that is used for something else does not listen to whoever had it before.
    stopped = scheduler.call_later(0.0, lambda: ran.append(-2))
    stopped.cancel()
    scheduler.call_later(0.0, lambda: ran.append(20))
    stopped.cancel()
    qtbot.waitUntil(lambda: len(ran) == 21)
    assert ran[-1] == 20


def test_work_that_raises_is_reported_and_the_rest_runs(
    qtbot: QtBot, scheduler: QtScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: seen.append(str(error)))
    ran: list[int] = []

    def fail() -> None:
        raise ValueError("broken")

    scheduler.post(fail)
    scheduler.post(lambda: ran.append(1))
    scheduler.call_later(0, fail)
    qtbot.waitUntil(lambda: len(seen) == 2 and ran == [1])
    assert seen == ["broken", "broken"]


def test_nothing_runs_after_close(qtbot: QtBot) -> None:
    scheduler = QtScheduler()
    ran: list[int] = []
    scheduler.post(lambda: ran.append(1))
    scheduler.call_later(0, lambda: ran.append(2))
    scheduler.close()
    scheduler.post(lambda: ran.append(3))
    done = []
    other = QtScheduler()
    other.call_later(0.02, lambda: done.append(1))
    qtbot.waitUntil(lambda: bool(done))
    assert ran == []


@pytest.mark.slow
def test_debounce_and_throttle_work_on_it(qtbot: QtBot, scheduler: QtScheduler) -> None:
    quiet: list[int] = []
    often: list[int] = []
    debounce = Debounce(scheduler, 0.02, lambda: quiet.append(1))
    throttle = Throttle(scheduler, 0.02, lambda: often.append(1))
    for _ in range(50):
        debounce.ask()
        throttle.ask()
    qtbot.waitUntil(lambda: len(often) == 2 and len(quiet) == 1)
