"""What a network says all over a plane: for data of two numbers a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.train.task import Task
from studio.engine.train.trained import Trained
from studio.session.evaluation.measures import Floats, class_shares, has_logits, names_of

CELLS = 96
_MARGIN = 0.08


@dataclass(frozen=True, eq=False)
class Plane:
    """Answers on a grid.

    Attributes:
        x: lowest and highest first number.
        y: lowest and highest second number.
        values: [rows, columns, classes] shares or [rows, columns, numbers]; row 0 is the lowest y.
        names: the two numbers.
        classes: the classes; empty where numbers are predicted.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    values: Floats
    names: tuple[str, str]
    classes: tuple[str, ...]


def is_plane(task: Task) -> bool:
    """Whether each sample is two numbers."""
    return task.training is not None and tuple(task.training.inputs[0].shape[1:]) == (2,)


def ask_plane(trained: Trained, progress: Callable[[int, int], None] | None = None) -> Plane:
    """Ask a network about a grid over all samples of its data; see `is_plane`."""
    task = trained.task
    samples = task.training_samples().inputs[0]
    low, high = _bounds(samples)
    columns = np.linspace(low[0], high[0], CELLS)
    rows = np.linspace(low[1], high[1], CELLS)
    points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    outputs = trained.predict(points.astype(samples.dtype), progress)
    if task.class_names:
        values = class_shares(outputs, len(task.class_names), logits=has_logits(task.losses))
    else:
        values = outputs.reshape(len(outputs), -1).astype(np.float64)
    names = task.input_facts.feature_names
    return Plane(
        (float(low[0]), float(high[0])),
        (float(low[1]), float(high[1])),
        values.reshape(CELLS, CELLS, -1),
        (names[0], names[1]) if len(names) == 2 else ("x", "y"),
        names_of(task.class_names, values.shape[1]) if task.class_names else (),
    )


def _bounds(samples: npt.NDArray[np.generic]) -> tuple[Floats, Floats]:
    wide = samples.astype(np.float64)
    low, high = wide.min(axis=0), wide.max(axis=0)
    margin = np.where(high > low, _MARGIN * (high - low), 1.0)
    return low - margin, high + margin
