"""Predictions compared with targets: confusion matrix, losses, errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import BATCH, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.optim.losses import BinaryCrossentropy, Loss, PointwiseLoss
from studio.engine.train.network.class_scores import ClassScores
from studio.engine.train.network.execute import run_program

Array: TypeAlias = npt.NDArray[np.generic]
Floats: TypeAlias = npt.NDArray[np.float64]
Classes: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

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
        counts: which samples count, [samples]: a sample that is masked, or weighs 0, does not.
        ranks: how many classes stand before the right one, of equal shares those that come first
            in the order of the classes; in the shape of ``truth``.
    """

    names: tuple[str, ...]
    shares: Floats
    predicted: Classes
    confidence: Floats
    truth: Classes
    losses: Floats
    counts: Flags
    ranks: Classes

    @property
    def missed(self) -> Flags:
        """What counts and is taken for another class, in the shape of ``truth``."""
        return np.asarray((self.predicted != self.truth) & self.counts)

    @property
    def wrong(self) -> Flags:
        """Which samples are taken for another class."""
        return self.missed

    @property
    def accuracy(self) -> float:
        """Share of what counts that is taken for what it is."""
        counted = int(self.counts.sum())
        return 1.0 - int(self.missed.sum()) / counted if counted else float("nan")

    @property
    def mean_loss(self) -> float:
        """Mean over all that counts."""
        return _mean_loss(self.losses, self.counts)

    def top_k(self, k: int) -> float:
        """Share of what counts whose class is among the ``k`` likeliest; of 1 the accuracy."""
        ranks = self.ranks[self.counts]
        return float((ranks < k).mean()) if ranks.size else float("nan")

    @cached_property
    def scores(self) -> ClassScores:
        """Precision, recall and F1 of each class."""
        return ClassScores.of_confusion(self.names, self.confusion())

    def in_cell(self, truth: int, predicted: int) -> Flags:
        """Which samples are of a class and taken for a class; -1 stands for all."""
        found = np.ones(self.truth.shape, bool)
        if truth >= 0:
            found &= (self.truth == truth) & self.counts
        if predicted >= 0:
            found &= (self.predicted == predicted) & self.counts
        return found

    def confusion(self) -> Classes:
        """Counts [truth, predicted]."""
        return _pairs(self.truth[self.counts], self.predicted[self.counts], len(self.names))


@dataclass(frozen=True, eq=False)
class PositionClassification(Classification):
    """Outputs of a network that tells classes apart at every position, such as a pixel.

    ``predicted``, ``truth``, ``counts`` and ``ranks`` are [samples, positions]; shares, confidence
    and losses are means over the positions of each sample that count, 0 where none does.
    """

    @property
    def wrong(self) -> Flags:
        """Which samples have a position that is taken for another class."""
        return np.asarray(self.missed.any(axis=1))

    @property
    def right(self) -> Floats:
        """For each sample the share of positions taken for what they are; NaN where none counts."""
        counted = self.counts.sum(axis=1)
        shares = 1.0 - self.missed.sum(axis=1) / np.maximum(counted, 1)
        return np.where(counted > 0, shares, np.nan)

    def in_cell(self, truth: int, predicted: int) -> Flags:
        """Which samples have a position of a class that is taken for a class; -1 is all."""
        return np.asarray(super().in_cell(truth, predicted).any(axis=1))

    def confusion(self) -> Classes:
        """Counts of positions [truth, predicted]."""
        size = len(self.names)
        counts = np.zeros((size, size), np.int64)
        for truth, predicted, own in zip(self.truth, self.predicted, self.counts, strict=True):
            counts += _pairs(truth[own], predicted[own], size)
        return counts


@dataclass(frozen=True, eq=False)
class Regression:
    """Outputs of a network that predicts numbers.

    Attributes:
        predicted: [samples, numbers].
        truth: [samples, numbers].
        losses: loss of each sample; the squared error where a loss for classes is used.
        counts: which numbers count, [samples, numbers]: those that are masked, or weigh 0, do not.
    """

    predicted: Floats
    truth: Floats
    losses: Floats
    counts: Flags

    @property
    def mean_loss(self) -> float:
        """Mean over all that counts."""
        return _mean_loss(self.losses, self.counts)

    def measures(self) -> dict[str, float]:
        """Errors over all samples and numbers that count."""
        own = self.counts
        error = (self.predicted - self.truth)[own]
        if not error.size:
            error = np.array([np.nan])
        means = np.where(own, self.truth, 0.0).sum(axis=0) / np.maximum(own.sum(axis=0), 1)
        spread = np.square((self.truth - means)[own]).sum()
        explained = 1.0 - np.square(error).sum() / spread if spread > 0 else float("nan")
        return {
            "mean absolute error": float(np.abs(error).mean()),
            "root mean square error": float(np.sqrt(np.square(error).mean())),
            "largest error": float(np.abs(error).max()),
            "fraction of variance explained (R²)": float(explained),
        }


@dataclass(frozen=True, eq=False)
class Labels(Regression):
    """Outputs of a network that says yes or no to each of some labels, or to one.

    Attributes:
        names: the labels.
        said: to which it says yes, [samples, labels]: those it gives more than a half.
    """

    names: tuple[str, ...]
    said: Flags

    @property
    def has(self) -> Flags:
        """Which labels each sample has."""
        return np.asarray(self.truth > 0.5)

    @property
    def exact(self) -> float:
        """Share of the samples that count all of whose labels are right."""
        own = self.counts.any(axis=1)
        right = ((self.said == self.has) | ~self.counts).all(axis=1)[own]
        return float(right.mean()) if right.size else float("nan")

    @cached_property
    def scores(self) -> ClassScores:
        """Precision, recall and F1 of each label."""
        return ClassScores.of_labels(self.names, self.has, self.said, self.counts)


Outcome: TypeAlias = "Classification | Regression"


def _mean_loss(losses: Floats, counts: Flags) -> float:
    """The mean of losses of samples, each by how much of the sample counts."""
    shares = counts.reshape(len(counts), -1).sum(axis=1)
    return float((losses * shares).sum() / shares.sum()) if shares.any() else float("nan")


def counting(mask: Array | None, weights: Array | None) -> Flags | None:
    """Which samples or positions are not masked and weigh more than 0; None where all count.

    Args:
        mask: bool [samples, …].
        weights: [samples, …], for more or fewer of the same positions.
    """
    given = [np.asarray(each != 0) for each in (mask, weights) if each is not None]
    if not given:
        return None
    rank = max(each.ndim for each in given)
    wide = [each.reshape(each.shape + (1,) * (rank - each.ndim)) for each in given]
    found = np.stack(np.broadcast_arrays(*wide)).all(axis=0)
    return None if found.all() else np.asarray(found)


def _counts_at(counts: Flags | None, shape: tuple[int, ...]) -> Flags:
    """Which entries of an array count, [samples, entries]."""
    if counts is None:
        return np.ones((shape[0], int(np.prod(shape[1:]))), bool)
    if counts.ndim > len(shape):
        counts = np.asarray(counts.reshape(*counts.shape[: len(shape)], -1).any(axis=-1))
    wide = counts.reshape(counts.shape + (1,) * (len(shape) - counts.ndim))
    return np.broadcast_to(wide, shape).reshape(shape[0], -1)


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


def classify(
    outputs: Array,
    truth: Array,
    names: tuple[str, ...],
    *,
    logits: bool,
    counts: Flags | None = None,
) -> Classification:
    """Measure a network that tells classes apart, of samples or of their positions.

    ``counts`` are those of `counting`.
    """
    if outputs.ndim > 2 and truth.ndim > 1:
        own = _counts_at(counts, outputs.shape[:-1])
        return _classify_positions(outputs, truth, names, own, logits=logits)
    outputs = outputs.reshape(len(outputs), -1)
    shares = class_shares(outputs, len(names), logits=logits)
    names = names_of(names, shares.shape[1])
    right = truth.astype(np.int64).reshape(-1)
    rows = np.arange(len(right))
    # What is no number is the likeliest of nothing; argmax would take it for the largest.
    found = np.where(np.isnan(shares), -1.0, shares)
    predicted = found.argmax(axis=1)
    losses = -np.log(np.maximum(shares[rows, right], LEAST_SHARE))
    own = _counts_at(counts, (len(right), 1))[:, 0]
    return Classification(
        names, shares, predicted, shares[rows, predicted], right, losses, own, _ranks(found, right)
    )


def _classify_positions(
    outputs: Array, truth: Array, names: tuple[str, ...], counts: Flags, *, logits: bool
) -> PositionClassification:
    """One sample after the other: shares of every position of all would need too much memory."""
    right = truth.reshape(len(truth), -1).astype(np.int64)
    predicted, ranks = np.empty_like(right), np.empty_like(right)
    means, confidence, losses = [], np.zeros(len(right)), np.zeros(len(right))
    for sample, row in enumerate(outputs):
        shares = class_shares(row, len(names), logits=logits)
        shares = shares.reshape(-1, shares.shape[-1])
        found = np.where(np.isnan(shares), -1.0, shares)
        predicted[sample], ranks[sample] = found.argmax(axis=1), _ranks(found, right[sample])
        (own,) = np.nonzero(counts[sample])
        if len(own):
            confidence[sample] = shares[own, predicted[sample][own]].mean()
            of_truth = shares[own, right[sample][own]]
            losses[sample] = -np.log(np.maximum(of_truth, LEAST_SHARE)).mean()
        means.append(shares[own].mean(axis=0) if len(own) else np.zeros(shares.shape[1]))
    return PositionClassification(
        names_of(names, means[0].size if means else 0),
        np.array(means), predicted, confidence, right, losses, counts, ranks,
    )  # fmt: skip


def _ranks(shares: Floats, truth: Classes) -> Classes:
    """How many classes come before the right one, [rows]; ties go to the first, as in argmax."""
    own = shares[np.arange(len(truth)), truth][:, np.newaxis]
    before = np.arange(shares.shape[1]) < truth[:, np.newaxis]
    return np.asarray(((shares > own) | ((shares == own) & before)).sum(axis=1))


def sample_losses(loss: Loss, predicted: Floats, truth: Floats) -> Floats:
    """Loss of each sample, [samples], without weights.

    A loss that only its instructions state is computed by them on the CPU, in float32.

    Args:
        loss: what a network is trained by.
        predicted: its outputs, [samples, numbers].
        truth: the targets, [samples, numbers].
    """
    found = loss.of_samples(predicted, truth)
    if found is not None:
        return found
    if not isinstance(loss, PointwiseLoss):
        raise TypeError(f"{type(loss).__name__} does not say what the loss of a sample is")
    builder = ProgramBuilder("sample losses", "infer")
    shape = (BATCH, predicted.shape[1])
    p, t = (builder.tensor(name, shape, role=Role.INPUT) for name in ("predicted", "truth"))
    with builder.owned_by("loss"):
        losses = loss.emit_samples(builder, p, t, "forward")
    program = builder.finish((p, t), (losses,))
    rows = [np.ascontiguousarray(each, np.float32) for each in (predicted, truth)]
    backend = CpuBackend()
    try:
        return run_program(backend, program, {}, list(rows))[0].astype(np.float64)
    finally:
        backend.close()


def regress(outputs: Array, truth: Array, loss: Loss, counts: Flags | None = None) -> Regression:
    """Measure a network that predicts numbers; ``counts`` are those of `counting`."""
    predicted = outputs.reshape(len(outputs), -1).astype(np.float64)
    right = truth.reshape(len(truth), -1).astype(np.float64)
    own = _counts_at(counts, outputs.shape)
    found = np.zeros(len(right))
    # A loss takes as many numbers of every sample: those of which equally many count go together.
    lengths = own.sum(axis=1)
    for length in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == length)
        taken = (each[rows][own[rows]].reshape(-1, length) for each in (predicted, right))
        found[rows] = sample_losses(loss, *taken)
    return Regression(predicted, right, found, own)


def tell_labels(
    outputs: Array, truth: Array, loss: Loss, *, logits: bool, counts: Flags | None = None
) -> Labels:
    """Measure a network that says yes or no to labels, [samples, labels]; see `are_labels`."""
    found = regress(outputs, truth, loss, counts)
    said = found.predicted > (0.0 if logits else 0.5)
    names = tuple(f"output {number}" for number in range(said.shape[1]))
    return Labels(found.predicted, found.truth, found.losses, found.counts, names, said)


def are_labels(outputs: Array, truth: Array, loss: Loss) -> bool:
    """Whether numbers are shares of labels: compared by binary cross-entropy with yes and no."""
    wide = truth.astype(np.float64)
    return (
        isinstance(loss, BinaryCrossentropy)
        and outputs.ndim == 2
        and outputs.size == truth.size
        and bool(((wide == 0.0) | (wide == 1.0)).all())
    )
