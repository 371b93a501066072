"""The values that get the first and the last colour, and how they follow what is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from studio.engine.runtime.live_statistics import Statistics
from studio.ui.models.tensor_view_colours import MapName


@dataclass(frozen=True)
class ColourRange:
    """Two handles over the histogram.

    Attributes:
        low: value of the first colour.
        high: value of the last.
        signed: colours are centred on zero, because values of both signs have been seen.
        follows: the range is fitted to every picture; otherwise it stays.
    """

    low: float = 0.0
    high: float = 1.0
    signed: bool = False
    follows: bool = True

    @property
    def map_name(self) -> MapName:
        """The colours that suit it."""
        return "diverging" if self.signed else "sequential"

    def seen(self, statistics: Statistics) -> ColourRange:
        """The range behind a new picture."""
        if not self.follows:
            return self
        return self.fitted(statistics)

    def fitted(self, statistics: Statistics) -> ColourRange:
        """The range that just holds everything finite, centred on zero where signs differ."""
        low, high = statistics.low, statistics.high
        if not statistics.finite or not math.isfinite(low) or not math.isfinite(high):
            return self
        signed = self.signed or low < 0
        if signed:
            reach = max(abs(low), abs(high)) or 1.0
            return replace(self, low=-reach, high=reach, signed=True)
        if low == high:
            low, high = (0.0, high) if high > 0 else (0.0, 1.0)
        return replace(self, low=low, high=high, signed=False)

    def moved(self, low: float | None = None, high: float | None = None) -> ColourRange:
        """The range with a handle moved; it stays there. A signed one stays centred."""
        if self.signed:
            reach = abs(low) if low is not None else abs(high) if high is not None else self.high
            reach = max(reach, 1e-30)
            return replace(self, low=-reach, high=reach, follows=False)
        begin = self.low if low is None else low
        end = self.high if high is None else high
        if begin > end:
            begin, end = (end, end) if low is not None else (begin, begin)
        return replace(self, low=begin, high=end, follows=False)

    def kept(self, statistics: Statistics | None) -> ColourRange:
        """Fitted once, to stay."""
        fitted = self if statistics is None else self.fitted(statistics)
        return replace(fitted, follows=False)

    def following(self) -> ColourRange:
        """Fitted to every picture from now on."""
        return replace(self, follows=True)
