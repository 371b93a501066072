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

_STRETCH = 1 << 20


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
    """Statistics of an array of any shape and type, with sums in float64."""
    flat = array.reshape(-1)
    counts = np.zeros(4, np.int64)
    low, high, total, finite = np.inf, -np.inf, 0.0, 0
    for part in _stretches(flat):
        kept = part
        if part.dtype.kind == "f":
            good = np.isfinite(part)
            counts += (np.isnan(part).sum(), np.isposinf(part).sum(), np.isneginf(part).sum(), 0)
            kept = part if good.all() else part[good]
        counts[3] += np.count_nonzero(kept == 0)
        if kept.size:
            numbers = kept.astype(np.float64)
            low, high = min(low, float(numbers.min())), max(high, float(numbers.max()))
            total += float(numbers.sum())
            finite += kept.size
    not_a_number, plus, minus, zeros = (int(n) for n in counts)
    if not finite:
        empty = (0,) * BINS
        return Statistics(flat.size, not_a_number, plus, minus, zeros, nan, nan, nan, nan, empty)
    mean = total / finite
    spread, bins = _spread(flat, mean, low, high)
    return Statistics(
        flat.size, not_a_number, plus, minus, zeros, low, high, mean, sqrt(spread / finite), bins
    )


def _spread(flat: Array, mean: float, low: float, high: float) -> tuple[float, tuple[int, ...]]:
    """Sum of squared distances from the mean, and the histogram."""
    bins = np.zeros(BINS, np.int64)
    squares = 0.0
    for part in _stretches(flat):
        numbers = part[np.isfinite(part)] if part.dtype.kind == "f" else part
        wide = numbers.astype(np.float64)
        squares += float(np.square(wide - mean).sum())
        if high > low:
            # Halved, since the range of float32 numbers may be twice what float32 holds.
            share = (0.5 * wide - 0.5 * low) / (0.5 * high - 0.5 * low)
            places = np.minimum((share * BINS).astype(np.int64), BINS - 1)
            bins += np.bincount(places, minlength=BINS)
        else:
            bins[0] += wide.size
    return squares, tuple(int(n) for n in bins)


def _stretches(flat: Array) -> Iterator[Array]:
    for start in range(0, flat.size, _STRETCH):
        yield flat[start : start + _STRETCH]
