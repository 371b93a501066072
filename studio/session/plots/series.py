"""Series of numbers over the steps of a training, kept whole and drawn thinned.

A series is only ever appended to. Up to `MOST_POINTS` every point is kept; beyond that neighbours
are joined in pairs, each pair with its mean, lowest and highest, so that a training of days takes
bounded memory and no spike is lost.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from studio.session.plots.axes import Horizontal
from studio.session.plots.columns import Column, Extremes, Floats, Indices, Values
from studio.session.plots.smoothing import Smoother

MOST_POINTS = 1 << 21
_POINTS_PER_PIXEL = 4
_MOST_BAD = 4096
_MANY = 4096
"""So many numbers at once are summed up where they come: a reader's thread, not the window's."""

_FAR = float(1 << 62)


class Steps(Protocol):
    """At which step each point of a series stands; steps count those done, so the first is 1."""

    def at(self, indices: Indices) -> Floats:
        """The steps of points."""
        ...

    def before(self, steps: Floats) -> Indices:
        """How many points stand before each step."""
        ...


class EvenSteps:
    """Points at every ``stride``-th step.

    Args:
        first: steps done before the first point's.
        stride: steps from one point to the next.
    """

    def __init__(self, first: int, stride: int = 1) -> None:
        self.first = first
        self.stride = stride

    def at(self, indices: Indices) -> Floats:
        """The steps of points."""
        return self.first + (indices.astype(np.float64) + 1.0) * self.stride

    def before(self, steps: Floats) -> Indices:
        """How many points stand before each step."""
        counts = np.ceil((steps - self.first) / self.stride) - 1.0
        return np.clip(counts, 0.0, _FAR).astype(np.int64)


class ListedSteps:
    """Points at steps of their own, in ascending order."""

    def __init__(self) -> None:
        self._steps = Column(np.float64)

    def append(self, step: float) -> None:
        """Add the step of a further point."""
        self._steps.extend(np.array([step]))

    def scale(self, factor: float) -> None:
        """Count in other steps: each of the old is so many of the new."""
        scaled = self._steps.values * factor
        self._steps = Column(np.float64)
        self._steps.extend(scaled)

    def at(self, indices: Indices) -> Floats:
        """The steps of points."""
        return np.asarray(self._steps.values[indices], np.float64)

    def before(self, steps: Floats) -> Indices:
        """How many points stand before each step."""
        return np.searchsorted(self._steps.values, steps, side="left").astype(np.int64)


class Bad(NamedTuple):
    """Points that are no finite number.

    Attributes:
        steps: where they are; the first few thousand.
        total: how many there are.
    """

    steps: tuple[float, ...] = ()
    total: int = 0


class Curve:
    """Numbers by index, with the extremes of any stretch.

    Args:
        low: the lowest that each value stands for; the value itself by default.
        high: the highest that each value stands for.
    """

    def __init__(
        self, values: Column, low: Column | None = None, high: Column | None = None
    ) -> None:
        self._values = values
        self._bounds = tuple(column for column in (low, high) if column is not None)
        self._low = Extremes(values if low is None else low)
        self._high = Extremes(values if high is None else high, highest=True)
        self.follow()

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> Values:
        """What is drawn, as a view that must not be written to."""
        return self._values.values

    def extend(self, values: Values, low: Values | None = None, high: Values | None = None) -> None:
        """Append, with the bounds where the curve has some of their own."""
        self._values.extend(values)
        for column, given in zip(self._bounds, (low, high), strict=False):
            column.extend(values if given is None else given)
        if len(values) >= _MANY:
            self.follow()

    def follow(self) -> None:
        """Update the derived columns from what was appended."""
        self._low.follow()
        self._high.follow()

    def lowest(self, begin: Indices, end: Indices) -> Floats:
        """The lowest finite value of each stretch."""
        return self._low.of(begin, end)

    def highest(self, begin: Indices, end: Indices) -> Floats:
        """The highest finite value of each stretch."""
        return self._high.of(begin, end)

    def joined(self) -> Curve:
        """A curve of half the length, neighbours joined; of an even length only."""
        low, high = self._bounds if self._bounds else (self._values, self._values)
        pairs = [column.values.reshape(-1, 2) for column in (self._values, low, high)]
        made = [Column(self._values.values.dtype) for _ in pairs]
        for column, values in zip(made, (_means(pairs[0]), *_bounds(*pairs[1:])), strict=True):
            column.extend(values)
        return Curve(*made)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        columns = sum(column.nbytes for column in (self._values, *self._bounds))
        return columns + self._low.nbytes + self._high.nbytes


class Series:
    """One metric over the steps of one segment of a training.

    Args:
        steps: where its points stand.
        dtype: type its values are kept in.
        most: points kept before neighbours are joined, an even number.
    """

    def __init__(
        self,
        steps: EvenSteps | ListedSteps,
        dtype: type[np.floating] = np.float32,
        most: int = MOST_POINTS,
    ) -> None:
        self.steps = steps
        self.curve = Curve(Column(dtype))
        self.latest: float | None = None
        self._most = most
        self._waiting: Values = np.empty(0, dtype)
        self._added = 0
        self._bad: list[float] = []
        self._bad_count = 0

    @classmethod
    def of_groups(cls, steps: EvenSteps, mean: Values, low: Values, high: Values) -> Series:
        """A series of which each point stands for several steps from the start."""
        made = cls(steps, most=max(MOST_POINTS, len(mean) // 2 * 2 + 2))
        columns = [Column(np.float32) for _ in range(3)]
        for column, values in zip(columns, (mean, low, high), strict=True):
            column.extend(values)
        made.curve = Curve(*columns)
        made._added = len(mean) * steps.stride
        made._note(mean, steps.at(np.arange(len(mean))))
        return made

    def __len__(self) -> int:
        return len(self.curve)

    @property
    def values(self) -> Values:
        """Its points; means where each stands for several steps."""
        return self.curve.values

    @property
    def stride(self) -> int:
        """Steps each point stands for; more than 1 once neighbours were joined."""
        return self.steps.stride if isinstance(self.steps, EvenSteps) else 1

    @property
    def bad(self) -> Bad:
        """Points that were no finite number."""
        return Bad(tuple(self._bad), self._bad_count)

    @property
    def last_step(self) -> float:
        """The step of the last point; 0 without any."""
        return float(self.steps.at(np.array([len(self) - 1]))[0]) if len(self) else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.curve.nbytes

    def append(self, value: float, step: float) -> None:
        """Add one point at a step of its own."""
        if not isinstance(self.steps, ListedSteps):
            raise TypeError("evenly spaced points are added with `extend`")
        self.steps.append(step)
        self._note(np.array([value]), np.array([step]))
        self.curve.extend(np.array([value]))

    def extend(self, values: Values) -> None:
        """Add the next of evenly spaced points, one for each step."""
        if not isinstance(self.steps, EvenSteps):
            raise TypeError("points at steps of their own are added with `append`")
        if not len(values):
            return
        self._note(values, self.steps.first + self._added + np.arange(1.0, len(values) + 1.0))
        self._added += len(values)
        left = values
        while len(left):
            room = (self._most - len(self)) * self.steps.stride - len(self._waiting)
            self._extend(left[:room], self.steps.stride)
            left = left[room:]
            if len(self) == self._most:
                self.curve = self.curve.joined()
                self.steps.stride *= 2

    def value_at(self, step: float) -> tuple[float, float] | None:
        """Step and value of the last point at or before a step; None before the first."""
        count = int(self.steps.before(np.array([np.nextafter(step, np.inf)]))[0])
        index = min(count, len(self)) - 1
        if index < 0:
            return None
        return float(self.steps.at(np.array([index]))[0]), float(self.values[index])

    def _note(self, values: Values, steps: Floats) -> None:
        if not len(values):
            return
        self.latest = float(values[-1])
        bad = steps[~np.isfinite(values)]
        self._bad_count += len(bad)
        self._bad.extend(bad[: max(0, _MOST_BAD - len(self._bad))].tolist())

    def _extend(self, values: Values, stride: int) -> None:
        if stride == 1:
            self.curve.extend(values)
            return
        together = np.concatenate([self._waiting, values])
        whole = len(together) // stride * stride
        self._waiting = together[whole:]
        groups = together[:whole].reshape(-1, stride)
        if len(groups):
            self.curve.extend(_means(groups), *_bounds(groups, groups))


class Smoothed:
    """A series smoothed on all its points, kept up as it grows.

    Args:
        weight: how much, 0 to below 1; meant for single steps, whatever the series' stride.
    """

    def __init__(self, series: Series, weight: float) -> None:
        self.series = series
        self.weight = weight
        self._begin()
        self.update()

    def update(self) -> None:
        """Take in what the series has got since."""
        if self.series.stride != self._stride:
            # Its points were joined: they are others now.
            self._begin()
        self.curve.extend(self._smoother.add(self.series.values[len(self.curve) :]))

    def _begin(self) -> None:
        self._stride = self.series.stride
        self._smoother = Smoother(self.weight**self._stride)
        self.curve = Curve(Column(np.float64))


def _means(groups: Values) -> Values:
    """Means of the finite numbers of each group; NaN for a group without any."""
    finite = np.isfinite(groups)
    counts = finite.sum(axis=1)
    sums = np.where(finite, groups, 0.0).sum(axis=1, dtype=np.float64)
    means = np.full(len(groups), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means.astype(groups.dtype)


def _bounds(low: Values, high: Values) -> tuple[Values, Values]:
    """Lowest and highest finite numbers of groups; NaN for a group without any."""
    lows = np.where(np.isfinite(low), low, np.inf).min(axis=1)
    highs = np.where(np.isfinite(high), high, -np.inf).max(axis=1)
    return (
        np.where(np.isfinite(lows), lows, np.nan).astype(low.dtype),
        np.where(np.isfinite(highs), highs, np.nan).astype(high.dtype),
    )


class Line(NamedTuple):
    """Points of a line to draw; NaN interrupts it."""

    x: Floats
    y: Floats


def thin(
    curve: Curve, steps: Steps, horizontal: Horizontal, view: tuple[float, float], pixels: int
) -> Line:
    """The points to draw of a curve.

    Where more than a few points fall on a pixel, four stand for them: the first, the lowest, the
    highest and the last, so that the picture is that of all points. One point beyond either end of
    the view is drawn too.

    Args:
        steps: at which step each of its points stands.
        view: the part of the axis that is seen.
    """
    count = len(curve)
    if not count or pixels < 1 or not view[1] > view[0]:
        return Line(np.empty(0), np.empty(0))
    edges = np.linspace(view[0], view[1], pixels + 1)
    # What stands on the right edge belongs to the last pixel.
    edges[-1] = np.nextafter(edges[-1], np.inf)
    cuts = np.minimum(steps.before(horizontal.to_steps(edges)), count)
    before, after = max(0, int(cuts[0]) - 1), min(count, int(cuts[-1]) + 1)
    if after - before <= _POINTS_PER_PIXEL * pixels:
        every = np.arange(before, after)
        return Line(horizontal.of_steps(steps.at(every)), curve.values[before:after].astype(float))
    begin, end = cuts[:-1], cuts[1:]
    filled = begin < end
    begin, end = begin[filled], end[filled]
    outer = [i for i in (before, after - 1) if not cuts[0] <= i < cuts[-1]]
    return _joined(curve, steps, horizontal, begin, end, np.array(outer, np.int64))


def range_between(
    curve: Curve, steps: Steps, horizontal: Horizontal, view: tuple[float, float]
) -> tuple[float, float] | None:
    """Lowest and highest finite value of the points inside a part of the axis."""
    edges = np.array([view[0], np.nextafter(view[1], np.inf)])
    cuts = np.minimum(steps.before(horizontal.to_steps(edges)), len(curve))
    low, high = curve.lowest(cuts[:1], cuts[1:]), curve.highest(cuts[:1], cuts[1:])
    return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))


def _joined(
    curve: Curve,
    steps: Steps,
    horizontal: Horizontal,
    begin: Indices,
    end: Indices,
    outer: Indices,
) -> Line:
    low, high = curve.lowest(begin, end), curve.highest(begin, end)
    first, last = curve.values[begin], curve.values[end - 1]
    first_x = horizontal.of_steps(steps.at(begin))
    last_x = horizontal.of_steps(steps.at(end - 1))
    middle = (first_x + last_x) / 2
    x = np.column_stack([first_x, middle, middle, last_x]).reshape(-1)
    y = np.column_stack([first, low, high, last]).reshape(-1).astype(np.float64)
    if len(outer):
        outer_x = horizontal.of_steps(steps.at(outer))
        x, y = np.concatenate([x, outer_x]), np.concatenate([y, curve.values[outer]])
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    return Line(x, y)
