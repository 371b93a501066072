"""How a number field moves from one sensible value to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.engine.core.options import Steps

Pace: TypeAlias = Literal["fine", "normal", "coarse"]


_FACTOR = {"fine": 0.1, "normal": 1.0, "coarse": 10.0}
_POINTS_A_STEP = 4.0
_POINTS_A_POWER = 24.0
_POINTS_A_DECADE = 120.0
_DECADE = (1.0, 3.0, 10.0)
_MOST_DECADES = 300.0


@dataclass(frozen=True)
class Stepping:
    """The values a number field can take and the order it walks them in.

    Attributes:
        scale: ``linear`` goes in equal steps; ``powers`` through powers of two, as for channels;
            ``decades`` through 1, 3, 10, as for rates.
        low: smallest value.
        high: largest value.
        integer: whole numbers only.
        step: size of a linear step.
    """

    scale: Steps = "linear"
    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    step: float = 1.0

    def fitted(self, value: float) -> float:
        """The nearest value allowed."""
        bounded = min(max(value, self.low), self.high)
        return round(bounded) if self.integer else bounded

    def stepped(self, value: float, notches: int, pace: Pace = "normal") -> float:
        """The value so many steps further; a fine step is a tenth, a coarse one ten."""
        if self.scale == "linear" or (self.scale == "powers" and pace == "fine"):
            return self.fitted(self._moved(value, notches, pace))
        many = 3 if pace == "coarse" else 1
        for _ in range(abs(notches) * many):
            value = self._next(value, up=notches > 0, pace=pace)
        return self.fitted(value)

    def dragged(self, start: float, points: float, pace: Pace = "normal") -> float:
        """The value after the pointer was drawn so many points to the right of where it began."""
        if self.scale == "linear" or (self.scale == "powers" and pace == "fine"):
            return self.fitted(self._moved(start, int(points / _POINTS_A_STEP), pace))
        if self.scale == "powers":
            return self.stepped(start, int(points / _POINTS_A_POWER), pace)
        if start <= 0:
            start = self._smallest()
        decades = math.log10(start) + points * _FACTOR[pace] / _POINTS_A_DECADE
        # Beyond, there is no such number: a wide screen has room for more than that.
        found = start if points == 0 else 10 ** min(decades, _MOST_DECADES)
        return self.fitted(_short(found, 3 if pace == "fine" else 2))

    def _moved(self, value: float, notches: int, pace: Pace) -> float:
        step = self.step * _FACTOR[pace]
        if self.integer:
            step = max(1.0, step)
        # Counted from zero, so that steps do not carry the dust of earlier ones along.
        return _clean(value + notches * step, step)

    def _next(self, value: float, *, up: bool, pace: Pace) -> float:
        if value <= 0 or not math.isfinite(value):
            return self._smallest() if up else max(self.low, 0.0)
        if self.scale == "powers":
            exponent = math.log2(value)
            return 2.0 ** (_floor(exponent) + 1 if up else _ceil(exponent) - 1)
        if pace == "fine":
            return _short(value * (1.1 if up else 1 / 1.1), 2)
        decade = 10.0 ** _floor(math.log10(value))
        marks = [_short(mark * decade * scale, 1) for scale in (0.1, 1.0) for mark in _DECADE]
        above = [mark for mark in marks if mark > value * (1 + 1e-9)]
        below = [mark for mark in marks if mark < value * (1 - 1e-9)]
        return min(above) if up else max(below)

    def _smallest(self) -> float:
        """Where a scale that never reaches zero begins."""
        if self.low > 0:
            return self.low
        return 1.0 if self.scale == "powers" or self.integer else 1e-6


def _floor(exponent: float) -> int:
    return math.floor(exponent + 1e-9)


def _ceil(exponent: float) -> int:
    return math.ceil(exponent - 1e-9)


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _clean(value: float, step: float) -> float:
    places = max(0, 2 - math.floor(math.log10(step))) if step > 0 else 0
    return round(value, places)
