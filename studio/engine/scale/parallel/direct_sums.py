"""Adds short sums on the thread that waits for them: handing them to another one takes longer."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from studio.engine.runtime.exchange import Exchange, Floats
from studio.engine.scale.parallel.shared_memory import (
    DIRECT_SLOTS,
    LINE,
    SharedMemory,
    WatchedSum,
    pause,
)

UNDER_WAY = DIRECT_SLOTS // 2
"""Sums between the oldest that was not waited for and the youngest, with both."""
_UNWATCHED_SECONDS = 0.002
"""A sum that takes longer is watched: another worker may be gone."""


class DirectSum(WatchedSum):
    """A sum that is added where it is waited for.

    Args:
        sums: what began it.
        number: how many were begun before it.
        given: what this worker adds.
        out: where the sums go.
        scale: factor of what is given.
    """

    def __init__(
        self, sums: DirectSums, number: int, given: Floats, out: Floats, scale: float
    ) -> None:
        super().__init__(sums.exchange, given, out, scale, sums.give_up)
        self._sums = sums
        self._number = number

    def wait(self) -> None:
        """Return when it is there; WorkerError where it never will be."""
        waited, since, is_watched = 0, time.monotonic(), False
        while not self._sums.is_written(self._number) and self._error is None:
            waited += 1
            pause(waited, since)
            if not is_watched and time.monotonic() - since > _UNWATCHED_SECONDS:
                is_watched = True
                self._sums.watch(self)
        if self._error is None:
            self._flags = self._sums.take(self._number, self.out)
        self._over.set()
        self._end()


class DirectSums:
    """Short sums over the workers of one host.

    Each worker writes its share into a place of its own in the next slot, and adds the shares of
    all in the order of the workers, so that all have the same bits.

    No worker has to know what the others have read. It begins a sum when it has ended all but the
    last ``UNDER_WAY - 1`` before. So the others had begun the last that it ended, and had
    then ended those ``UNDER_WAY`` before that, whose slot is the one that is written.

    Args:
        exchange: of this worker.
        memory: what all workers have mapped.
        watch: as of `SharedSums`.
        give_up: ends all work on sums.
    """

    def __init__(
        self,
        exchange: Exchange,
        memory: SharedMemory,
        watch: Callable[[WatchedSum], None],
        give_up: Callable[[], None],
    ) -> None:
        self.watch = watch
        self.exchange = exchange
        self.give_up = give_up
        self._cells = memory.direct_cells
        self._flags = memory.direct_flags
        self._size, self._room = self._cells.shape[1:]
        self._marks = memory.direct_marks.reshape(-1).data
        self._begun = 0
        self._open: set[int] = set()

    def begin(self, given: Floats, out: Floats, scale: float) -> DirectSum | None:
        """Begin a sum; None where it is too long, or the oldest is still waited for."""
        number = self._begun
        if given.size > self._room or number - min(self._open, default=number) >= UNDER_WAY:
            return None
        made = DirectSum(self, number, given, out, scale)
        slot, rank = number % DIRECT_SLOTS, self.exchange.rank
        # NaN and infinity are reported by the checks of the training, not by a warning here.
        with np.errstate(all="ignore"):
            np.multiply(given, made.scale, out=self._cells[slot, rank, : given.size])
        self._flags[slot, rank] = made.own_flags
        self._open.add(number)
        self._begun = number + 1
        self._marks[rank * LINE] = number + 1
        return made

    def is_written(self, number: int) -> bool:
        """Whether all workers have given what they add to a sum."""
        return all(self._marks[worker * LINE] > number for worker in range(self._size))

    def take(self, number: int, out: Floats) -> int:
        """Add up what all have given; gives what they tell with it."""
        slot = number % DIRECT_SLOTS
        first, *others = self._cells[slot, :, : out.size]
        with np.errstate(all="ignore"):
            np.add(first, others[0], out=out)
            for other in others[1:]:
                np.add(out, other, out=out)
        self._open.discard(number)
        return int(np.bitwise_or.reduce(self._flags[slot]))
