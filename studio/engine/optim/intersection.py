"""Intersection over union of predicted and true classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from studio.engine.core.options import integers, number, optional_integer
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops import metric
from studio.engine.optim.counted_metrics import (
    CountedMetric,
    Counts,
    Keep,
    emit_thresholds,
    kept_counts,
)

_EPSILON = 1e-7
"""What Keras adds to the divisors."""


class BinaryIoU(CountedMetric, aliases=("binary_iou", "binary_io_u")):
    """Entries of a class predicted right by those that have it or are predicted to."""

    logged = "binary_iou"
    spelled = "binary IoU"
    title = "Binary IoU"
    positional = ("target_class_ids", "threshold")
    target_class_ids = integers("The classes averaged, of 0 and 1.", (0, 1), low=0)
    threshold = number("Predictions from here on count as 1.", 0.5)

    def misfit(self, p: Shape, t: Shape) -> str:
        """Rows, and classes 0 and 1."""
        if not self.target_class_ids or max(self.target_class_ids) > 1:
            return "has the classes 0 and 1"
        return super().misfit(p, t)

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """THRESHOLD_COUNTS above the float before the threshold."""
        before = float(np.nextafter(np.float32(self.threshold), np.float32(-np.inf)))
        emit_thresholds(builder, p, t, keep, weights, (before,))

    def value(self, counts: Mapping[str, Counts]) -> float:
        """The mean over the classes that occur."""
        return _mean_iou(counts["counts"][0], self.target_class_ids)


class MeanIoU(CountedMetric, aliases=("mean_iou", "mean_io_u")):
    """Rows of a class predicted right by those that have it or are predicted to: the mean."""

    logged = "mean_iou"
    spelled = "mean IoU"
    title = "Mean IoU"
    positional = ("num_classes",)
    num_classes = optional_integer("Number of classes; that of the output by default.", low=2)
    ignore_class = optional_integer("Rows of this class are left out.", low=0)
    hint = "use 'binary_iou' for one output"

    def misfit(self, p: Shape, t: Shape) -> str:
        """An output with a number for each class."""
        if p[-1] < 2 or self.num_classes not in (None, p[-1]):
            wanted = self.num_classes or "2 or more"
            return f"takes a number for each of {wanted} classes, the output has {p[-1]}"
        return "" if t in (p, p[:-1]) else "takes class indices or rows"

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """CONFUSION."""
        classes = builder.type_of(p).shape[-1]
        counts = kept_counts(keep, (classes, classes), weights)
        ignore = -1 if self.ignore_class is None else self.ignore_class
        builder.append(
            "metrics", metric.Confusion(p=p, t=t, counts=counts, weights=weights, ignore=ignore)
        )

    def value(self, counts: Mapping[str, Counts]) -> float:
        """The mean over the classes that occur."""
        return _mean_iou(counts["counts"], range(len(counts["counts"])))


def _mean_iou(matrix: Counts, classes: Any) -> float:
    """Of a confusion matrix; classes that neither occur nor are predicted are left out."""
    right = np.diag(matrix).astype(np.float64)
    either = matrix.sum(axis=0) + matrix.sum(axis=1) - right
    chosen = list(classes)
    right, either = right[chosen], either[chosen]
    found = np.where(either > 0, right / (either + _EPSILON), 0.0)
    return float(found.sum() / ((either > 0).sum() + _EPSILON))
