"""The threads that share the work of one kernel; NumPy releases the interpreter lock meanwhile.

BLAS keeps to one thread (`SingleBlasThread`). Its threads spin while they wait for one another,
which costs more than it gains on a busy machine, and they can share nothing but products.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import ThreadpoolController

from studio.engine.profiler.thread_clock import ThreadClock

Part: TypeAlias = Callable[[], object]
"""A piece of a kernel's work that any thread may run."""

MOST_THREADS = 8
"""More threads than this gain little: the kernels are bound by memory then."""

THREAD_NAME = "glassbox-cpu"


def usable_threads() -> int:
    """Cores this process may run on, up to `MOST_THREADS`."""
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    return max(1, min(found, MOST_THREADS))


class _TaskGroup:
    """Parts handed out together. Threads claim them one by one, in order."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._unclaimed = deque(parts)
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._held = 0
        self._closed = False
        self._free = threading.Lock()
        self._free.acquire()

    def work(self) -> None:
        """Claim parts and run them until none is left; called by the thread that began."""
        while True:
            try:
                part = self._unclaimed.popleft()
            except IndexError:
                return
            self._run(part)

    def help(self) -> None:
        """The same for any other thread: `close` waits for the parts it claimed."""
        while True:
            with self._lock:
                try:
                    part = self._unclaimed.popleft()
                except IndexError:
                    return
                self._held += 1
            self._run(part)
            with self._lock:
                self._held -= 1
                awaited = self._closed and self._held == 0
            if awaited:
                self._free.release()

    def _run(self, part: Part) -> None:
        try:
            part()
        except BaseException as error:
            self._unclaimed.clear()
            if self._error is None:
                self._error = error

    def close(self) -> None:
        """Let no further part begin, and wait for those that have begun."""
        self._unclaimed.clear()
        with self._lock:
            self._closed = True
            waiting = self._held > 0
        if waiting:
            self._free.acquire()

    def raise_error(self) -> None:
        """Raise the first error of a part, if there was one."""
        if self._error is not None:
            raise self._error


class _Worker:
    """A thread of the pool, which works on its task groups.

    It is woken through a lock that it waits for, and only where it does wait: one that was woken
    and got no core yet finds the latest round when it runs.
    """

    def __init__(self, pool: ThreadPool, name: str) -> None:
        self._pool = pool
        self._invited = False
        self._wake = threading.Lock()
        self._wake.acquire()
        self._started: SimpleQueue[ThreadClock | None] = SimpleQueue()
        threading.Thread(target=self._serve, name=name, daemon=True).start()
        self.clock = self._started.get()

    def invite(self) -> None:
        """Wake the thread for the present round. Called by one thread at a time."""
        if not self._invited:
            self._invited = True
            self._wake.release()

    def _serve(self) -> None:
        self._started.put(ThreadClock.of_this_thread())
        with np.errstate(all="ignore"):
            while True:
                self._wake.acquire()
                # Before the look at the round: a later one then wakes the thread again.
                self._invited = False
                present = self._pool.present
                if present is not None:
                    present.help()
                del present


class ThreadPool:
    """Threads that share the parts of a kernel.

    Each part is claimed by the thread that is free for it, so a thread on a core that other
    processes use takes fewer, and the caller never waits for a thread that has not begun.

    Attributes:
        clocks: processor clocks of the workers, where the system has such clocks.
        present: the task group that workers may join.
    """

    def __init__(self, workers: int) -> None:
        self._busy = threading.Lock()
        self.present: _TaskGroup | None = None
        self._workers = [_Worker(self, f"{THREAD_NAME}-{number}") for number in range(workers)]
        self.clocks = tuple(h.clock for h in self._workers if h.clock is not None)

    def run(self, parts: Sequence[Part]) -> None:
        """Part parts that do not touch each other's results; returns when all have ended.

        Which thread runs a part must not matter. After an error no further part begins, and the
        first error is raised. Where another caller has the pool, all parts run on the calling
        thread, one after another: the results are the same.
        """
        if not self._busy.acquire(blocking=False):
            for part in parts:
                part()
            return
        present = self.present = _TaskGroup(parts)
        try:
            for worker in self._workers[: len(parts) - 1]:
                worker.invite()
            present.work()
        finally:
            present.close()
            self.present = None
            self._busy.release()
        present.raise_error()


@cache
def shared_pool() -> ThreadPool:
    """The thread pool of this process, made at first use; it ends with the process."""
    return ThreadPool(usable_threads() - 1)


WORTH_ELEMENTS = 1 << 16
"""Elements of the largest operand from which a second thread pays: waking it takes about 30 µs."""

LIGHT_PASS = 2
"""How many times as many it takes where all there is to do is a pass or two bound by memory."""

WORTH_FLOPS = 4_000_000
"""Operations from which it pays however small the operands."""


def cut_steps(length: int, count: int, step: int) -> list[slice]:
    """Slices of a side for each thread, of whole steps but for the last; at most ``count``."""
    steps = -(-length // step)
    count = max(1, min(count, steps))
    ends = [min(length, round(i * steps / count) * step) for i in range(count + 1)]
    return [slice(ends[i], ends[i + 1]) for i in range(count)]


def cut_evenly(length: int, threads: int, elements: int, light: bool = False) -> list[range]:
    """Runs of indices for each thread; one run where sharing does not pay.

    Args:
        length: how many there are to deal out.
        threads: how many may share them.
        elements: elements worked on in all.
        light: whether that is a pass or two bound by memory.
    """
    worth = WORTH_ELEMENTS * LIGHT_PASS if light else WORTH_ELEMENTS
    count = 1 if elements < worth else max(1, min(threads, length))
    cuts = [round(i * length / count) for i in range(count + 1)]
    return [range(cuts[i], cuts[i + 1]) for i in range(count)]


def run_together(parts: Sequence[Part]) -> None:
    """Run parts on the thread pool of the process."""
    if len(parts) == 1:
        parts[0]()
    else:
        shared_pool().run(parts)


class SingleBlasThread:
    """Run with BLAS on one thread.

    The threads of BLAS wait for one another longer than they work on the small products a network
    is cut into, and when another process holds a core they wait for its time slice: a small CNN
    took seven times as long on two threads of a busy two-core machine as on one.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        before = [(library, library.threads()) for library in _libraries()]
        self._before = [(library, count) for library, count in before if count and count > 1]
        for library, _ in self._before:
            library.limit(1)

    def __exit__(self, *_: object) -> None:
        for library, count in self._before:
            library.limit(count)


class _Library(NamedTuple):
    """A BLAS: how many threads it may use, and what limits these."""

    threads: Callable[[], int | None]
    limit: Callable[[int], object]


@cache
def _libraries() -> tuple[_Library, ...]:
    # Looking through the loaded libraries takes milliseconds; it is done once. Limiters of
    # threadpoolctl took longer than a small program; they look up and note much more, and which
    # thread may set limits: with that, the second of two threads could leave BLAS limited.
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return tuple(
        _Library(one.get_num_threads, getattr(one, "_real_set_num_threads", one.set_num_threads))
        for one in found
    )
