"""What a network says about rows of the user's own, and all over a plane of two inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.train.network.trained import Trained
from studio.engine.train.project.task import Task
from studio.engine.train.runs.weights_origin import WeightsOrigin
from studio.session.evaluation.measures import Array, Floats, class_shares, has_logits, names_of

CELLS = 96
_MARGIN = 0.08


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer about some rows.

    Attributes:
        names: what each row is called.
        rows: the rows as the network was given them.
        classes: the classes; empty where it predicts numbers.
        values: [rows, classes] shares, or [rows, numbers].
        origin: where the weights come from, if that is known.
    """

    names: tuple[str, ...]
    rows: Array
    classes: tuple[str, ...]
    values: Array
    origin: WeightsOrigin | None = None

    @property
    def best(self) -> tuple[str, ...]:
        """The likeliest class of each row; nothing for numbers."""
        if not self.classes:
            return ()
        found = np.where(np.isnan(self.values), -1.0, self.values)
        return tuple(self.classes[index] for index in found.argmax(axis=1))


def answer(trained: Trained, names: tuple[str, ...], rows: Array) -> Answer:
    """What a network says about raw rows."""
    task, outputs = trained.task, trained.predict(rows)
    if not task.class_names:
        numbers = outputs.reshape(len(outputs), -1).astype(np.float64)
        return Answer(names, rows, (), numbers, trained.origin)
    values = class_shares(outputs, len(task.class_names), logits=has_logits(task.losses))
    return Answer(
        names, rows, names_of(task.class_names, values.shape[1]), values, trained.origin
    )  # fmt: skip


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
