"""Memory that the workers of one host have together, and what they know of a sum made in it."""

from __future__ import annotations

import mmap
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from studio.engine.runtime.exchange import Exchange, Floats

CHUNK = 128 << 10
"""Elements of the longest chunk: what all workers have of a few chunks stays in a CPU's cache."""
SLOTS = 4
"""Chunks of a lane that may be under way at once."""
DIRECT_ELEMENTS = 1 << 20
"""Elements that all workers together give to a direct sum at most."""
DIRECT_SLOTS = 16
"""Direct sums that there is room for."""
LINE = 8
"""Counters of 8 bytes in a cache line: each worker writes to a line of its own."""

_PAGE = 4096
_YIELDS = 100
_PAUSE, _LONG_PAUSE = 50e-6, 1e-3
_LONG_SECONDS = 0.25


def pause(waited: int, since: float) -> None:
    """Let other threads work while another worker is waited for: longer the longer it takes.

    Args:
        waited: how often this was called for it.
        since: when waiting began, by the monotonic clock.
    """
    if waited < _YIELDS:
        time.sleep(0)
        return
    is_long = time.monotonic() - since > _LONG_SECONDS
    time.sleep(_LONG_PAUSE if is_long else _PAUSE)


class SharedMemory:
    """Memory that the workers of one host have together; it has no name that could be left behind.

    Args:
        size: how many workers there are.
        lanes: threads that add for each of them.
        file: a descriptor of the memory another worker made, None to make it.

    Raises:
        OSError: the system has no such memory, or too little of it.
    """

    def __init__(self, size: int, lanes: int, file: int | None = None) -> None:
        marks = lanes * size * LINE
        flags = lanes * SLOTS * size
        direct = size * LINE
        direct_flags = DIRECT_SLOTS * size
        begin = -(-8 * (marks + flags + direct + direct_flags) // _PAGE) * _PAGE
        cells = size * lanes * SLOTS * CHUNK
        direct_room = DIRECT_ELEMENTS // size
        nbytes = begin + 4 * (cells + DIRECT_SLOTS * size * direct_room)
        self.file = self._made(nbytes) if file is None else file
        self._whole = mmap.mmap(self.file, nbytes)
        self.marks = np.frombuffer(self._whole, np.int64, marks).reshape(lanes, size, LINE)
        """How many chunks each worker has written, added and taken, by lane and worker."""
        self.flags = np.frombuffer(self._whole, np.int64, flags, 8 * marks)
        self.flags = self.flags.reshape(lanes, SLOTS, size)
        """What each worker wants to tell the others, by lane, slot and worker."""
        self.cells = np.frombuffer(self._whole, np.float32, cells, begin)
        self.cells = self.cells.reshape(lanes, SLOTS, size, CHUNK)
        """What they give, and the sums."""
        begins = 8 * (marks + flags)
        self.direct_marks = np.frombuffer(self._whole, np.int64, direct, begins)
        self.direct_marks = self.direct_marks.reshape(size, LINE)
        """How many direct sums each worker has written, by worker."""
        begins += 8 * direct
        self.direct_flags = np.frombuffer(self._whole, np.int64, direct_flags, begins)
        self.direct_flags = self.direct_flags.reshape(DIRECT_SLOTS, size)
        """What each worker wants to tell the others with a direct sum, by slot and worker."""
        self.direct_cells = np.frombuffer(self._whole, np.float32, offset=begin + 4 * cells)
        self.direct_cells = self.direct_cells.reshape(DIRECT_SLOTS, size, direct_room)
        """What they give to direct sums."""

    def close_file(self) -> None:
        """The memory stays as long as it is mapped, and is gone with the last worker."""
        os.close(self.file)

    @staticmethod
    def _made(nbytes: int) -> int:
        made = os.memfd_create("glassbox workers")
        # Reserved now: memory that is not there would end the process when it is touched.
        os.posix_fallocate(made, 0, nbytes)
        return made


class WatchedSum(ABC):
    """A sum under way; also what the thread that watches the other workers answers to.

    Args:
        exchange: of this worker.
        given: what this worker adds.
        out: where the sums go.
        scale: factor of what is given.
        give_up: ends all work on sums.
    """

    def __init__(
        self,
        exchange: Exchange,
        given: Floats,
        out: Floats,
        scale: float,
        give_up: Callable[[], None],
    ) -> None:
        self.given, self.out, self.scale = given, out, np.float32(scale)
        self.own_flags = exchange.flags
        self._exchange = exchange
        self._give_up = give_up
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._flags = 0

    @abstractmethod
    def wait(self) -> None:
        """Return when it is there; WorkerError where it never will be."""

    def _end(self) -> None:
        """Take up what the workers told with it, or raise why it is not there."""
        if self._error is not None:
            raise self._error
        self._exchange.agree(self._flags)

    def is_over(self, seconds: float) -> bool:
        """Whether it is there, or will not be; waits so long at most."""
        return self._over.wait(seconds)

    def abandon(self) -> None:
        """Leave both arrays alone from now on; nothing can be exchanged any more."""
        self._give_up()

    def set_result(self, _: None) -> None:  # noqa: B027
        """The watch over it has ended well: `wait` knows already."""

    def set_exception(self, error: BaseException) -> None:
        """It will never be there, and no other."""
        self._give_up()
        self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Have `wait` raise it."""
        self._error = error
        self._over.set()
