"""The threads that share one kernel's work; NumPy gives the interpreter's lock up while it counts.

BLAS itself stays on one thread (`blas_threads`): its threads spin while they wait for one another,
which on a busy machine costs more than they gain, and they cannot share what is not a product.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from studio.engine.cpu.views import Run
from studio.engine.profiler.thread_clock import ThreadClock

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


class _Round:
    """Parts handed out together: who is still at work, and what went wrong."""

    def __init__(self, waiting: int) -> None:
        self.error: BaseException | None = None
        self._waiting = waiting
        self._lock = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()

    def work(self, part: Run) -> None:
        """Run a part on a thread of the team."""
        try:
            with np.errstate(all="ignore"):
                part()
        except BaseException as error:
            self.error = error
        with self._lock:
            self._waiting -= 1
            last = self._waiting == 0
        if last:
            self._done.release()

    def wait(self) -> None:
        """Until every part has ended."""
        self._done.acquire()


class Team:
    """Threads that wait for parts of a kernel.

    Attributes:
        clocks: processor clocks of the helpers, where the system has such clocks.
    """

    def __init__(self, helpers: int) -> None:
        self._busy = threading.Lock()
        self._jobs: SimpleQueue[tuple[_Round, Run]] = SimpleQueue()
        self._clocks: SimpleQueue[ThreadClock | None] = SimpleQueue()
        for number in range(helpers):
            threading.Thread(
                target=self._serve, name=f"{THREAD_NAME}-{number}", daemon=True
            ).start()
        found = [self._clocks.get() for _ in range(helpers)]
        self.clocks = tuple(clock for clock in found if clock is not None)

    def run(self, parts: Sequence[Run]) -> None:
        """Run parts that do not touch each other's results; returns when all have ended.

        The first runs on the calling thread. Where another caller has the team, all do, one after
        another: the results are the same.
        """
        if not self._busy.acquire(blocking=False):
            for part in parts:
                part()
            return
        try:
            together = _Round(len(parts) - 1)
            for part in parts[1:]:
                self._jobs.put((together, part))
            try:
                parts[0]()
            finally:
                together.wait()
        finally:
            self._busy.release()
        if together.error is not None:
            raise together.error

    def _serve(self) -> None:
        self._clocks.put(ThreadClock.of_this_thread())
        while True:
            together, part = self._jobs.get()
            together.work(part)
            del together, part


@cache
def shared_team() -> Team:
    """The team of this process, made at first use; it ends with the process."""
    return Team(usable_threads() - 1)


WORTH_ELEMENTS = 1 << 16
"""Elements of the largest operand from which a second thread pays: waking it takes about 30 µs."""

LIGHT_PASS = 2
"""How many times as many it takes where all there is to do is one pass bound by memory."""

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
        light: whether that is one pass bound by memory.
    """
    worth = WORTH_ELEMENTS * LIGHT_PASS if light else WORTH_ELEMENTS
    count = 1 if elements < worth else max(1, min(threads, length))
    cuts = [round(i * length / count) for i in range(count + 1)]
    return [range(cuts[i], cuts[i + 1]) for i in range(count)]


def run_together(parts: Sequence[Run]) -> None:
    """Run parts on the process's team."""
    if len(parts) == 1:
        parts[0]()
    else:
        shared_team().run(parts)
