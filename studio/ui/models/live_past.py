"""The last pictures of a tensor, laid one behind another along a first axis."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from studio.engine.runtime.live import ArraySnapshot, Snapshot

MOST_BYTES = 16 << 20
"""What all pictures of one tensor may take; with larger ones there are fewer."""

Array = npt.NDArray[np.generic]


class Past:
    """Pictures of one tensor in the order they were taken, on the host.

    Args:
        most: pictures kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: deque[tuple[int, Array]] = deque()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, found: Snapshot) -> ArraySnapshot:
        """Lay a picture behind the others, and let it go; all of them as one tensor.

        One of an earlier step than the last begins anew: another training has begun.
        """
        try:
            array = np.array(found.array())
        finally:
            found.release()
        step = found.moment.step
        if self._kept and (self._kept[-1][0] > step or self._kept[-1][1].shape != array.shape):
            self._kept.clear()
        if self._kept and self._kept[-1][0] == step:
            self._kept.pop()
        self._kept.append((step, array))
        most = max(1, min(self._most, MOST_BYTES // max(1, array.nbytes)))
        while len(self._kept) > most:
            self._kept.popleft()
        stacked = np.stack([each for _, each in self._kept])
        return ArraySnapshot(found.name, stacked, found.grad, found.moment)
