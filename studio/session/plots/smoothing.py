"""Smoothing of curves: an exponential average without the pull towards zero at its beginning."""

from __future__ import annotations

import math

import numpy as np

from studio.session.plots.columns import Floats, Values

DEFAULT_WEIGHT = 0.6
MOST_DECADES = 3.0
"""The slider goes from no smoothing to a weight of 1 - 10 to the power of minus this."""

_BLOCK = 128


class Smoother:
    """Averages a stream of numbers exponentially, corrected for its beginning.

    The first value is itself; after ``t`` values they weigh ``w^(t-1) … w, 1``, normalised to sum
    to 1. Everything is counted from the first value on, so a constant stays exactly what it is.
    What is no finite number is passed over and gives NaN.

    Args:
        weight: how much of the average is kept at each value, 0 (none) to below 1.
    """

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self._first: float | None = None
        self._average = 0.0
        self._count = 0
        if weight:
            ahead = np.arange(_BLOCK)
            powers = weight ** np.abs(ahead[:, np.newaxis] - ahead)
            # Row i of the product of a block with this: the average's share of values 0 to i.
            self._shares = np.triu((1.0 - weight) * powers)
            self._fading = weight ** (ahead + 1.0)

    def add(self, values: Values) -> Floats:
        """The averages behind each of the next values."""
        wide = np.asarray(values, np.float64)
        finite = np.isfinite(wide)
        if not self.weight or not finite.any():
            return np.where(finite, wide, np.nan)
        if finite.all():
            return self._add(wide)
        made = np.full(len(wide), np.nan)
        made[finite] = self._add(wide[finite])
        return made

    def _add(self, values: Floats) -> Floats:
        if self._first is None:
            self._first = float(values[0])
        above = values - self._first
        rows = -(-len(above) // _BLOCK)
        padded = np.zeros((rows, _BLOCK))
        padded.reshape(-1)[: len(above)] = above
        averages = padded @ self._shares
        carried = np.empty(rows)
        average, fade = self._average, float(self._fading[-1])
        for row, last in enumerate(averages[:, -1].tolist()):
            carried[row] = average
            average = last + fade * average
        averages += carried[:, np.newaxis] * self._fading
        biased = averages.reshape(-1)[: len(above)]
        self._average = float(biased[-1])
        counts = np.arange(self._count + 1, self._count + len(above) + 1)
        self._count += len(above)
        made: Floats = self._first + biased / -np.expm1(counts * math.log(self.weight))
        return made


def smooth(values: Values, weight: float) -> Floats:
    """The smoothed values of a whole series."""
    return Smoother(weight).add(values)


def weight_at(position: float) -> float:
    """The weight at a place of the slider, 0 to 1; equal distances divide 1 - weight equally."""
    return float(1.0 - 10.0 ** (-MOST_DECADES * min(max(position, 0.0), 1.0)))


def position_of(weight: float) -> float:
    """Where on the slider a weight is."""
    return min(1.0, -math.log10(1.0 - min(weight, 1.0 - 10.0**-MOST_DECADES)) / MOST_DECADES)
