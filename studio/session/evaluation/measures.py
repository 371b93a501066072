"""Predictions compared with targets: confusion matrix, losses, errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.optim.losses import Loss
from studio.engine.train.network.sample_losses import sample_losses

Array: TypeAlias = npt.NDArray[np.generic]
Floats: TypeAlias = npt.NDArray[np.float64]
Classes: TypeAlias = npt.NDArray[np.int64]

LEAST_SHARE = 1e-7
"""Shares below this count as this in a logarithm, as in Keras."""


@dataclass(frozen=True, eq=False)
class Classification:
    """Outputs of a network that tells classes apart.

    Attributes:
        names: the classes.
        shares: [samples, classes], each row summing to 1.
        predicted: index of the likeliest class of each sample.
        confidence: its share.
        truth: index of the right class of each sample.
        losses: cross-entropy of each sample.
    """

    names: tuple[str, ...]
    shares: Floats
    predicted: Classes
    confidence: Floats
    truth: Classes
    losses: Floats

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which samples are taken for another class."""
        return np.asarray(self.predicted != self.truth)

    @property
    def accuracy(self) -> float:
        """Share of samples that are taken for what they are."""
        return float(1.0 - self.wrong.mean()) if len(self.truth) else float("nan")

    def in_cell(self, truth: int, predicted: int) -> npt.NDArray[np.bool_]:
        """Which samples are of a class and taken for a class; -1 stands for all."""
        found = np.ones(self.truth.shape, bool)
        if truth >= 0:
            found &= self.truth == truth
        if predicted >= 0:
            found &= self.predicted == predicted
        return found

    def confusion(self) -> Classes:
        """Counts [truth, predicted]."""
        return _pairs(self.truth, self.predicted, len(self.names))


@dataclass(frozen=True, eq=False)
class PositionClassification(Classification):
    """Outputs of a network that tells classes apart at every position, such as a pixel.

    ``predicted`` and ``truth`` are [samples, positions]; shares, confidence and losses are means
    over the positions of each sample.
    """

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which samples have a position that is taken for another class."""
        return np.asarray((self.predicted != self.truth).any(axis=1))

    @property
    def right(self) -> Floats:
        """For each sample the share of positions taken for what they are."""
        return np.asarray((self.predicted == self.truth).mean(axis=1))

    @property
    def accuracy(self) -> float:
        """Share of positions that are taken for what they are."""
        return float(self.right.mean()) if len(self.truth) else float("nan")

    def in_cell(self, truth: int, predicted: int) -> npt.NDArray[np.bool_]:
        """Which samples have a position of a class that is taken for a class; -1 is all."""
        return np.asarray(super().in_cell(truth, predicted).any(axis=1))

    def confusion(self) -> Classes:
        """Counts of positions [truth, predicted]."""
        size = len(self.names)
        counts = np.zeros((size, size), np.int64)
        for truth, predicted in zip(self.truth, self.predicted, strict=True):
            counts += _pairs(truth, predicted, size)
        return counts


@dataclass(frozen=True, eq=False)
class Regression:
    """Outputs of a network that predicts numbers.

    Attributes:
        predicted: [samples, numbers].
        truth: [samples, numbers].
        losses: loss of each sample; the squared error where a loss for classes is used.
    """

    predicted: Floats
    truth: Floats
    losses: Floats

    def measures(self) -> dict[str, float]:
        """Errors over all samples and numbers."""
        error = self.predicted - self.truth
        spread = np.square(self.truth - self.truth.mean(axis=0)).sum()
        explained = 1.0 - np.square(error).sum() / spread if spread > 0 else float("nan")
        return {
            "mean absolute error": float(np.abs(error).mean()),
            "root mean square error": float(np.sqrt(np.square(error).mean())),
            "largest error": float(np.abs(error).max()),
            "fraction of variance explained (R²)": float(explained),
        }


Outcome: TypeAlias = "Classification | Regression"


def _pairs(truth: Classes, predicted: Classes, size: int) -> Classes:
    pairs = truth * size + predicted
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def class_shares(outputs: Array, classes: int, *, logits: bool) -> Floats:
    """Shares [samples, …, classes] from a network's outputs.

    Args:
        outputs: [samples, …, classes], or [samples, …, 1] for two classes.
        classes: how many classes there are.
    """
    wide = outputs.astype(np.float64)
    if wide.shape[-1] == 1 and classes == 2:
        share = 0.5 * (1.0 + np.tanh(0.5 * wide)) if logits else wide
        return np.concatenate([1.0 - share, share], axis=-1)
    if not logits:
        return wide
    powers = np.exp(wide - wide.max(axis=-1, keepdims=True))
    made: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return made


def mean_shares(outputs: Array, classes: int, *, logits: bool) -> Floats:
    """Shares [samples, classes], means over the positions of each sample."""
    if outputs.ndim <= 2:
        return class_shares(outputs.reshape(len(outputs), -1), classes, logits=logits)
    rows = (class_shares(row, classes, logits=logits) for row in outputs)
    return np.array([row.reshape(-1, row.shape[-1]).mean(axis=0) for row in rows])


def names_of(classes: tuple[str, ...], outputs: int) -> tuple[str, ...]:
    """The classes, and names for outputs that stand for none of them."""
    return (*classes, *(f"output {number}" for number in range(len(classes), outputs)))


def has_logits(losses: Sequence[Loss]) -> bool:
    """Whether the outputs a loss takes are logits."""
    return any(loss.takes_logits for loss in losses)


def classify(
    outputs: Array, truth: Array, names: tuple[str, ...], *, logits: bool
) -> Classification:
    """Measure a network that tells classes apart, of samples or of their positions."""
    if outputs.ndim > 2 and truth.ndim > 1:
        return _classify_positions(outputs, truth, names, logits=logits)
    outputs = outputs.reshape(len(outputs), -1)
    shares = class_shares(outputs, len(names), logits=logits)
    names = names_of(names, shares.shape[1])
    right = truth.astype(np.int64).reshape(-1)
    rows = np.arange(len(right))
    # What is no number is the likeliest of nothing; argmax would take it for the largest.
    found = np.where(np.isnan(shares), -1.0, shares)
    predicted = found.argmax(axis=1)
    losses = -np.log(np.maximum(shares[rows, right], LEAST_SHARE))
    return Classification(names, shares, predicted, shares[rows, predicted], right, losses)


def _classify_positions(
    outputs: Array, truth: Array, names: tuple[str, ...], *, logits: bool
) -> PositionClassification:
    """One sample after the other: shares of every position of all would need too much memory."""
    right = truth.reshape(len(truth), -1).astype(np.int64)
    predicted = np.empty_like(right)
    means, confidence, losses = [], np.empty(len(right)), np.empty(len(right))
    for sample, row in enumerate(outputs):
        shares = class_shares(row, len(names), logits=logits)
        shares = shares.reshape(-1, shares.shape[-1])
        rows = np.arange(len(shares))
        found = np.where(np.isnan(shares), -1.0, shares).argmax(axis=1)
        predicted[sample] = found
        confidence[sample] = shares[rows, found].mean()
        losses[sample] = -np.log(np.maximum(shares[rows, right[sample]], LEAST_SHARE)).mean()
        means.append(shares.mean(axis=0))
    return PositionClassification(
        names_of(names, means[0].size if means else 0),
        np.array(means), predicted, confidence, right, losses,
    )  # fmt: skip


def regress(outputs: Array, truth: Array, losses: Sequence[Loss]) -> Regression:
    """Measure a network that predicts numbers."""
    predicted = outputs.reshape(len(outputs), -1).astype(np.float64)
    right = truth.reshape(len(truth), -1).astype(np.float64)
    return Regression(predicted, right, sample_losses(losses[0], predicted, right))
