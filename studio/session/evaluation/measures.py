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

    def confusion(self) -> Classes:
        """Counts [truth, predicted]."""
        size = len(self.names)
        pairs = self.truth * size + self.predicted
        return np.bincount(pairs, minlength=size * size).reshape(size, size)


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


def class_shares(outputs: Array, classes: int, *, logits: bool) -> Floats:
    """Shares [samples, classes] from a network's outputs.

    Args:
        outputs: [samples, classes], or [samples, 1] for two classes.
        classes: how many classes there are.
    """
    wide = outputs.reshape(len(outputs), -1).astype(np.float64)
    if wide.shape[1] == 1 and classes == 2:
        share = 0.5 * (1.0 + np.tanh(0.5 * wide)) if logits else wide
        return np.concatenate([1.0 - share, share], axis=1)
    if not logits:
        return wide
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    made: Floats = powers / powers.sum(axis=1, keepdims=True)
    return made


def names_of(classes: tuple[str, ...], outputs: int) -> tuple[str, ...]:
    """The classes, and names for outputs that stand for none of them."""
    return (*classes, *(f"output {number}" for number in range(len(classes), outputs)))


def has_logits(losses: Sequence[Loss]) -> bool:
    """Whether the outputs a loss takes are logits."""
    return any(loss.takes_logits for loss in losses)


def classify(
    outputs: Array, truth: Array, names: tuple[str, ...], *, logits: bool
) -> Classification:
    """Measure a network that tells classes apart."""
    shares = class_shares(outputs, len(names), logits=logits)
    names = names_of(names, shares.shape[1])
    right = truth.astype(np.int64).reshape(-1)
    rows = np.arange(len(right))
    # What is no number is the likeliest of nothing; argmax would take it for the largest.
    found = np.where(np.isnan(shares), -1.0, shares)
    predicted = found.argmax(axis=1)
    losses = -np.log(np.maximum(shares[rows, right], LEAST_SHARE))
    return Classification(names, shares, predicted, shares[rows, predicted], right, losses)


def regress(outputs: Array, truth: Array, losses: Sequence[Loss]) -> Regression:
    """Measure a network that predicts numbers."""
    predicted = outputs.reshape(len(outputs), -1).astype(np.float64)
    right = truth.reshape(len(truth), -1).astype(np.float64)
    return Regression(predicted, right, sample_losses(losses[0], predicted, right))
