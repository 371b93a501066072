"""Curves as a table for other programs: every point, nothing thinned or smoothed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from studio.session.plots.curves import VALIDATION, RunCurves, Segment
from studio.session.plots.series import Series

HEADER = ("run", "segment", "curve", "step", "epoch", "seconds", "value")


def csv_text(runs: list[tuple[str, RunCurves]], metrics: tuple[str, ...]) -> str:
    """The points of some runs' curves, one a line.

    Args:
        runs: what each is called, and its curves.
        metrics: which curves; those of validation come with them.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for title, curves in runs:
        for number, segment in enumerate(curves.segments, 1):
            for name, series in _chosen(segment, metrics):
                writer.writerows(_rows(title, number, name, curves, segment, series))
    return text.getvalue()


def _chosen(segment: Segment, metrics: tuple[str, ...]) -> Iterator[tuple[str, Series]]:
    for metric in metrics:
        if metric in segment.steps:
            yield metric, segment.steps[metric]
        for name in (metric, VALIDATION + metric):
            if name in segment.epochs:
                yield f"{name} (epoch)", segment.epochs[name]


def _rows(
    title: str, number: int, name: str, curves: RunCurves, segment: Segment, series: Series
) -> Iterator[tuple[object, ...]]:
    steps = series.steps.at(np.arange(len(series)))
    epochs = curves.horizontal(segment, "epoch").of_steps(steps)
    clock = curves.horizontal(segment, "relative")
    seconds = clock.of_steps(steps).tolist() if clock.is_known else [""] * len(steps)
    counts = [int(s) for s in steps] if curves.size is not None else [""] * len(steps)
    for row in zip(counts, epochs.tolist(), seconds, series.values.tolist(), strict=True):
        yield (title, number, name, *row)
