"""Rows typed by hand: one option for each number the network takes."""

from __future__ import annotations

from typing import cast

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError
from studio.engine.core.options import AnyOption, integer, number
from studio.engine.train.data.stored_rows import evenly_spaced
from studio.engine.train.network.measures import Array
from studio.engine.train.project.task import Task

MOST_FIELDS = 64
MOST_ROWS = 20_000
"""Rows looked at where the samples stay in their files."""
_BOUNDS = {DType.bool: (0, 1), DType.uint8: (0, 255), DType.int32: (-(1 << 31), (1 << 31) - 1)}


def form_of(task: Task, place: int = 0) -> tuple[AnyOption, ...]:
    """The numbers of an input whose samples are rows of some; none for others.

    Each begins with the middle one of the training part, and says the range it has there.
    """
    facts = task.all_inputs[place]
    if task.training is None or facts.kind == "images":
        return ()
    samples = task.training.inputs[place]
    if samples.ndim != 2 or not 0 < samples.shape[1] <= MOST_FIELDS:
        return ()
    names = facts.feature_names or default_names(samples.shape[1])
    wide = evenly_spaced(samples, MOST_ROWS).astype(np.float64)
    low, high, start = wide.min(axis=0), wide.max(axis=0), np.median(wide, axis=0)
    limits = _BOUNDS.get(DType.of(samples.dtype))
    return tuple(
        _option(name, float(low[i]), float(high[i]), float(start[i]), limits)
        for i, name in enumerate(names)
    )


def _option(
    name: str, least: float, most: float, start: float, limits: tuple[int, int] | None
) -> AnyOption:
    doc = f"From {least:g} to {most:g} in the data"
    if limits is not None:
        low, high = limits
        return integer(doc, round(start), low=low, high=high, label=name).named(name)
    return number(doc, start, label=name, step=_step(most - least)).named(name)


def _step(span: float) -> float:
    """About a fiftieth of the range, a round number."""
    return float(f"{span / 50:.0e}") if span > 0 else 0.1


def default_names(count: int) -> tuple[str, ...]:
    """Names for numbers that have none."""
    return ("x", "y") if count == 2 else tuple(f"x{index}" for index in range(count))


def first_row(task: Task, place: int, form: tuple[AnyOption, ...]) -> Array:
    """The raw row an input begins with: what its form shows, or the first training sample."""
    if form:
        return row_of(task, [cast("float", each.default) for each in form], place)
    return task.training_samples().inputs[place][:1]


def row_of(task: Task, values: list[float], place: int = 0) -> Array:
    """Typed numbers as one raw row; DataError for one that the network's input cannot hold."""
    source = task.spec.inputs[place]
    wide = np.array([values], np.float64)
    kind = DType(source.dtype)
    if not np.isfinite(wide).all():
        raise DataError("enter a number in every field", who="input")
    if kind in (DType.float32, DType.float16):
        return wide.astype(kind.np)
    low, high = _BOUNDS[kind]
    whole = np.rint(wide)
    if (whole < low).any() or (whole > high).any():
        raise DataError(f"expected whole numbers from {low} to {high}", who="input")
    return whole.astype(kind.np)
