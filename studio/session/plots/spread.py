"""Trainings that differ only in their seed, drawn as one: their mean, the lowest and the highest.

A point is in it where all of them have one, so that the mean is of the same trainings everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from studio.session.plots.columns import Values
from studio.session.plots.curves import RunCurves, Segment
from studio.session.plots.series import EvenSteps, ListedSteps, Series

_Join = Callable[[Values], Values]

_MEAN: _Join = lambda rows: rows.mean(axis=0)  # noqa: E731
_LOWEST: _Join = lambda rows: rows.min(axis=0)  # noqa: E731
_HIGHEST: _Join = lambda rows: rows.max(axis=0)  # noqa: E731


@dataclass(frozen=True, eq=False)
class Spread:
    """Several trainings as one.

    Attributes:
        mean: their mean, point by point.
        bounds: for each curve of the mean the lowest and the highest of the trainings.
        members: names of their runs.
    """

    mean: RunCurves
    bounds: dict[Series, tuple[Series, Series]]
    members: tuple[str, ...]


def spread_of(name: str, members: Sequence[tuple[str, RunCurves]]) -> Spread | None:
    """Several trainings as one; None where their points do not stand at the same steps.

    Args:
        name: what the mean is found by.
        members: names and curves of the trainings.
    """
    curves = [each for _, each in members]
    first = curves[0]
    alike = all(
        len(each.segments) == 1
        and each.segments[0].first == first.segments[0].first
        and each.size == first.size
        for each in curves
    )
    if len(curves) < 2 or not alike:
        return None
    made = RunCurves(name, first.outputs)
    made.size, made.metrics = first.size, first.metrics
    segment = Segment(first.segments[0].first)
    segment.clock = first.segments[0].clock
    made.segments.append(segment)
    bounds: dict[Series, tuple[Series, Series]] = {}
    for target, sources in (
        (segment.steps, [each.segments[0].steps for each in curves]),
        (segment.epochs, [each.segments[0].epochs for each in curves]),
    ):
        for metric in sources[0]:
            found = [source[metric] for source in sources if metric in source]
            joined = _joined(found) if len(found) == len(sources) else None
            if joined is None:
                return None
            target[metric], *ends = joined
            bounds[target[metric]] = (ends[0], ends[1])
    return Spread(made, bounds, tuple(name for name, _ in members))


def _joined(each: Sequence[Series]) -> tuple[Series, Series, Series] | None:
    """Mean, lowest and highest; None where points stand at different steps."""
    first, count = each[0], min(len(series) for series in each)
    places = np.arange(count)
    steps = [series.steps.at(places) for series in each]
    kinds = {(type(series.steps), series.stride) for series in each}
    if len(kinds) > 1 or any(not np.array_equal(steps[0], other) for other in steps[1:]):
        return None
    rows = np.stack([series.values[:count].astype(np.float64) for series in each])
    with np.errstate(invalid="ignore", over="ignore"):
        # Where one of them is no number, neither is the mean, and no band is drawn.
        mean, low, high = (join(rows) for join in (_MEAN, _LOWEST, _HIGHEST))
    return _like(first, mean), _like(first, low), _like(first, high)


def _like(model: Series, values: Values) -> Series:
    """Other values at the steps of a series."""
    steps = model.steps
    if isinstance(steps, ListedSteps):
        made = Series(ListedSteps(), np.float64)
        for value, step in zip(values.tolist(), steps.at(np.arange(len(values))), strict=True):
            made.append(value, float(step))
        return made
    even = EvenSteps(steps.first, steps.stride)
    if steps.stride > 1:
        return Series.of_groups(even, values, values, values)
    made = Series(even, np.float64)
    made.extend(values)
    return made
