"""Passes over matrices [rows, features] that sum columns or scale them, shared between threads.

A pass by NumPy goes a stretch of rows at a time, so that its steps meet in the cache; a compiled
one takes all rows of a thread at once. Sums are float32 in blocks and float64 between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Protocol

import numpy as np

from studio.engine.cpu.machine.threads import cut_evenly, run_together
from studio.engine.cpu.memory.views import Doubles, Floats, Views
from studio.engine.cpu.reductions.picture_sums import StretchedSums, stretch_rows

WIDE_ELEMENTS = 512
"""Elements of a row from which a loop along it runs at full speed."""


class ColumnPasses(Protocol):
    """What batch normalisation does with its arrays: x, then dy or y, then dx."""

    @property
    def rows(self) -> int:
        """Rows of the matrices."""
        ...

    def moments(self) -> tuple[Doubles, Doubles]:
        """Mean and variance of x."""
        ...

    def normalise(self, mean: Floats, scale: Floats, shift: Floats) -> None:
        """y = (x - mean)·scale + shift."""
        ...

    def gradient_sums(self, mean: Floats) -> tuple[Doubles, Doubles]:
        """Σ dy·(x - mean) and Σ dy."""
        ...

    def input_gradient(self, mean: Floats, outer: Floats, flat: Floats, slope: Floats) -> None:
        """dx = outer·(dy - flat - (x - mean)·slope)."""
        ...


def column_passes(
    views: Views, arrays: Sequence[Floats], features: int, wanted: Sequence[str]
) -> ColumnPasses:
    """The passes over some arrays that hold the same rows: compiled where that is possible.

    Args:
        views: gives working memory.
        arrays: what `ColumnPasses` says.
        features: columns of the matrices.
        wanted: names of the passes that will be called.
    """
    dense = all(a.flags.c_contiguous for a in arrays)
    if views.config.compiled and dense:
        return CompiledPasses(views, [a.reshape(-1, features) for a in arrays], features, wanted)
    return StretchPasses(views, list(arrays), features, wanted)


def _total(sums: Sequence[Doubles]) -> Doubles:
    """What all threads found, always added in the same order."""
    first, *others = sums
    for other in others:
        np.add(first, other, out=first)
    return first


class CompiledPasses:
    """Passes by compiled loops; see `ColumnPasses`.

    Several rows are taken as one wide row where there are few features: loops along a row are
    what the processor's vectors speed up.
    """

    def __init__(
        self, views: Views, matrices: Sequence[Floats], features: int, wanted: Sequence[str]
    ) -> None:
        from studio.engine.cpu.compiled import batchnorm

        self._loops = batchnorm
        self._features = features
        self.rows = len(matrices[0])
        self._side = side = _rows_side_by_side(self.rows, features)
        width = side * features
        cuts = cut_evenly(self.rows // side, views.config.threads, matrices[0].size)
        for name in wanted:
            loop = batchnorm.column_moments if name == "moments" else getattr(batchnorm, name)
            views.note_loop(loop, len(cuts), "rows")
        wide = [m.reshape(-1, width) for m in matrices]
        self._shares = [[m[cut.start : cut.stop] for m in wide] for cut in cuts]
        self._parts = [views.scratch((2, width)) for _ in cuts]
        self._sums = [views.scratch_of((len(cuts), width), np.float64) for _ in range(2)]
        self._counts = np.repeat([float(len(cut)) for cut in cuts], side)[:, np.newaxis]
        self._vectors = [views.scratch((side, features)) for _ in range(4)]

    def moments(self) -> tuple[Doubles, Doubles]:
        """Mean and variance of x."""
        loop, (means, squares) = self._loops.column_moments, self._sums
        self._each(lambda n, x, *_: loop(x, means[n], squares[n], self._parts[n]))
        found = means.reshape(-1, self._features)
        mean: Doubles = (found * self._counts).sum(axis=0) / self.rows
        apart = (found - mean) ** 2 * self._counts + squares.reshape(-1, self._features)
        return mean, apart.sum(axis=0) / self.rows

    def normalise(self, mean: Floats, scale: Floats, shift: Floats) -> None:
        """y = (x - mean)·scale + shift."""
        loop, (centre, by, plus) = self._loops.normalise, self._wide(mean, scale, shift)
        self._each(lambda _, x, y: loop(x, centre, by, plus, y))

    def gradient_sums(self, mean: Floats) -> tuple[Doubles, Doubles]:
        """Σ dy·(x - mean) and Σ dy."""
        loop, (product, plain), (centre,) = self._loops.gradient_sums, self._sums, self._wide(mean)
        self._each(lambda n, x, dy, *_: loop(x, dy, centre, product[n], plain[n], self._parts[n]))
        return self._total(product), self._total(plain)

    def input_gradient(self, mean: Floats, outer: Floats, flat: Floats, slope: Floats) -> None:
        """dx = outer·(dy - flat - (x - mean)·slope)."""
        loop, (centre, *factors) = self._loops.input_gradient, self._wide(mean, outer, flat, slope)
        three = (factors[0], factors[1], factors[2])
        self._each(lambda _, x, dy, dx: loop(x, dy, centre, three, dx))

    def _total(self, sums: Doubles) -> Doubles:
        """What all threads found, always added in the same order."""
        total: Doubles = sums.reshape(-1, self._features).sum(axis=0)
        return total

    def _wide(self, *given: Floats) -> list[Floats]:
        """Vectors over features, repeated for the rows that lie side by side."""
        if self._side == 1:
            return list(given)
        rooms = self._vectors[: len(given)]
        for room, vector in zip(rooms, given, strict=True):
            np.copyto(room, vector)
        return [room.reshape(-1) for room in rooms]

    def _each(self, work: Callable[..., object]) -> None:
        run_together([partial(work, n, *share) for n, share in enumerate(self._shares)])


def _rows_side_by_side(rows: int, features: int) -> int:
    """How many rows make a wide one: a power of two that leaves none over."""
    side = 1
    while side * features < WIDE_ELEMENTS and rows % (2 * side) == 0:
        side *= 2
    return side


@dataclass(frozen=True)
class _Place:
    """One stretch: its arrays as they lie, and a matrix without gaps of working memory."""

    arrays: tuple[Floats, ...]
    matrix: Floats
    shown: Floats


class StretchPasses:
    """Passes by NumPy; arrays may have gaps. See `ColumnPasses`."""

    def __init__(
        self, views: Views, arrays: list[Floats], features: int, wanted: Sequence[str]
    ) -> None:
        self._features = features
        parts = _stretches(arrays, features)
        longest = max((p[0].size for p in parts), default=0)
        self._shares: list[list[_Place]] = []
        for cut in cut_evenly(len(parts), views.config.threads, arrays[0].size):
            room = views.scratch((longest,))
            self._shares.append([_place(parts[i], room, features) for i in cut])
        for name in wanted:
            views.note(name.replace("_", " "), len(self._shares), "rows")
        self.rows = sum(len(place.matrix) for share in self._shares for place in share)
        rows = longest // max(features, 1)
        self._sums = [
            [StretchedSums(views, features, rows) for _ in self._shares] for _ in range(2)
        ]

    def moments(self) -> tuple[Doubles, Doubles]:
        """Mean and variance of x."""
        self._each(self._add_x)
        mean = self._found(0) / self.rows
        self._each(partial(self._add_squares, mean.astype(np.float32)))
        return mean, self._found(0) / self.rows

    def normalise(self, mean: Floats, scale: Floats, shift: Floats) -> None:
        """y = (x - mean)·scale + shift."""
        self._each(partial(self._normalise, mean, scale, shift))

    def gradient_sums(self, mean: Floats) -> tuple[Doubles, Doubles]:
        """Σ dy·(x - mean) and Σ dy."""
        self._each(partial(self._add_products, mean))
        return self._found(0), self._found(1)

    def input_gradient(self, mean: Floats, outer: Floats, flat: Floats, slope: Floats) -> None:
        """dx = outer·(dy - flat - (x - mean)·slope)."""
        self._each(partial(self._input_gradient, mean, outer, flat, slope))

    def _each(self, work: Callable[[int], None]) -> None:
        run_together([partial(work, number) for number in range(len(self._shares))])

    def _found(self, which: int) -> Doubles:
        return _total([sums.values for sums in self._sums[which]])

    def _fit(self, vector: Floats, array: Floats) -> Floats:
        """A vector over features in a shape that broadcasts against an array of entries."""
        if array.shape[-1] == self._features:
            return vector
        return vector.reshape(array.shape[1:])

    def _add_x(self, number: int) -> None:
        self._add_plain(number, 0, 0)

    def _add_plain(self, number: int, array: int, which: int) -> None:
        sums = self._sums[which][number]
        sums.clear()
        for place in self._shares[number]:
            given = place.arrays[array]
            if given.flags.c_contiguous:
                sums.take(given.reshape(place.matrix.shape))
            else:
                np.copyto(place.shown, given)
                sums.take(place.matrix)

    def _add_squares(self, mean: Floats, number: int) -> None:
        sums = self._sums[0][number]
        sums.clear()
        for place in self._shares[number]:
            given = place.arrays[0]
            np.subtract(given, self._fit(mean, given), out=place.shown)
            np.multiply(place.shown, place.shown, out=place.shown)
            sums.take(place.matrix)

    def _add_products(self, mean: Floats, number: int) -> None:
        self._add_plain(number, 1, 1)
        sums = self._sums[0][number]
        sums.clear()
        for place in self._shares[number]:
            given, slope = place.arrays[:2]
            np.subtract(given, self._fit(mean, given), out=place.shown)
            np.multiply(place.shown, slope, out=place.shown)
            sums.take(place.matrix)

    def _normalise(self, mean: Floats, scale: Floats, shift: Floats, number: int) -> None:
        for place in self._shares[number]:
            given, result = place.arrays
            np.subtract(given, self._fit(mean, given), out=result)
            np.multiply(result, self._fit(scale, given), out=result)
            np.add(result, self._fit(shift, given), out=result)

    def _input_gradient(
        self, mean: Floats, outer: Floats, flat: Floats, slope_of_x: Floats, number: int
    ) -> None:
        for place in self._shares[number]:
            given, slope, out = place.arrays
            np.subtract(given, self._fit(mean, given), out=place.shown)
            np.multiply(place.shown, self._fit(slope_of_x, given), out=place.shown)
            np.subtract(slope, place.shown, out=place.shown)
            np.subtract(place.shown, self._fit(flat, given), out=place.shown)
            np.multiply(place.shown, self._fit(outer, given), out=out)


def _place(part: tuple[Floats, ...], room: Floats, features: int) -> _Place:
    size, shape = part[0].size, part[0].shape
    return _Place(part, room[:size].reshape(-1, features), room[:size].reshape(shape))


def _stretches(arrays: list[Floats], features: int) -> list[tuple[Floats, ...]]:
    """Runs of rows of all arrays together; runs of entries if one of them has gaps."""
    if all(a.flags.c_contiguous for a in arrays):
        arrays = [a.reshape(-1, features) for a in arrays]
    per_entry = max(1, prod(arrays[0].shape[1:]) // max(features, 1))
    step = max(1, stretch_rows(features) // per_entry)
    return [tuple(a[i : i + step] for a in arrays) for i in range(0, len(arrays[0]), step)]
