"""The loss of guessing: the best constant prediction, which a network that has learned beats."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Shape
from studio.engine.train.data.samples import Array
from studio.engine.train.project.task import Task

Floats: TypeAlias = npt.NDArray[np.float64]

_MOST_NUMBERS = 1 << 22
"""Of more targets than this an even selection is looked at."""


def guessing_loss(task: Task) -> float | None:
    """Training loss of predicting the class shares, or for numbers the mean, for every sample.

    Weights of classes and samples count as in training. None without data, and for a loss or
    targets it is not known for.
    """
    samples = task.training
    if samples is None or not task.losses or len(samples.targets) != len(task.losses):
        return None
    shapes, total = task.graph.shapes(), 0.0
    count = len(task.losses)
    factors = task.loss_weights or (1.0,) * count
    by_class = task.spec.class_weights or ((),) * count
    by_sample = samples.weights if len(samples.weights) == count else samples.weights * count
    outputs = zip(task.losses, samples.targets, task.graph.outputs, factors, strict=True)
    for index, (loss, targets, output, factor) in enumerate(outputs):
        shape = shapes[output.node]
        chosen = _selection(len(targets), math.prod(shape))
        rows = _rows(targets[chosen], shape)
        if rows is None:
            return None
        own = by_sample[index] if by_sample else None
        own = None if own is None else own[chosen]
        weights = _weights(rows, by_class[index], own)
        value = loss.constant_loss(rows, weights) if weights.sum() > 0 else 0.0
        if value is None:
            return None
        numbers = rows.size / len(targets[chosen]) * task.batch_rows
        total += factor * value * loss.step_factor(numbers)
    return total


def largest_share(task: Task) -> float | None:
    """Share of the most frequent class, the accuracy of guessing; None without classes."""
    samples = task.training
    if samples is None or len(samples.targets) != 1 or not task.class_names:
        return None
    labels = samples.targets[0]
    if labels.dtype.kind not in "iu":
        return None
    return float(np.bincount(labels.astype(np.int64).ravel()).max() / labels.size)


def _selection(samples: int, numbers: int) -> slice:
    """Samples to look at, where each has so many targets."""
    return slice(0, samples, -(-samples * numbers // _MOST_NUMBERS))


def _rows(targets: Array, predicted: Shape) -> Floats | None:
    """Targets as rows of as many numbers as a prediction has; class indices become shares."""
    width = predicted[-1] if predicted else 1
    if targets.shape[1:] == predicted:
        return targets.astype(np.float64).reshape(-1, width)
    if targets.shape[1:] != predicted[:-1] or targets.dtype.kind not in "iu":
        return None
    labels = targets.astype(np.int64).ravel()
    if width == 1:
        return labels.astype(np.float64).reshape(-1, 1)
    if labels.min() < 0 or labels.max() >= width:
        return None
    return np.eye(width)[labels]


def _weights(
    rows: Floats, by_class: tuple[float, ...], own: npt.NDArray[np.float32] | None
) -> Floats:
    """The factor of each row's loss."""
    found = np.ones(len(rows))
    if by_class:
        classes = np.rint(rows[:, 0]) if rows.shape[1] == 1 else np.argmax(rows, axis=1)
        found *= np.asarray(by_class)[classes.astype(np.int64)]
    if own is not None:
        found *= np.repeat(own.astype(np.float64).ravel(), len(rows) // own.size)
    return found
