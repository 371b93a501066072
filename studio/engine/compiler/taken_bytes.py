"""Which bytes of an arena are taken by what is needed when: finds free gaps quickly."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from studio.engine.compiler.lifetimes import Life


class TakenBytes:
    """What is taken of an arena.

    Args:
        alignment: storages begin at multiples of it.
        part: no storage lies across a multiple of this, itself a multiple of the alignment.
    """

    def __init__(self, alignment: int, part: int) -> None:
        self._alignment = alignment
        self._part = part
        self._begins: list[int] = []
        # By first byte: it, the byte behind, then the life.
        self._taken = np.empty((6, 64), np.int64)

    def place(self, life: Life, nbytes: int) -> int:
        """Take the smallest gap free during a life that holds ``nbytes``, or what is behind all.

        Returns its offset; the lowest of several gaps of one size. A gap ends with its part.
        """
        offset = self._best_gap(life, nbytes)
        end = -(-(offset + nbytes) // self._alignment) * self._alignment
        self._take((offset, end, *life.lines, *life.levels))
        return offset

    def _take(self, row: tuple[int, ...]) -> None:
        count = len(self._begins)
        if count == self._taken.shape[1]:
            self._taken = np.concatenate([self._taken, np.empty_like(self._taken)], 1)
        at = bisect_right(self._begins, row[0])
        self._begins.insert(at, row[0])
        self._taken[:, at + 1 : count + 1] = self._taken[:, at:count]
        self._taken[:, at] = row

    def _best_gap(self, life: Life, nbytes: int) -> int:
        begins, ends, first, last, soonest, latest = self._taken[:, : len(self._begins)]
        before = (last < life.lines.first) & (latest < life.levels.first)
        behind = (first > life.lines.last) & (soonest > life.levels.last)
        rivals = ~(before | behind)
        begins = begins[rivals]
        free = np.maximum.accumulate(np.concatenate(([0], ends[rivals])))
        found = begins - free[:-1] >= nbytes
        best, room = -1, 0
        for low, begin in zip(free[:-1][found].tolist(), begins[found].tolist(), strict=True):
            at = low
            while begin - at >= nbytes:
                seam = at - at % self._part + self._part
                gap = min(begin, seam) - at
                if gap >= nbytes and (best < 0 or gap < room):
                    best, room = at, gap
                at = seam
        if best >= 0:
            return best
        at = int(free[-1])
        left = self._part - at % self._part
        return at if nbytes <= left else at + left
