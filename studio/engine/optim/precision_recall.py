"""Precision, recall and F1, from predictions above a threshold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from studio.engine.core.options import choice, optional_integer, optional_number
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.optim.counted_metrics import (
    CountedMetric,
    Counts,
    Keep,
    above,
    class_misfit,
    emit_thresholds,
    share,
)

_BELOW_ALL = -1e10
"""Keras' threshold where only the largest of a row are asked for."""


class RateMetric(CountedMetric, abstract=True):
    """What precision and recall share: predictions above a threshold count as positive."""

    positional = ("thresholds",)
    thresholds = optional_number(
        "Predictions above it count as positive; 0.5 by default, none with top_k.", low=0.0,
        high=1.0,
    )  # fmt: skip
    top_k = optional_integer("Only the largest of each row may count as positive.", low=1)
    class_id = optional_integer("The only class looked at; all by default.", low=0)

    def misfit(self, p: Shape, t: Shape) -> str:
        """Rows, which have the class."""
        return super().misfit(p, t) or class_misfit(self.class_id, p)

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """THRESHOLD_COUNTS of one threshold."""
        bound = self.thresholds
        if bound is None:
            bound = 0.5 if self.top_k is None else _BELOW_ALL
        only = -1 if self.class_id is None else self.class_id
        emit_thresholds(
            builder, p, t, keep, weights, (bound,), class_id=only, top_k=self.top_k or 0
        )


class Precision(RateMetric, aliases=("precision",)):
    """Fraction of the predicted positives that are positive."""

    def value(self, counts: Mapping[str, Counts]) -> float:
        """True positives by predicted ones; 0 where there are none."""
        true, false = above(counts["counts"])
        return float(share(true.sum(), true.sum() + false.sum()))


class Recall(RateMetric, aliases=("recall",)):
    """Fraction of the positives that are predicted."""

    def value(self, counts: Mapping[str, Counts]) -> float:
        """True positives by positives; 0 where there are none."""
        true, _ = above(counts["counts"])
        return float(share(true.sum(), counts["counts"][:, 1].sum()))


class F1Score(CountedMetric, aliases=("f1_score", "f1")):
    """Harmonic mean of precision and recall of each class, averaged over the classes.

    Keras' default, a list of the classes' numbers, is no number: here the default is their mean.
    """

    logged = "f1_score"
    spelled = "F1 score"
    positional = ("average", "threshold")
    average = choice(
        "Mean over the classes, of all entries at once, or by the entries of each class.",
        "macro", "micro", "weighted",
    )  # fmt: skip
    threshold = optional_number(
        "Predictions above it count as positive; by default the largest of each row does.",
        low=0.0, high=1.0,
    )  # fmt: skip

    def misfit(self, p: Shape, t: Shape) -> str:
        """Rows; of one number the largest is always itself."""
        if p[-1] == 1 and self.threshold is None:
            return "needs a threshold for one output, such as 0.5"
        return super().misfit(p, t)

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """THRESHOLD_COUNTS of one threshold, by class."""
        largest = self.threshold is None
        bound = _BELOW_ALL if self.threshold is None else self.threshold
        emit_thresholds(builder, p, t, keep, weights, (bound,), by_class=True, top_k=int(largest))

    def value(self, counts: Mapping[str, Counts]) -> float:
        """Twice the true positives by predicted ones and positives; 0 where there are none."""
        found = counts["counts"]
        true, false = (part[:, 0].astype(np.float64) for part in above(found))
        positives = found[:, 1].sum(axis=-1).astype(np.float64)
        if self.average == "micro":
            return float(share(2 * true.sum(), true.sum() + false.sum() + positives.sum()))
        scores = share(2 * true, true + false + positives)
        weights = positives if self.average == "weighted" else np.ones(len(scores))
        return float(share((scores * weights).sum(), weights.sum()))
