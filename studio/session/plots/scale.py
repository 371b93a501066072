"""Scales of a plot's axes: transforms of values and times, and where ticks go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from studio.session.plots.axes import Axis
from studio.session.plots.columns import Floats

ScaleKind: TypeAlias = Literal["linear", "log", "symmetric"]

_LEAST = 1e-12
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
            86400, 172800, 604800)  # fmt: skip


class Tick(NamedTuple):
    """A place on an axis.

    Attributes:
        place: where it is drawn.
        text: what it says; empty for one that says nothing.
    """

    place: float
    text: str


@dataclass(frozen=True)
class ValueScale:
    """How values are transformed before they are drawn.

    ``log`` draws magnitudes of ten. ``symmetric`` does so above and below a zone around zero, in
    which it is linear: the zone reaches to ``zone`` and is as high as one magnitude each way.

    Attributes:
        kind: which.
        zone: half the width of the zone around zero.
    """

    kind: ScaleKind = "linear"
    zone: float = 1.0

    @classmethod
    def logarithmic(cls, low: float, least: float | None) -> ValueScale:
        """The scale for values down to ``low``, whose smallest magnitude above zero is ``least``.

        Values at or below zero get a zone of their own instead of being left out.
        """
        if low > 0.0:
            return cls("log")
        smallest = max(least or 1.0, _LEAST)
        return cls("symmetric", 10.0 ** math.floor(math.log10(smallest)))

    def to(self, values: Floats) -> Floats:
        """Where values are drawn; NaN for what cannot be."""
        if self.kind == "linear":
            return values
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.log10(values)
            return np.where(values > 0.0, found, np.nan)
        size = np.abs(values) / self.zone
        with np.errstate(divide="ignore"):
            beyond = 1.0 + np.log10(np.maximum(size, 1.0))
        return np.where(size <= 1.0, values / self.zone, np.copysign(beyond, values))

    def back(self, place: float) -> float:
        """The value drawn at a place."""
        if self.kind == "linear":
            return place
        if self.kind == "log":
            return float(10.0 ** min(place, 300.0))
        if abs(place) <= 1.0:
            return place * self.zone
        return math.copysign(self.zone * 10.0 ** min(abs(place) - 1.0, 300.0), place)

    def ticks(self, low: float, high: float, most: int) -> tuple[list[Tick], list[float]]:
        """Ticks with a text between two places, and further ones without."""
        if self.kind == "linear":
            return linear_ticks(low, high, most), []
        if self.kind == "log" and high - low < 1.5:
            return self._fine_ticks(low, high, most), []
        decades = range(math.ceil(low), math.floor(high) + 1)
        step = max(1, -(-len(decades) // max(1, most)))
        shown = [d for d in decades if d % step == 0]
        major = [Tick(float(d), _text(self.back(float(d)))) for d in shown]
        minor = [
            d + math.log10(m)
            for d in range(math.floor(low), math.ceil(high))
            for m in range(2, 10)
            if step == 1 and (self.kind == "log" or d >= 1) and low <= d + math.log10(m) <= high
        ]
        return major, minor

    def telling_ticks(
        self, low: float, high: float, most: int, room: int
    ) -> tuple[list[Tick], list[float]]:
        """Ticks of which at least two have a text: a single number tells nothing of a scale.

        Args:
            most: texts wanted at most.
            room: texts there is room for, where fewer would be a single one.
        """
        found = self.ticks(low, high, most)
        while len(found[0]) < 2 and most < room:
            most += 1
            found = self.ticks(low, high, most)
        return found

    def _fine_ticks(self, low: float, high: float, most: int) -> list[Tick]:
        """Ticks at round values where less than some magnitudes are seen."""
        values = linear_ticks(self.back(low), self.back(high), most)
        return [Tick(math.log10(t.place), t.text) for t in values if t.place > 0.0]


def linear_ticks(low: float, high: float, most: int) -> list[Tick]:
    """At most so many ticks at round numbers between two values."""
    span = high - low
    if not (math.isfinite(span) and span > 0.0) or most < 1:
        return []
    rough = span / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(s * unit for s in _STEPS if s * unit >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9) + (1 if step / unit == 2.5 else 0))
    return [Tick(n * step, _decimal(n * step, digits)) for n in range(first, last + 1)]


def place_ticks(axis: Axis, low: float, high: float, most: int) -> list[Tick]:
    """At most so many ticks between two places of a horizontal axis."""
    if axis in ("step", "items"):
        whole = [t for t in linear_ticks(low, high, most) if t.place == int(t.place)]
        return [Tick(t.place, short_count(t.place)) for t in whole]
    if axis == "epoch":
        return linear_ticks(low, high, most)
    return _time_ticks(axis, low, high, most)


def place_text(axis: Axis, place: float) -> str:
    """A place of a horizontal axis, exactly enough to be read under the pointer."""
    if axis in ("step", "items"):
        return f"{round(place):,}".replace(",", "\u202f")
    if axis == "epoch":
        return f"{place:.2f}"
    if axis == "relative":
        return f"{place:.1f}\u202fs" if place < 100 else _span(place)
    return _clock(place).strftime("%d %b %H:%M:%S")


def _time_ticks(axis: Axis, low: float, high: float, most: int) -> list[Tick]:
    span = high - low
    if not (math.isfinite(span) and span > 0.0) or most < 1:
        return []
    if span < most and axis == "relative":
        return [Tick(t.place, f"{t.text}\u202fs") for t in linear_ticks(low, high, most)]
    step = next((s for s in _SECONDS if s * most >= span), _SECONDS[-1])
    # Clock times stand at round times of the day here.
    offset = 0.0
    if axis == "wall":
        zone = _clock(low).utcoffset()
        offset = zone.total_seconds() if zone is not None else 0.0
    first = math.ceil((low + offset) / step)
    places: list[float] = []
    while first * step - offset <= high and len(places) <= 4 * most:
        places.append(first * step - offset)
        first += 1
    if axis == "relative":
        return [Tick(place, _span(place)) for place in places]
    form = "%d %b" if step >= 86400 else "%H:%M" if step >= 60 else "%H:%M:%S"
    return [Tick(place, _clock(place).strftime(form)) for place in places]


def _clock(place: float) -> datetime:
    return datetime.fromtimestamp(min(max(place, 0.0), 4e9)).astimezone()


def _span(seconds: float) -> str:
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def short_count(value: float) -> str:
    """A whole number in a few characters: ``850``, ``12k``, ``1.5M``."""
    for size, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if mark == "k" else size
            return f"{value / unit:g}{mark}"
    return f"{round(value)}"


def _decimal(value: float, digits: int) -> str:
    value += 0.0
    if abs(value) >= 1e6 or (value and abs(value) < 1e-4):
        return _text(value)
    return f"{value:.{min(digits, 12)}f}".replace("-", "\u2212")


def _text(value: float) -> str:
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:g}".replace("-", "\u2212")
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}".replace("-", "\u2212")
