"""Adds up what the workers of one host give, in memory that all of them have mapped."""

from __future__ import annotations

import platform
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.runtime.exchange import Exchange, Floats
from studio.engine.scale.parallel.direct_sums import DirectSums
from studio.engine.scale.parallel.shared_memory import (
    CHUNK,
    LINE,
    SLOTS,
    SharedMemory,
    WatchedSum,
    pause,
)

SHORTEST = 8 << 10
"""Elements below which dividing a sum costs more than it saves."""
MOST_LANES = 4

_WRITTEN, _ADDED, _TAKEN = range(3)

_ONE = np.float32(1.0)


def lanes_of(cores: int, workers: int) -> int:
    """Threads that add for each of so many workers, which have so many cores together."""
    return max(1, min(MOST_LANES, cores // max(workers, 1) // 2))


class Sum(WatchedSum):
    """A sum that the lanes make.

    Attributes:
        parts: chunks that are not there yet.
    """

    parts = 1

    def took(self, flags: int) -> None:
        """One chunk is there."""
        with self._lock:
            self._flags |= flags
            self.parts -= 1
            is_whole = self.parts == 0
        if is_whole:
            self._over.set()

    def wait(self) -> None:
        """Return when it is there; WorkerError where it never will be."""
        self._over.wait()
        self._end()


class SharedSums:
    """Sums over the workers of one host: short ones at once, long ones by threads of each worker.

    A long sum is divided into chunks, which go to the lanes in turn. Each lane is a thread of every
    worker, with memory of its own for a few chunks. Of a chunk each worker writes its share, adds a
    part of what all have written, in the order of the workers, and takes the whole. Of two workers
    each adds the whole, which moves less. So results are equal to the bit, on all workers and in
    every training by as many of them.

    Args:
        exchange: of this worker.
        memory: what all workers have mapped.
        watch: is given each sum to see that the other workers take part in it.
    """

    def __init__(
        self, exchange: Exchange, memory: SharedMemory, watch: Callable[[WatchedSum], None]
    ) -> None:
        self._exchange = exchange
        self._memory = memory
        self._watch = watch
        self._direct = DirectSums(exchange, memory, watch, self.close)
        self._lanes: list[_Lane] = []
        self._begun = 0
        self._is_closed = False

    def begin(self, given: Floats, out: Floats, scale: float) -> WatchedSum:
        """Begin a sum; all workers begin and end sums of the same lengths in the same order."""
        if self._is_closed:
            raise BackendError("this worker has left the others", who="workers")
        return self._direct.begin(given, out, scale) or self._divide(given, out, scale)

    def _divide(self, given: Floats, out: Floats, scale: float) -> Sum:
        if not self._lanes:
            # Here, so that the threads have the cores of the thread that trains.
            count = len(self._memory.marks)
            self._lanes = [_Lane(self._memory, self._exchange.rank, n) for n in range(count)]
        even = -(-given.size // len(self._lanes))
        step = min(CHUNK, max(SHORTEST, even))
        begins = range(0, given.size, step)
        made = Sum(self._exchange, given, out, scale, self.close)
        made.parts = len(begins)
        for begin in begins:
            lane = self._lanes[self._begun % len(self._lanes)]
            lane.jobs.put((made, begin, min(begin + step, given.size)))
            self._begun += 1
        self._watch(made)
        return made

    def close(self) -> None:
        """End the threads; no memory of a caller is touched afterwards."""
        self._is_closed = True
        for lane in self._lanes:
            lane.is_closed = True
            lane.jobs.put(None)
        for lane in self._lanes:
            lane.thread.join()


class _Lane:
    """A thread that works on every so-many-th chunk, together with the same lane of all workers.

    Args:
        memory: what all workers have mapped.
        rank: number of this worker.
        number: of the lane.
    """

    def __init__(self, memory: SharedMemory, rank: int, number: int) -> None:
        self.jobs: SimpleQueue[tuple[Sum, int, int] | None] = SimpleQueue()
        self.is_closed = False
        self._rank = rank
        self._cells = memory.cells[number]
        self._flags = memory.flags[number]
        self._size = self._cells.shape[1]
        self._last = _WRITTEN if self._size == 2 else _ADDED
        self._marks = memoryview(memory.marks[number]).cast("B").cast("q")
        self._done = [0, 0, 0]
        self._open: deque[tuple[Sum, int, int]] = deque()
        self._partial = np.empty(CHUNK, np.float32)
        self.thread = threading.Thread(target=self._run, name=f"adding {number}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        # NaN and infinity are reported by the checks of the training, not by a warning here.
        with np.errstate(all="ignore"):
            try:
                self._work()
            except BaseException as error:
                # Whatever it is: the training would wait for ever otherwise.
                self._refuse(error)

    def _work(self) -> None:
        waited, since = 0, 0.0
        while not self.is_closed:
            self._hear()
            if self._advance():
                waited = 0
                continue
            if waited == 0:
                since = time.monotonic()
            waited += 1
            pause(waited, since)

    def _refuse(self, error: BaseException) -> None:
        """Nothing more is added here."""
        for made, *_ in self._open:
            made.fail(error)
        while (job := self.jobs.get()) is not None:
            job[0].fail(error)

    def _hear(self) -> None:
        """Take new jobs; wait for one where nothing is under way."""
        if not self._open and (job := self.jobs.get()) is not None:
            self._open.append(job)
        with suppress(Empty):
            while (job := self.jobs.get_nowait()) is not None:
                self._open.append(job)

    def _all(self, which: int) -> int:
        """Chunks that all workers have written, added or taken."""
        marks = self._marks
        return min(marks[worker * LINE + which] for worker in range(self._size))

    def _mark(self, which: int) -> None:
        self._done[which] += 1
        self._marks[self._rank * LINE + which] = self._done[which]

    def _advance(self) -> bool:
        """Do what can be done next, the oldest chunk first; whether there was anything."""
        written, added, taken = self._done
        if taken < self._done[self._last] and taken < self._all(self._last):
            self._take(taken % SLOTS)
        elif self._last == _ADDED and added < written and added < self._all(_WRITTEN):
            self._add(added % SLOTS, *self._open[added - taken])
        elif written - taken < len(self._open) and written - self._all(_TAKEN) < SLOTS:
            self._write(written % SLOTS, *self._open[written - taken])
        else:
            return False
        return True

    def _write(self, slot: int, made: Sum, begin: int, end: int) -> None:
        own = self._cells[slot, self._rank, : end - begin]
        np.multiply(made.given[begin:end], made.scale, out=own)
        self._flags[slot, self._rank] = made.own_flags
        self._mark(_WRITTEN)

    def _add(self, slot: int, made: Sum, begin: int, end: int) -> None:
        """Add this worker's part of the chunk, in the order of the workers."""
        first, behind = self._part(self._rank, end - begin)
        given = self._cells[slot, :, first:behind]
        total = given[0]
        for worker in range(1, self._size):
            is_last = worker == self._size - 1
            out = given[self._rank] if is_last else self._partial[: behind - first]
            total = np.add(total, given[worker], out=out)
        self._mark(_ADDED)

    def _take(self, slot: int) -> None:
        made, begin, end = self._open.popleft()
        if self._size == 2:
            first, second = self._cells[slot, :, : end - begin]
            np.add(first, second, out=made.out[begin:end])
        else:
            self._gather(slot, made.out[begin:end])
        flags = int(np.bitwise_or.reduce(self._flags[slot]))
        self._mark(_TAKEN)
        made.took(flags)

    def _gather(self, slot: int, out: Floats) -> None:
        for worker in range(self._size):
            first, behind = self._part(worker, out.size)
            # Copying what another core has just written takes several times longer than this
            # (AMD EPYC, glibc 2.36).
            np.multiply(self._cells[slot, worker, first:behind], _ONE, out=out[first:behind])

    def _part(self, worker: int, length: int) -> tuple[int, int]:
        return length * worker // self._size, length * (worker + 1) // self._size


def keeps_order() -> bool:
    """Whether all cores see what one of them writes in the order in which it was written."""
    return platform.machine().lower() in ("x86_64", "amd64")
