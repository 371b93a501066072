"""Columns of numbers that grow at the end, and the lowest and highest of any stretch of them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Values: TypeAlias = npt.NDArray[np.floating]

_FIRST_ROOM = 256
BLOCK = 16
"""Values the lowest level of a pyramid sums up; below that they are looked at one by one."""

AT_ONCE = 1 << 16
"""So many values are gone through as fast as a pyramid is climbed."""


class Column:
    """Numbers of one type that are only ever appended to."""

    def __init__(self, dtype: npt.DTypeLike = np.float32) -> None:
        self._room: Values = np.empty(_FIRST_ROOM, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> Values:
        """All of them, as a view that must not be written to."""
        return self._room[: self._length]

    @property
    def nbytes(self) -> int:
        """Bytes held, room to grow included."""
        return self._room.nbytes

    def extend(self, values: Values) -> None:
        """Append; the room doubles when it is full."""
        needed = self._length + len(values)
        if needed > len(self._room):
            room = np.empty(max(needed, 2 * len(self._room)), self._room.dtype)
            room[: self._length] = self.values
            self._room = room
        self._room[self._length : needed] = values
        self._length = needed


class Extremes:
    """The lowest (or highest) of any stretch of a column, in logarithmic time.

    What is no finite number is passed over; a stretch without any finite one gives NaN. What was
    appended to the column is taken in by the next look: many small pieces cost no more than one.

    Args:
        highest: the highest instead of the lowest.
    """

    def __init__(self, column: Column, *, highest: bool = False) -> None:
        self._column = column
        self._neutral = -np.inf if highest else np.inf
        self._better = np.maximum if highest else np.minimum
        self._levels: list[Column] = []

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(level.nbytes for level in self._levels)

    def follow(self) -> None:
        """Take in what the column has got since."""
        below = self._column.values
        size = BLOCK
        level = 0
        while len(below) >= size:
            if level == len(self._levels):
                self._levels.append(Column(self._column.values.dtype))
            column = self._levels[level]
            whole = len(below) // size
            fresh = below[len(column) * size : whole * size].reshape(-1, size)
            if len(fresh):
                column.extend(self._better.reduce(self._finite(fresh), axis=1))
            below, size = column.values, 2
            level += 1

    def of(self, begin: Indices, end: Indices) -> Floats:
        """The extreme of each stretch ``begin[i] : end[i]``; NaN where there is none."""
        found = self._of_row(begin, end) if _in_a_row(begin, end) else self._of_any(begin, end)
        found[found == self._neutral] = np.nan
        return found

    def _of_row(self, begin: Indices, end: Indices) -> Floats:
        """The same of a few thousand values, each of which is in one stretch."""
        values = self._finite(self._column.values[begin[0] : end[-1]])
        return self._better.reduceat(values, begin - begin[0]).astype(np.float64)

    def _of_any(self, begin: Indices, end: Indices) -> Floats:
        self.follow()
        first, last = -(-begin // BLOCK), end // BLOCK
        found = self._better(
            self._of_ends(begin, np.minimum(end, first * BLOCK)),
            self._of_ends(np.maximum(begin, last * BLOCK), end),
        )
        for level in self._levels:
            inside = first < last
            if not inside.any():
                break
            for odd, at in (
                (inside & (first & 1 == 1), first),
                (inside & (last & 1 == 1), last - 1),
            ):
                found[odd] = self._better(found[odd], level.values[at[odd]])
            first, last = (first + 1) // 2, last // 2
        return found

    def _of_ends(self, begin: Indices, end: Indices) -> Floats:
        """The extreme of stretches of at most a block."""
        values = self._column.values
        if not len(values):
            return np.full(len(begin), self._neutral)
        places = begin[:, np.newaxis] + np.arange(BLOCK)
        taken = values.take(places, mode="clip")
        taken[~np.isfinite(taken) | (places >= end[:, np.newaxis])] = self._neutral
        best: Floats = self._better.reduce(taken, axis=1).astype(np.float64)
        return best

    def _finite(self, values: Values) -> Values:
        return np.where(np.isfinite(values), values, values.dtype.type(self._neutral))


def _in_a_row(begin: Indices, end: Indices) -> bool:
    """Whether stretches follow one another without a gap, and are not too long together."""
    if not len(begin) or end[-1] - begin[0] > AT_ONCE:
        return False
    return bool((begin < end).all() and (begin[1:] == end[:-1]).all())
