"""Sums of workers of one host: bits, order, flags, and the end of one that fails."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import numpy as np
import pytest

from studio.engine.runtime.exchange import Exchange, Floats
from studio.engine.scale.parallel.messages import WorkerError
from studio.engine.scale.parallel.shared_sums import (
    CHUNK,
    SHORTEST,
    SLOTS,
    SharedMemory,
    SharedSums,
    lanes_of,
)
from tests.engine.scale.parallel.threads_exchange import Meeting, ThreadsExchange

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs memory without a name")

LONG = CHUNK * SLOTS * 3 + 17


def made(stack: ExitStack, size: int, lanes: int) -> list[tuple[Exchange, SharedSums]]:
    """Workers of one process, each with a mapping of its own."""
    meeting = Meeting(size)
    first = SharedMemory(size, lanes)
    memories = [first, *(SharedMemory(size, lanes, os.dup(first.file)) for _ in range(size - 1))]
    found = []
    for rank, memory in enumerate(memories):
        memory.close_file()
        exchange = ThreadsExchange(meeting, rank)
        found.append((exchange, stack.enter_context(closing(SharedSums(exchange, memory)))))
    return found


def in_order(given: list[Floats], scale: float) -> Floats:
    """Their sum, added one worker after the other."""
    total = given[0] * np.float32(scale)
    for each in given[1:]:
        total = total + each * np.float32(scale)
    return total


@pytest.mark.parametrize(("size", "lanes"), [(2, 1), (2, 3), (3, 2), (5, 1)])
def test_sums_are_added_in_the_order_of_the_workers(
    rng: np.random.Generator, size: int, lanes: int
) -> None:
    lengths = (1, 5, SHORTEST + 1, LONG, 3)
    given = [
        [rng.standard_normal(length).astype(np.float32) * 10.0**rank for length in lengths]
        for rank in range(size)
    ]

    def work(rank: int) -> list[Floats]:
        sums = workers[rank][1]
        outs = [np.empty(length, np.float32) for length in lengths]
        # All are under way before the first is waited for.
        begun = [
            sums.begin(values, out, 0.3) for values, out in zip(given[rank], outs, strict=True)
        ]
        for each in begun:
            each.wait()
        return outs

    with ExitStack() as stack, ThreadPoolExecutor(size) as pool:
        workers = made(stack, size, lanes)
        for outs in pool.map(work, range(size)):
            for number, out in enumerate(outs):
                wanted = in_order([each[number] for each in given], 0.3)
                assert out.tobytes() == wanted.tobytes()


def test_a_sum_takes_the_place_of_what_was_given_again_and_again() -> None:
    def work(rank: int) -> Floats:
        values = np.full(LONG, rank + 1, np.float32)
        for _ in range(3):
            workers[rank][1].begin(values, values, 1.0).wait()
        return values

    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        workers = made(stack, 2, 2)
        for values in pool.map(work, range(2)):
            assert np.all(values == 12.0)


def test_what_one_worker_wants_all_hear_with_the_same_sum() -> None:
    def work(rank: int) -> list[tuple[bool, bool]]:
        exchange, sums = workers[rank]
        values = np.zeros(LONG, np.float32)
        heard = []
        for number in range(3):
            exchange.wants_stop |= rank == 1 and number == 1
            exchange.saw_bad |= rank == 2 and number == 2
            sums.begin(values, values, 1.0).wait()
            heard.append((exchange.stop_agreed, exchange.bad_agreed))
        return heard

    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        workers = made(stack, 3, 2)
        for heard in pool.map(work, range(3)):
            assert heard == [(False, False), (True, False), (True, True)]


def test_numbers_that_are_none_travel_without_a_warning() -> None:
    def work(rank: int) -> Floats:
        values = np.array([np.inf, np.nan, 3e38, -0.0], np.float32) * (1 - 2 * rank)
        workers[rank][1].begin(values, values, 2.0).wait()
        return values

    with np.errstate(over="ignore"), ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        workers = made(stack, 2, 1)
        for values in pool.map(work, range(2)):
            assert np.isnan(values).tolist() == [True, True, True, False]


def test_a_sum_that_another_worker_never_joins_ends_with_its_error() -> None:
    with ExitStack() as stack:
        (_, sums), _ = made(stack, 2, 2)
        values = np.ones(LONG, np.float32)
        first, second = (sums.begin(values, values, 1.0) for _ in range(2))
        for each in (first, second):
            assert not each.is_over(0.0)
            each.set_exception(WorkerError("worker 1 of 2 is gone", 1))
            with pytest.raises(WorkerError, match="is gone"):
                each.wait()
        # Nothing works on the memory any more.
        assert np.all(values == 1.0)


def test_memory_has_no_name_that_a_killed_worker_could_leave_behind() -> None:
    memory = SharedMemory(2, 1)
    assert "memfd" in os.readlink(f"/proc/self/fd/{memory.file}")
    memory.close_file()


def test_threads_leave_cores_to_training() -> None:
    assert [lanes_of(cores, 2) for cores in (1, 2, 8, 32, 256)] == [1, 1, 2, 8, 8]
