"""Sums of workers of one host: bits, order, flags, and the end of one that fails."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import numpy as np
import pytest

from studio.engine.core.errors import BackendError
from studio.engine.runtime.exchange import Exchange, Floats
from studio.engine.scale.parallel.direct_sums import UNDER_WAY, DirectSum
from studio.engine.scale.parallel.messages import WorkerError
from studio.engine.scale.parallel.shared_memory import (
    CHUNK,
    DIRECT_ELEMENTS,
    SLOTS,
    SharedMemory,
    WatchedSum,
)
from studio.engine.scale.parallel.shared_sums import SHORTEST, SharedSums, lanes_of
from tests.engine.scale.parallel.threads_exchange import Meeting, ThreadsExchange

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs memory without a name")

LONG = CHUNK * SLOTS * 3 + 17


def unwatched(_: WatchedSum) -> None:
    """The workers of these tests stay."""


def made(
    stack: ExitStack, size: int, lanes: int, watch: Callable[[WatchedSum], None] = unwatched
) -> list[tuple[Exchange, SharedSums]]:
    """Workers of one process, each with a mapping of its own."""
    meeting = Meeting(size)
    first = SharedMemory(size, lanes)
    memories = [first, *(SharedMemory(size, lanes, os.dup(first.file)) for _ in range(size - 1))]
    found = []
    for rank, memory in enumerate(memories):
        memory.close_file()
        exchange = ThreadsExchange(meeting, rank)
        found.append((exchange, stack.enter_context(closing(SharedSums(exchange, memory, watch)))))
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
    room = DIRECT_ELEMENTS // size
    lengths = (1, 5, SHORTEST + 1, LONG, 3, room, room + 1, *range(2, 2 + 2 * UNDER_WAY), LONG + 1)
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


@pytest.mark.parametrize("size", [2, 3])
def test_short_sums_wait_in_any_order_for_workers_that_come_late(
    rng: np.random.Generator, size: int
) -> None:
    rounds = 60
    lengths = rng.integers(1, 2000, (rounds, UNDER_WAY))
    orders = [rng.permutation(UNDER_WAY) for _ in range(rounds)]
    late = rng.integers(0, 3, (size, rounds, UNDER_WAY))

    def work(rank: int) -> bool:
        sums = workers[rank][1]
        is_right = True
        for turn in range(rounds):
            begun: list[tuple[WatchedSum, Floats]] = []
            for number in range(UNDER_WAY):
                values = np.full(lengths[turn, number], (rank + 1) * (turn + number), np.float32)
                begun.append((sums.begin(values, values, 1.0), values))
            assert all(isinstance(each, DirectSum) for each, _ in begun)
            for number in orders[turn]:
                time.sleep(1e-4 * late[rank, turn, number])
                begun[number][0].wait()
                wanted = size * (size + 1) // 2 * (turn + number)
                is_right &= bool(np.all(begun[number][1] == wanted))
        return is_right

    with ExitStack() as stack, ThreadPoolExecutor(size) as pool:
        workers = made(stack, size, 1)
        assert list(pool.map(work, range(size))) == [True] * size


def test_a_short_sum_goes_to_other_threads_while_an_old_one_is_not_waited_for() -> None:
    def work(rank: int) -> list[bool]:
        sums = workers[rank][1]
        values = [np.ones(3, np.float32) for _ in range(UNDER_WAY + 1)]
        begun = [sums.begin(each, each, 1.0) for each in values]
        kinds = [isinstance(each, DirectSum) for each in begun]
        for each in begun[1:]:
            each.wait()
        begun.append(sums.begin(values[1], values[1], 1.0))
        kinds.append(isinstance(begun[-1], DirectSum))
        for each in (begun[0], begun[-1]):
            each.wait()
        assert [each[0] for each in values] == [2.0, 4.0, *[2.0] * (UNDER_WAY - 1)]
        return kinds

    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        workers = made(stack, 2, 1)
        for kinds in pool.map(work, range(2)):
            assert kinds == [*[True] * UNDER_WAY, False, False]


def test_a_short_sum_that_another_worker_never_joins_is_watched_and_ends() -> None:
    def watch(under_way: WatchedSum) -> None:
        assert not under_way.is_over(0.0)
        under_way.set_exception(WorkerError("worker 1 of 2 is gone", 1))

    with ExitStack() as stack:
        (_, sums), _ = made(stack, 2, 2, watch)
        values = np.ones(3, np.float32)
        with pytest.raises(WorkerError, match="is gone"):
            sums.begin(values, values, 1.0).wait()
        assert np.all(values == 1.0)
        with pytest.raises(BackendError, match="has left"):
            sums.begin(values, values, 1.0)


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


def test_an_error_of_a_thread_that_adds_ends_its_sum_and_those_behind_it() -> None:
    with ExitStack() as stack:
        (_, sums), _ = made(stack, 2, 1)
        values = np.ones(LONG, np.float32)
        wrong = sums.begin(values.astype(complex), values, 1.0)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="complex"):
            wrong.wait()
        with pytest.raises(TypeError, match="complex"):
            sums.begin(values, values, 1.0).wait()


def test_memory_has_no_name_that_a_killed_worker_could_leave_behind() -> None:
    memory = SharedMemory(2, 1)
    assert "memfd" in os.readlink(f"/proc/self/fd/{memory.file}")
    memory.close_file()


def test_threads_leave_cores_to_training() -> None:
    assert [lanes_of(cores, 2) for cores in (1, 2, 8, 32, 256)] == [1, 1, 2, 4, 4]
