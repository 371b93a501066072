"""What a tensor holds in a few numbers: range, mean, spread, counts, and a histogram."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

BINS = 64

_STRETCH = 1 << 18
"""Elements looked at together: few enough for a second-level cache."""
_SHORT = 1 << 12
_LARGE = 1e15


@dataclass(frozen=True)
class Statistics:
    """Facts about all elements of a tensor.

    Attributes:
        count: elements in all.
        nan: how many are no number.
        plus_inf: how many are +infinity.
        minus_inf: how many are -infinity.
        zeros: how many are zero, of either sign.
        low: least finite element, NaN without any.
        high: greatest finite element, NaN without any.
        mean: mean of the finite elements, NaN without any.
        std: their standard deviation (over all of them, not a sample's), NaN without any.
        histogram: how many finite elements lie in each of `BINS` equal parts of low to high; all
            in the first where low is high.
    """

    count: int
    nan: int
    plus_inf: int
    minus_inf: int
    zeros: int
    low: float
    high: float
    mean: float
    std: float
    histogram: tuple[int, ...]

    @property
    def finite(self) -> int:
        """Elements that are finite."""
        return self.count - self.nan - self.plus_inf - self.minus_inf

    @property
    def bad(self) -> int:
        """Elements that are not."""
        return self.nan + self.plus_inf + self.minus_inf


def statistics_of(array: Array) -> Statistics:
    """Statistics of an array of any shape and type; sums are kept in float64."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "b" or flat.dtype == np.uint8:
        return _of_bytes(flat)
    found = _Scan()
    for part in _stretches(flat):
        found.add(part)
    if not found.finite:
        none = (0,) * BINS
        return Statistics(flat.size, *found.counts, nan, nan, nan, nan, none)
    mean = found.total / found.finite
    spread, bins = _spread(flat, mean, found.low, found.high)
    std = sqrt(max(spread, 0.0) / found.finite)
    return Statistics(flat.size, *found.counts, found.low, found.high, mean, std, bins)


class _Scan:
    """Counts, range and sum, a stretch at a time."""

    def __init__(self) -> None:
        self.nan = self.plus = self.minus = self.zeros = self.finite = 0
        self.low, self.high, self.total = np.inf, -np.inf, 0.0

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """NaN, +infinity, -infinity and zeros."""
        return self.nan, self.plus, self.minus, self.zeros

    def add(self, part: Array) -> None:
        """Count a stretch in."""
        kept = _finite(part)
        if kept.size < part.size:
            self.nan += int(np.count_nonzero(np.isnan(part)))
            self.plus += int(np.count_nonzero(np.isposinf(part)))
            self.minus += int(np.count_nonzero(np.isneginf(part)))
        self.zeros += kept.size - int(np.count_nonzero(kept))
        self.finite += kept.size
        if kept.size:
            self.low = min(self.low, float(kept.min()))
            self.high = max(self.high, float(kept.max()))
            self.total += float(np.add.reduce(kept, dtype=np.float64))


def _of_bytes(flat: Array) -> Statistics:
    """Statistics of small whole numbers, from how often each occurs."""
    counts = np.zeros(256, np.int64)
    for part in _stretches(flat):
        counts += np.bincount(part.view(np.uint8), minlength=256)
    if not flat.size:
        return Statistics(0, 0, 0, 0, 0, nan, nan, nan, nan, (0,) * BINS)
    values = np.arange(256)
    there = np.flatnonzero(counts)
    low, high = int(there[0]), int(there[-1])
    mean = float(counts @ values) / flat.size
    std = sqrt(float(counts @ np.square(values - mean)) / flat.size)
    bins = np.zeros(BINS, np.int64)
    places = np.minimum((values - low) * BINS // max(1, high - low), BINS - 1)
    np.add.at(bins, np.maximum(places, 0), counts)
    return Statistics(
        flat.size, 0, 0, 0, int(counts[0]), float(low), float(high), mean, std,
        tuple(int(n) for n in bins),
    )  # fmt: skip


def _spread(flat: Array, mean: float, low: float, high: float) -> tuple[float, tuple[int, ...]]:
    """Sum of squared distances from the mean, and the histogram."""
    bins = np.zeros(BINS, np.int64)
    squares = 0.0
    # Numbers too large to be squared, or ranges too wide for float32, are taken in float64.
    narrow = flat.dtype.kind == "f" and max(abs(low), abs(high)) < _LARGE
    kind = np.float32 if narrow else np.float64
    reach = high - low
    for part in _stretches(flat):
        numbers: npt.NDArray[np.floating] = _finite(part).astype(kind, copy=False)
        apart = np.subtract(numbers, kind(mean))
        for begin in range(0, apart.size, _SHORT):
            # Short sums in the numbers' own type, which do not lose digits; long ones in float64.
            short = apart[begin : begin + _SHORT]
            squares += float(np.dot(short, short))
        if reach > 0:
            share = np.subtract(numbers, kind(low), out=apart)
            share *= kind(BINS / reach)
            np.minimum(share, kind(BINS - 1), out=share)
            bins += np.bincount(share.astype(np.uint8), minlength=BINS)
        else:
            bins[0] += numbers.size
    return squares, tuple(int(n) for n in bins)


def _finite(part: Array) -> Array:
    """The finite elements of a stretch; itself where all are."""
    if part.dtype.kind != "f":
        return part
    good = np.isfinite(part)
    return part if good.all() else part[good]


def _stretches(flat: Array) -> Iterator[Array]:
    for start in range(0, flat.size, _STRETCH):
        yield flat[start : start + _STRETCH]
