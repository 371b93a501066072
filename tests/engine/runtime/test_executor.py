"""The host list: whole runs, the stop flag between entries, pauses, runs in flight."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.runtime.executor import IN_FLIGHT, Executor, Position


class Log:
    """Entries that write down that they ran."""

    def __init__(self, count: int) -> None:
        self.ran: list[int] = []
        self.entries = [lambda i=i: self.ran.append(i) for i in range(count)]


def test_runs_are_whole_and_in_order() -> None:
    log = Log(3)
    executor = Executor(log.entries)
    assert executor.run(2) == 2
    assert log.ran == [0, 1, 2, 0, 1, 2]
    assert executor.position == Position(2, 0)


def test_stop_is_asked_between_entries_and_never_cuts_a_run() -> None:
    log = Log(3)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked >= 6

    assert Executor(log.entries).run(10, stop) == 2
    assert log.ran == [0, 1, 2, 0, 1, 2]


def test_a_stop_that_was_there_before_runs_nothing() -> None:
    log = Log(2)
    assert Executor(log.entries).run(5, lambda: True) == 0
    assert log.ran == []


def test_a_pause_inside_a_run_is_finished_by_the_next() -> None:
    log = Log(4)
    executor = Executor(log.entries)
    assert executor.run_to(2) == Position(0, 2)
    assert log.ran == [0, 1]
    assert executor.run(1, lambda: True) == 1
    assert log.ran == [0, 1, 2, 3]
    assert executor.run_to(4) == Position(2, 0)


def test_one_cannot_run_backwards() -> None:
    executor = Executor(Log(3).entries)
    executor.run_to(2)
    with pytest.raises(BackendError, match="expected 2 to 3"):
        executor.run_to(1)
    with pytest.raises(BackendError, match="expected 2 to 3"):
        executor.run_to(4)
    with pytest.raises(BackendError, match="negative"):
        executor.run(-1)


def test_a_failing_entry_leaves_the_pause_point_on_itself() -> None:
    def fail() -> None:
        raise BackendError("no")

    log = Log(1)
    executor = Executor([*log.entries, fail])
    with pytest.raises(BackendError):
        executor.run()
    assert executor.position == Position(0, 1)


class Fence:
    """Counts how often it was waited for."""

    waited = 0

    def wait(self) -> None:
        Fence.waited += 1


def test_only_a_few_runs_are_in_flight() -> None:
    Fence.waited = 0
    executor = Executor(Log(1).entries, Fence)
    executor.run(10)
    assert executor.in_flight == IN_FLIGHT
    assert Fence.waited == 10 - IN_FLIGHT
    executor.finish()
    assert executor.in_flight == 0
    assert Fence.waited == 10
