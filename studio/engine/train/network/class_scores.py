"""Precision, recall and F1 of each class, and their means, by scikit-learn's definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.core.options import Plain

_Counts = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ScoreRow:
    """The scores of one class, or means over classes.

    Attributes:
        name: the class, or which mean.
        support: how many samples, or positions of samples, are of the class.
        predicted: how many are taken for it.
        precision: share of what is taken for the class that is of it; 0 where nothing is.
        recall: share of what is of the class that is taken for it; 0 where nothing is.
        f1: harmonic mean of the two.
        is_mean: whether it is a mean over classes.
    """

    name: str
    support: int
    predicted: int
    precision: float
    recall: float
    f1: float
    is_mean: bool = False

    @property
    def occurs(self) -> bool:
        """Whether anything is of the class, or taken for it; no other is counted in means."""
        return bool(self.support or self.predicted)

    def to_json(self) -> dict[str, Plain]:
        """Plain data."""
        return {
            "class": self.name,
            "support": self.support,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }


@dataclass(frozen=True, eq=False)
class ClassScores:
    """How well each class is recognised.

    Attributes:
        names: the classes, or the labels of which each is a yes or no of its own.
        support: how many are of each.
        predicted: how many are taken for each.
        right: how many of each are taken for it.
        are_labels: whether they are labels; then all of them are counted in means.
    """

    names: tuple[str, ...]
    support: _Counts
    predicted: _Counts
    right: _Counts
    are_labels: bool = False

    @classmethod
    def of_confusion(cls, names: Sequence[str], counts: _Counts) -> ClassScores:
        """From counts [truth, predicted]."""
        return cls(tuple(names), counts.sum(axis=1), counts.sum(axis=0), np.diag(counts).copy())

    @classmethod
    def of_labels(
        cls, names: Sequence[str], truth: _Flags, predicted: _Flags, counts: _Flags
    ) -> ClassScores:
        """From labels that samples have and are said to have, each [samples, labels]."""
        has, said = truth & counts, predicted & counts
        return cls(tuple(names), has.sum(axis=0), said.sum(axis=0), (has & said).sum(axis=0), True)

    @property
    def precision(self) -> _Floats:
        """Of each class; 0 where nothing is taken for it."""
        return _ratio(self.right, self.predicted)

    @property
    def recall(self) -> _Floats:
        """Of each class; 0 where nothing is of it."""
        return _ratio(self.right, self.support)

    @property
    def f1(self) -> _Floats:
        """Of each class; 0 where nothing is of it or taken for it."""
        return _ratio(2 * self.right, self.support + self.predicted)

    def rows(self) -> Iterator[ScoreRow]:
        """One for each class."""
        columns = (self.support, self.predicted, self.precision, self.recall, self.f1)
        for name, support, predicted, precision, recall, f1 in zip(
            self.names, *columns, strict=True
        ):
            yield ScoreRow(
                name, int(support), int(predicted), float(precision), float(recall), float(f1)
            )

    def means(self) -> tuple[ScoreRow, ...]:
        """The mean of the classes that occur, and the mean weighted by support."""
        occurs = np.ones(len(self.names), bool)
        if not self.are_labels:
            occurs = (self.support > 0) | (self.predicted > 0)
        return (
            self._mean("macro mean", occurs.astype(np.float64)),
            self._mean("weighted mean", self.support.astype(np.float64)),
        )

    def _mean(self, name: str, weights: _Floats) -> ScoreRow:
        total = float(weights.sum())
        precision, recall, f1 = (
            float((scores * weights).sum()) / total if total else 0.0
            for scores in (self.precision, self.recall, self.f1)
        )
        support, predicted = int(self.support.sum()), int(self.predicted.sum())
        return ScoreRow(name, support, predicted, precision, recall, f1, is_mean=True)

    def to_json(self) -> dict[str, Plain]:
        """Plain data: a row for each class, and the means."""
        return {
            "classes": [row.to_json() for row in self.rows()],
            **{row.name.replace(" ", "_"): row.to_json() for row in self.means()},
        }


def _ratio(part: _Counts, whole: _Counts) -> _Floats:
    return np.asarray(np.where(whole > 0, part / np.maximum(whole, 1), 0.0))
