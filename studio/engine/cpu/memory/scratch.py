"""Working memory shared by all kernels of a thread; only one of them runs at a time."""

from __future__ import annotations

from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Shape

Scalar = TypeVar("Scalar", bound=np.generic)

ALIGNMENT = 64
_BLOCK = 1 << 18


class Scratch:
    """Blocks of bytes that every kernel may use from the start.

    Arrays taken between two calls of ``rewind`` do not overlap each other; those taken before and
    after one do. Contents do not survive from one kernel to the next.
    """

    def __init__(self) -> None:
        self._blocks: list[npt.NDArray[np.uint8]] = []
        self._used: list[int] = []

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(block.nbytes for block in self._blocks)

    @property
    def blocks(self) -> int:
        """Blocks held."""
        return len(self._blocks)

    def rewind(self) -> None:
        """Start from the first byte again, for the next kernel."""
        self._used = [0] * len(self._blocks)

    def take(self, shape: Shape, dtype: type[Scalar]) -> npt.NDArray[Scalar]:
        """Working memory of that shape, its contents undefined."""
        nbytes = prod(shape) * np.dtype(dtype).itemsize
        room = -(-nbytes // ALIGNMENT) * ALIGNMENT
        for i, block in enumerate(self._blocks):
            if self._used[i] + room <= block.nbytes:
                break
        else:
            i = len(self._blocks)
            self._blocks.append(aligned_bytes(max(room, _BLOCK)))
            self._used.append(0)
        start = self._used[i]
        self._used[i] += room
        part: npt.NDArray[Any] = self._blocks[i][start : start + nbytes]
        return part.view(dtype).reshape(shape)


def aligned_bytes(count: int) -> npt.NDArray[np.uint8]:
    """Zeroed bytes whose address is a multiple of a cache line.

    The system commits large zeroed memory page by page on first touch, so unused room is free.
    """
    raw = np.zeros(count + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + count]
