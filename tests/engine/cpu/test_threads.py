"""Threads claim parts: each runs once, none waits for a thread not begun; BLAS keeps to one."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from studio.engine.cpu.machine import threads
from studio.engine.cpu.machine.threads import SingleBlasThread, ThreadPool, _Worker

LONG = 60.0
"""Seconds after which something that should have happened has not."""


def test_every_part_runs_once() -> None:
    pool, seen, lock = ThreadPool(2), [], threading.Lock()

    def part(number: int) -> None:
        with lock:
            seen.append(number)

    for count in range(1, 30):
        seen.clear()
        pool.run([lambda n=n: part(n) for n in range(count)])
        assert sorted(seen) == list(range(count))


def test_a_helper_that_never_starts_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, threads = ThreadPool(1), []
    monkeypatch.setattr(_Worker, "invite", lambda self: None)
    pool.run([lambda: threads.append(threading.current_thread())] * 5)
    assert threads == [threading.current_thread()] * 5


def test_the_free_thread_takes_the_parts_that_a_slow_one_leaves() -> None:
    pool, began, rest = ThreadPool(1), threading.Event(), threading.Event()
    ran: list[threading.Thread] = []

    def first() -> None:
        assert began.wait(LONG)

    def slow() -> None:
        began.set()
        assert rest.wait(LONG)

    def part() -> None:
        ran.append(threading.current_thread())
        if len(ran) == 6:
            rest.set()

    pool.run([first, slow, *[part] * 6])
    assert len(ran) == 6
    assert len(set(ran)) == 1


def test_a_helper_that_had_no_core_helps_later(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, caller, helped = ThreadPool(1), threading.current_thread(), threading.Event()

    def part() -> None:
        if threading.current_thread() is not caller:
            helped.set()
        time.sleep(0.001)

    with monkeypatch.context() as patch:
        patch.setattr(_Worker, "invite", lambda self: None)
        for _ in range(5):
            pool.run([part] * 4)
    assert not helped.is_set()
    until = time.monotonic() + LONG
    while not helped.is_set() and time.monotonic() < until:
        pool.run([part] * 4)
    assert helped.is_set()


@pytest.mark.parametrize("place", [0, 3, 7])
def test_an_error_ends_the_round_and_comes_back(place: int) -> None:
    pool = ThreadPool(2)

    def breaks() -> None:
        raise ValueError("a part")

    for _ in range(50):
        with pytest.raises(ValueError, match="a part"):
            pool.run([breaks if number == place else lambda: None for number in range(8)])
    ran: list[int] = []
    pool.run([lambda: ran.append(1)] * 4)
    assert len(ran) == 4


def test_after_an_error_no_part_begins_but_those_that_run_are_waited_for() -> None:
    pool, began, ended = ThreadPool(1), threading.Event(), []

    def long() -> None:
        began.set()
        until = time.monotonic() + LONG
        while pool.present is None or pool.present._error is None:
            assert time.monotonic() < until
            time.sleep(0.001)
        ended.append("long")

    def breaks() -> None:
        assert began.wait(LONG)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.run([long, breaks, *[lambda: ended.append("more")] * 50])
    assert ended == ["long"]


def test_a_busy_team_is_not_waited_for() -> None:
    pool, entered, leave, seen = ThreadPool(1), threading.Event(), threading.Event(), []

    def wait() -> None:
        entered.set()
        assert leave.wait(LONG)

    other = threading.Thread(target=pool.run, args=([wait, wait],))
    other.start()
    assert entered.wait(LONG)
    pool.run([lambda: seen.append(1), lambda: seen.append(2)])
    assert seen == [1, 2]
    leave.set()
    other.join(LONG)


def test_parts_may_have_parts() -> None:
    pool, ran = ThreadPool(2), []
    pool.run([lambda: pool.run([lambda: ran.append(1)] * 3)] * 4)
    assert len(ran) == 12


def blas_threads() -> set[int]:
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


def look_for_blas_again() -> None:
    """Other tests may have loaded a BLAS of their own, such as SciPy's, since it was looked."""
    np.ones((4, 4)) @ np.ones((4, 4))
    threads._libraries.cache_clear()


def test_blas_is_limited_to_one_thread_and_given_its_own_number_back() -> None:
    look_for_blas_again()
    with threadpool_limits(2, user_api="blas"):
        with SingleBlasThread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_two_threads_at_once_leave_blas_as_it_was() -> None:
    look_for_blas_again()
    began, leave = threading.Event(), threading.Event()

    def other() -> None:
        with SingleBlasThread():
            began.set()
            assert leave.wait(LONG)

    with threadpool_limits(2, user_api="blas"):
        thread = threading.Thread(target=other)
        with SingleBlasThread():
            thread.start()
            assert began.wait(LONG)
        leave.set()
        thread.join(LONG)
        assert blas_threads() == {2}
