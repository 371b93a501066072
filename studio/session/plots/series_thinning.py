"""Thins a curve to what a plot of so many pixels can show: no extreme and neither end is lost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from studio.session.plots.series import Curve, Steps
from studio.session.plots.series_axes import Horizontal
from studio.session.plots.series_columns import Floats, Indices

_POINTS_PER_PIXEL = 4


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
        curve: what is drawn.
        steps: at which step each of its points stands.
        horizontal: the axis.
        view: the part of the axis that is seen.
        pixels: how wide it is.
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
