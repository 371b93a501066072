"""Snapshots of the NumPy backend: copies of arrays, in reused memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.cpu.memory.views import Anything
from studio.engine.runtime.live import (
    MOST_SNAPSHOTS,
    After,
    ArraySnapshot,
    Moment,
    Tap,
)


class CpuTap(Tap):
    """A tap whose snapshots are arrays; see ``runtime.live.Tap``."""

    def __init__(
        self,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(name, grad=grad, after=after, ready=ready)
        self._slots = Lock()
        self._spare: list[Anything] = []
        self._in_use = 0

    def copy(self, source: Anything, moment: Moment) -> ArraySnapshot | None:
        """A copy of an array as it is now; None if too many copies are in use.

        Raises:
            BackendError: there is no memory for it.
        """
        with self._slots:
            if self._in_use >= MOST_SNAPSHOTS:
                return None
            room = self._spare.pop() if self._spare else None
            self._in_use += 1
        if room is None or room.shape != source.shape:
            try:
                room = np.empty(source.shape, source.dtype)
            except MemoryError:
                self._count_off()
                raise BackendError(
                    f"not enough memory for a copy of {source.nbytes} bytes",
                    who=self.name,
                    hint="close other views, or choose a smaller tensor",
                ) from None
        np.copyto(room, source)
        return ArraySnapshot(self.name, room, self.grad, moment, self._given_back)

    def _given_back(self, array: Anything, reusable: bool) -> None:
        with self._slots:
            self._in_use -= 1
            if reusable:
                self._spare.append(array)

    def _count_off(self) -> None:
        with self._slots:
            self._in_use -= 1
