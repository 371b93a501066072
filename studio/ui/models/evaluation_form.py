"""Rows typed by hand: one field for each number the network takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError
from studio.engine.train.task import Task
from studio.ui.models.evaluation_measures import Array

MOST_FIELDS = 64
_BOUNDS = {DType.bool: (0, 1), DType.uint8: (0, 255), DType.int32: (-(1 << 31), (1 << 31) - 1)}


@dataclass(frozen=True)
class FormField:
    """One number.

    Attributes:
        name: what it is.
        low: lowest in the training part.
        high: highest in the training part.
        start: the middle one of the training part.
        is_whole: whether only whole numbers are stored.
    """

    name: str
    low: float
    high: float
    start: float
    is_whole: bool


def form_of(task: Task) -> tuple[FormField, ...]:
    """The fields for a task whose samples are rows of some numbers; none for others."""
    if task.training is None or task.input_facts.kind == "images":
        return ()
    samples = task.training.inputs[0]
    if samples.ndim != 2 or not 0 < samples.shape[1] <= MOST_FIELDS:
        return ()
    names = task.input_facts.feature_names or default_names(samples.shape[1])
    wide = samples.astype(np.float64)
    low, high, start = wide.min(axis=0), wide.max(axis=0), np.median(wide, axis=0)
    whole = samples.dtype.kind in "iu"
    return tuple(
        FormField(name, float(low[i]), float(high[i]), float(start[i]), whole)
        for i, name in enumerate(names)
    )


def default_names(count: int) -> tuple[str, ...]:
    """Names for numbers that have none."""
    return ("x", "y") if count == 2 else tuple(f"x{index}" for index in range(count))


def row_of(task: Task, values: list[float]) -> Array:
    """Typed numbers as one raw row; DataError for one that the network's input cannot hold."""
    source = task.spec.inputs[0]
    wide = np.array([values], np.float64)
    kind = DType(source.dtype)
    if not np.isfinite(wide).all():
        raise DataError("every field needs a number", who="input")
    if kind in (DType.float32, DType.float16):
        return wide.astype(kind.np)
    low, high = _BOUNDS[kind]
    whole = np.rint(wide)
    if (whole < low).any() or (whole > high).any():
        raise DataError(f"expected whole numbers from {low} to {high}", who="input")
    return whole.astype(kind.np)
