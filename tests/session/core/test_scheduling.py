"""Debouncing, throttling and background tasks, with a clock turned by hand."""

from __future__ import annotations

import itertools
import threading
import time

from studio.engine.core.errors import DataError, StudioError
from studio.session.core.scheduling import Debounce, ManualScheduler, Throttle
from studio.session.core.tasks import TaskHandle, TaskList


def test_debounce_runs_once_after_quiet() -> None:
    clock, ran = ManualScheduler(), []
    quiet = Debounce(clock, 0.2, lambda: ran.append(clock.now))
    for _ in range(5):
        quiet.ask()
        clock.advance(0.1)
    assert ran == []
    clock.advance(0.2)
    assert len(ran) == 1
    quiet.ask()
    quiet.flush()
    clock.advance(1)
    assert len(ran) == 2
    quiet.ask()
    quiet.cancel()
    clock.advance(1)
    assert len(ran) == 2


def test_throttle_runs_at_once_then_at_most_so_often() -> None:
    clock, ran = ManualScheduler(), []
    often = Throttle(clock, 1.0, lambda: ran.append(clock.now))
    for _ in range(30):
        often.ask()
        clock.advance(0.1)
    assert len(ran) in (3, 4)
    assert ran[0] == 0.0
    assert all(later - before >= 0.99 for before, later in itertools.pairwise(ran))


def _until(clock: ManualScheduler, done: threading.Event) -> None:
    deadline = time.monotonic() + 10
    while not done.is_set() and time.monotonic() < deadline:
        clock.advance(0.01)
        done.wait(0.005)
    assert done.is_set()


def test_a_task_runs_elsewhere_and_ends_on_the_window_thread() -> None:
    clock, ended = ManualScheduler(), threading.Event()
    tasks, seen = TaskList(clock), []

    def work(handle: TaskHandle) -> threading.Thread:
        handle.progress(0.5, "half")
        return threading.current_thread()

    def done(thread: threading.Thread) -> None:
        seen.append((thread, threading.current_thread()))
        ended.set()

    tasks.start("Count", work, done)
    assert [task.title for task in tasks.shown] == ["Count"]
    _until(clock, ended)
    (worker, window) = seen[0]
    assert window is threading.main_thread()
    assert worker is not window
    assert tasks.running == ()
    tasks.close()


def test_errors_of_a_task_come_as_one_sentence() -> None:
    clock, ended = ManualScheduler(), threading.Event()
    errors: list[StudioError] = []

    def failed(error: StudioError) -> None:
        errors.append(error)
        if len(errors) == 2:
            ended.set()

    def refuses(_: TaskHandle) -> None:
        raise DataError("no rows", who="iris.csv")

    def breaks(_: TaskHandle) -> None:
        raise ZeroDivisionError("oops")

    tasks = TaskList(clock, failed)
    tasks.start("Read", refuses, lambda _: None)
    tasks.start("Divide", breaks, lambda _: None)
    _until(clock, ended)
    texts = {error.message for error in errors}
    assert texts == {"no rows", "Divide failed: ZeroDivisionError: oops"}
    tasks.close()


def test_a_cancelled_task_says_nothing_more() -> None:
    clock, begun, ended = ManualScheduler(), threading.Event(), []
    tasks = TaskList(clock)

    def work(handle: TaskHandle) -> None:
        begun.set()
        while True:
            handle.progress(None)
            time.sleep(0.001)

    handle = tasks.start("Wait", work, ended.append, ended.append)
    assert begun.wait(10)
    handle.cancel()
    deadline = time.monotonic() + 10
    while tasks.running and time.monotonic() < deadline:
        clock.advance(0.01)
        time.sleep(0.002)
    assert tasks.running == ()
    assert ended == []
    tasks.close()


def test_closing_ends_running_tasks() -> None:
    before = set(threading.enumerate())
    clock, begun = ManualScheduler(), threading.Event()
    tasks = TaskList(clock)

    def work(handle: TaskHandle) -> None:
        begun.set()
        while True:
            handle.check()
            time.sleep(0.001)

    tasks.start("Wait", work, lambda _: None)
    assert begun.wait(10)
    tasks.close()
    assert set(threading.enumerate()) <= before
