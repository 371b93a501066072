"""Trials as lines over parallel axes: one axis for each thing varied, the last for the objective.

Places run from 0 at the lower end of an axis to 1 at the upper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import Axis, Raw, shown
from studio.session.plots.scale import Tick, ValueScale

Places = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_BY_MAGNITUDE = 100.0
"""Objectives whose largest is so many times the smallest are drawn by magnitude."""


@dataclass(frozen=True)
class ParallelAxis:
    """One vertical axis.

    Attributes:
        name: what stands above it.
        listed: its values from the lowest place to the highest, where it has a list of them.
        scale: of numbers, where it has a range.
        low: what stands at its lower end, as the scale has it.
        high: what stands at its upper end.
        is_whole: whether its numbers are whole.
    """

    name: str
    listed: tuple[Raw, ...] = ()
    scale: ValueScale = field(default_factory=ValueScale)
    low: float = 0.0
    high: float = 1.0
    is_whole: bool = False

    def places(self, values: Sequence[Raw]) -> Places:
        """Where values stand; NaN for those that do not stand on the axis."""
        if self.listed:
            steps = max(len(self.listed) - 1, 1)
            # One value stands in the middle.
            first = 0.5 if len(self.listed) == 1 else 0.0
            known = {_key(value): first + n / steps for n, value in enumerate(self.listed)}
            return np.array([known.get(_key(value), math.nan) for value in values], float)
        numbers = np.array([_number(value) for value in values], float)
        with np.errstate(all="ignore"):
            found = (self.scale.to(numbers) - self.low) / (self.high - self.low)
        inside = np.isfinite(found) & (found >= -1e-6) & (found <= 1.0 + 1e-6)
        return np.where(inside, np.clip(found, 0.0, 1.0), math.nan)

    def ticks(self, most: int) -> tuple[Tick, ...]:
        """At most about so many places with a text, both ends of a list among them."""
        if self.listed:
            count = len(self.listed)
            step = max(1, -(-(count - 1) // max(most - 1, 1)))
            chosen = [*range(0, count - 1, step), count - 1] if count > 1 else [0]
            if len(chosen) > 2 and chosen[-1] - chosen[-2] < step:
                # The last one needs the room of the one before.
                del chosen[-2]
            places = self.places([self.listed[n] for n in chosen])
            return tuple(
                Tick(float(place), shown(self.listed[n]))
                for place, n in zip(places, chosen, strict=True)
            )
        found, _ = self.scale.telling_ticks(self.low, self.high, max(most, 2), 2 * max(most, 2))
        span = self.high - self.low
        return tuple(
            Tick((tick.place - self.low) / span, tick.text)
            for tick in found
            if not self.is_whole or float(self.scale.back(tick.place)).is_integer()
        )


@dataclass(frozen=True)
class ParallelTrials:
    """All trials over all axes.

    Attributes:
        axes: from left to right, the objective last.
        numbers: of the trials.
        values: of the trials on each axis, as a table shows them.
        places: of each trial on each axis, NaN where it has none.
        reached: which trials have an objective.
        order: the places of trials with an objective in `numbers`, from the worst to the best.
    """

    axes: tuple[ParallelAxis, ...] = ()
    numbers: tuple[int, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    places: Places = field(default_factory=lambda: np.empty((0, 0)))
    reached: Flags = field(default_factory=lambda: np.empty(0, bool))
    order: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, rows: Sequence[TrialRow], axes: Sequence[Axis], objective: str, *, maximize: bool
    ) -> ParallelTrials:
        """The trials of a table."""
        worth = [_number(row.value) for row in rows]
        made = [_axis_of(axis) for axis in axes]
        made.append(_objective_axis(objective, worth))
        columns: list[list[Raw]] = [[row.values.get(axis.name) for row in rows] for axis in axes]
        columns.append([value if math.isfinite(value) else None for value in worth])
        places = [axis.places(column) for axis, column in zip(made, columns, strict=True)]
        is_there = [[axis.name in row.values for row in rows] for axis in axes]
        is_there.append([math.isfinite(value) for value in worth])
        texts = [
            tuple(
                shown(value) if known else "\N{EN DASH}"
                for value, known in zip(column, there, strict=True)
            )
            for column, there in zip(columns, is_there, strict=True)
        ]
        sign = 1.0 if maximize else -1.0
        reached = np.isfinite(np.array(worth, float))
        ranked = sorted(
            (n for n in range(len(rows)) if reached[n]),
            key=lambda n: (sign * worth[n], -rows[n].number),
        )
        return cls(
            tuple(made),
            tuple(row.number for row in rows),
            tuple(zip(*texts, strict=True)) if rows else (),
            np.stack(places, axis=1),
            reached,
            tuple(ranked),
        )

    @property
    def best(self) -> int | None:
        """Which of the trials is the best, by its place in `numbers`; None without any."""
        return self.order[-1] if self.order else None

    def shares(self) -> Places:
        """How good each trial is, from 0 for the worst to 1 for the best; NaN without objective."""
        found = np.full(len(self.numbers), math.nan)
        if not self.order:
            return found
        height = self.places[:, -1]
        worst, best = height[self.order[0]], height[self.order[-1]]
        with np.errstate(all="ignore"):
            share = (height - worst) / (best - worst) if best != worst else np.ones_like(height)
        return np.where(self.reached, share, math.nan)

    def within(self, brushes: Sequence[tuple[int, float, float]]) -> Flags:
        """Which trials lie within all ranges, each of an axis from one place to another."""
        found = np.ones(len(self.numbers), bool)
        for axis, low, high in brushes:
            with np.errstate(invalid="ignore"):
                found &= (self.places[:, axis] >= low) & (self.places[:, axis] <= high)
        return found

    def nearest(self, across: float, height: float, among: Flags) -> tuple[int, float] | None:
        """The trial whose line passes nearest, and how far above or below.

        Args:
            across: where, counted in axes from the first.
            height: the place there.
            among: the trials that are looked at.
        """
        last = len(self.axes) - 1
        if last < 0 or not among.any() or not 0.0 <= across <= last:
            return None
        left = min(int(across), max(last - 1, 0))
        right, share = min(left + 1, last), across - left
        at = self.places[:, left] * (1.0 - share) + self.places[:, right] * share
        away = np.where(among & np.isfinite(at), np.abs(at - height), np.inf)
        nearest = float(away.min())
        if not math.isfinite(nearest):
            return None
        # Of lines that lie on one another the best is on top.
        same = np.flatnonzero(away <= nearest + 1e-9)
        ranks = {place: rank for rank, place in enumerate(self.order)}
        return int(max(same, key=lambda place: ranks.get(int(place), -1))), nearest

    def words(self, place: int) -> tuple[tuple[str, str], ...]:
        """Names and values of a trial, by its place in `numbers`."""
        return tuple(
            (axis.name, value) for axis, value in zip(self.axes, self.values[place], strict=True)
        )


def _key(value: Raw) -> tuple[type, Raw]:
    """What a value is found by: true is not 1, but 8.0 is 8."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return type(value), value
    return float, float(value)


def _number(value: Raw) -> float:
    """A finite number, or NaN."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        found = float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        found = math.nan
    return found if math.isfinite(found) else math.nan


def _axis_of(axis: Axis) -> ParallelAxis:
    if axis.values:
        return ParallelAxis(axis.name, axis.values)
    scale = ValueScale("log") if axis.is_log else ValueScale()
    low, high = (float(end) for end in scale.to(np.array([axis.low, axis.high])))
    return ParallelAxis(axis.name, (), scale, low, high, axis.is_whole)


def _objective_axis(name: str, worth: Sequence[float]) -> ParallelAxis:
    """The axis that all finite objectives stand on, by magnitude where they differ by much."""
    finite = np.array([value for value in worth if math.isfinite(value)] or [0.0, 1.0])
    low, high = float(finite.min()), float(finite.max())
    scale = ValueScale("log") if low > 0.0 and high / low > _BY_MAGNITUDE else ValueScale()
    if not math.isfinite(high - low):
        # Numbers so far apart that their difference is none.
        scale = ValueScale.logarithmic(low, None)
    ends = scale.to(np.array([low, high]))
    bottom, top = float(ends[0]), float(ends[1])
    if not top > bottom:
        reach = abs(bottom) * 0.05 or 0.5
        bottom, top = bottom - reach, top + reach
    return ParallelAxis(name, (), scale, bottom, top)
