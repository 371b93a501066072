"""Losses with Keras' names, options and numerics, as instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core import renamed
from studio.engine.core.configured import Configured
from studio.engine.core.options import Option, flag, number
from studio.engine.core.tensor import ABSENT, Ref, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import arithmetic, loss, reduce

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OutputSpec:
    """The output of a network, to choose a loss that suits it.

    Attributes:
        shape: of the output, without the batch.
        function: its activation; ``softmax`` only over the last dimension.
        classes: whether the targets are classes; otherwise they are numbers.
    """

    shape: Shape
    function: str
    classes: bool


class Loss(Configured, family="loss", package="studio.engine.optim"):
    """Compares predictions with targets; the value is the mean over the batch.

    A subclass has an ``instruction``, or writes several in `emit` (see `PointwiseLoss`).

    Attributes:
        instruction: the loss instruction.
        indices: whether targets are class indices; otherwise they have the shape of predictions.
        needs_classes: whether it only compares classes.
        function: the activation that turns logits into the probabilities it compares, ``softmax``
            or ``sigmoid``; empty where predictions may be any numbers.
        effect: what is compared, in a few words, where the loss is proposed.
    """

    positional: ClassVar[tuple[str, ...] | None] = ()
    instruction: ClassVar[type[Instruction]]
    indices: ClassVar[bool] = False
    needs_classes: ClassVar[bool] = False
    function: ClassVar[str] = ""
    effect: ClassVar[str] = ""

    @classmethod
    def takes_numbers(cls) -> bool:
        """Whether targets and predictions may be any numbers."""
        return not (cls.function or cls.needs_classes or cls.indices)

    @classmethod
    def suited(cls, ending: OutputSpec) -> Loss | None:
        """The loss to use by default behind an ending; None where another one suits better."""
        del ending
        return None

    @property
    def takes_logits(self) -> bool:
        """Whether predictions are logits, to which the loss applies ``function`` itself."""
        return False

    @property
    def joins_softmax(self) -> bool:
        """Whether a softmax right before it may leave its gradient to the loss (SOFTMAX_CE)."""
        return self.function == "softmax" and not self.takes_logits

    @property
    def cross_entropy(self) -> bool:
        """The old form of `function`."""
        renamed.warn("Loss.cross_entropy")
        return self.function == "softmax"

    def of_samples(self, predicted: Floats, truth: Floats) -> Floats | None:
        """Loss of each sample of numbers, both [samples, numbers], without weights.

        None where only its instructions compute it. By default the squared error, the usual measure
        of a network that predicts numbers.
        """
        found: Floats = np.square(predicted - truth).mean(axis=1)
        return found

    def constant_loss(self, rows: Floats, weights: Floats) -> float | None:
        """Mean loss of the best constant prediction; None where it is not known.

        Args:
            rows: targets [rows, numbers]; classes are rows of shares.
            weights: weight of each row, [rows], not all 0.
        """
        del rows, weights
        return None

    def step_factor(self, numbers: float) -> float:
        """What the mean is multiplied by in a step of so many predicted numbers."""
        del numbers
        return 1.0

    def attributes(self, joined: bool) -> dict[str, bool | str]:
        """Attributes of the instruction; ``joined`` when a SOFTMAX_CE stands before it."""
        del joined
        return {}

    def targets(self, builder: ProgramBuilder, section: str, t: Ref, classes: int) -> Ref:
        """Targets as the instruction takes them; most losses take them as they are."""
        del builder, section, classes
        return t

    def emit(
        self,
        builder: ProgramBuilder,
        p: Ref,
        t: Ref,
        *,
        weights: Ref = ABSENT,
        joined: bool = False,
        section: str = "loss",
        name: str = "loss/value",
    ) -> Ref:
        """Append the loss of predictions ``p`` [N,…,K] against ``t``; returns the scalar.

        ``weights`` multiply each loss before the mean: those of entries [N], or those of positions,
        whose shape is a leading part of the predictions'.
        """
        taken = self.targets(builder, section, t, builder.type_of(p).shape[-1])
        fields: dict[str, Any] = {"p": p, "t": taken, "weights": weights}
        made = builder.emit(
            section, self.instruction, name=name, port="value", **fields, **self.attributes(joined)
        )
        return made[0]


def _label_smoothing(doc: str) -> Option[float]:
    return number(
        doc, 0.0, low=0.0, high=1.0, effect="Keeps the network from becoming overconfident."
    )


def _smooth(builder: ProgramBuilder, section: str, t: Ref, smoothing: float, share: float) -> Ref:
    """(1 - smoothing)·t + share, or ``t`` itself without smoothing."""
    if not smoothing:
        return t
    scaled = builder.emit(
        section, arithmetic.Scale, name="loss/scaled_targets", x=t, alpha=1.0 - smoothing
    )[0]
    return builder.emit(
        section, arithmetic.AddScalar, name="loss/smooth_targets", x=scaled, beta=share
    )[0]


class CrossEntropy(Loss, abstract=True):
    """What both cross-entropies over classes share."""

    needs_classes = True
    function = "softmax"

    from_logits = flag("Predictions are logits; otherwise probabilities that sum to 1.")
    sum_gradient = flag("Sum gradients over the batch instead of averaging: p - t, as in Dylann.")

    @property
    def takes_logits(self) -> bool:
        """The option."""
        return self.from_logits

    def attributes(self, joined: bool) -> dict[str, bool | str]:
        """What the predictions are."""
        source = "softmax" if joined else "logits" if self.from_logits else "probs"
        return {"source": source, "dylann_sum": self.sum_gradient}

    def constant_loss(self, rows: Floats, weights: Floats) -> float | None:
        """Of predicting the shares of the classes."""
        shares = self.smoothed(weights @ rows / weights.sum())
        if shares.sum() <= 0:
            return None
        return _mean_weight(weights) * _cross_entropy(shares, shares / shares.sum())

    def smoothed(self, shares: Floats) -> Floats:
        """Shares of classes after label smoothing."""
        return shares


class CategoricalCrossentropy(
    CrossEntropy, aliases=("categorical_crossentropy", "categorical_cross_entropy")
):
    """-Σ t·ln p, for targets that are rows of probabilities (one-hot)."""

    instruction = loss.LossCE

    label_smoothing = _label_smoothing("Fraction of the target spread over all classes.")

    def targets(self, builder: ProgramBuilder, section: str, t: Ref, classes: int) -> Ref:
        """Smoothed targets: (1 - s)·t + s/classes."""
        share = self.label_smoothing / classes
        return _smooth(builder, section, t, self.label_smoothing, share)

    def smoothed(self, shares: Floats) -> Floats:
        """As `targets` does it."""
        return shares * (1 - self.label_smoothing) + self.label_smoothing / len(shares)


class SparseCategoricalCrossentropy(
    CrossEntropy, aliases=("sparse_categorical_crossentropy", "sparse_categorical_cross_entropy")
):
    """-ln p of the true class, for targets that are class indices."""

    instruction = loss.LossSparseCE
    indices = True

    @classmethod
    def suited(cls, ending: OutputSpec) -> Loss | None:
        """For classes with an output each; on logits unless the network ends in softmax."""
        if not ending.classes or ending.shape == (1,):
            return None
        return cls(from_logits=ending.function != "softmax")


class BinaryCrossentropy(Loss, aliases=("binary_crossentropy", "binary_cross_entropy")):
    """-(t·ln p + (1 - t)·ln(1 - p)), averaged over the outputs."""

    instruction = loss.LossBCE
    function = "sigmoid"

    from_logits = flag("Predictions are logits; otherwise probabilities between 0 and 1.")
    label_smoothing = _label_smoothing("Fraction by which targets move towards 0.5.")

    @classmethod
    def suited(cls, ending: OutputSpec) -> Loss | None:
        """For two classes with one output; on logits unless the network ends in sigmoid."""
        if not ending.classes or ending.shape != (1,):
            return None
        return cls(from_logits=ending.function != "sigmoid")

    @property
    def takes_logits(self) -> bool:
        """The option."""
        return self.from_logits

    def constant_loss(self, rows: Floats, weights: Floats) -> float | None:
        """Of predicting the share of each output."""
        share = weights @ rows / weights.sum()
        share = share * (1 - self.label_smoothing) + self.label_smoothing / 2
        share = np.clip(share, 0.0, 1.0)
        both = _cross_entropy(share, share) + _cross_entropy(1 - share, 1 - share)
        return _mean_weight(weights) * both / len(share)

    def attributes(self, joined: bool) -> dict[str, bool | str]:
        """What the predictions are."""
        del joined
        return {"source": "logits" if self.from_logits else "probs"}

    def targets(self, builder: ProgramBuilder, section: str, t: Ref, classes: int) -> Ref:
        """Smoothed targets: (1 - s)·t + s/2."""
        del classes
        return _smooth(builder, section, t, self.label_smoothing, self.label_smoothing / 2)


class MeanSquaredError(Loss, aliases=("mse", "mean_squared_error")):
    """Mean of the squared differences."""

    instruction = loss.LossMSE

    sum_halves = flag(
        "Sum of half squares over the batch instead of the mean, gradient p - t, as in Dylann."
    )

    def attributes(self, joined: bool) -> dict[str, bool | str]:
        """Mean, or the sum of halves."""
        del joined
        return {"dylann_sum": self.sum_halves}

    @classmethod
    def suited(cls, ending: OutputSpec) -> Loss | None:
        """For numbers."""
        return None if ending.classes else cls()

    def constant_loss(self, rows: Floats, weights: Floats) -> float | None:
        """Of predicting the mean."""
        share = weights / weights.sum()
        mean = share @ rows
        return _mean_weight(weights) * float((share @ np.square(rows - mean)).mean())

    def step_factor(self, numbers: float) -> float:
        """Half the numbers where the value is the sum of halves."""
        return numbers / 2 if self.sum_halves else 1.0


class MeanAbsoluteError(Loss, aliases=("mae", "mean_absolute_error")):
    """Mean of the absolute differences."""

    instruction = loss.LossMAE
    effect = "the mean of the differences, whatever their sign"

    def of_samples(self, predicted: Floats, truth: Floats) -> Floats | None:
        """Mean absolute error of each sample."""
        found: Floats = np.abs(predicted - truth).mean(axis=1)
        return found

    def constant_loss(self, rows: Floats, weights: Floats) -> float | None:
        """Of predicting the median."""
        middle = np.median(rows, axis=0)
        mean = weights @ np.abs(rows - middle) / weights.sum()
        return _mean_weight(weights) * float(mean.mean())


class Emit(Protocol):
    """Appends an instruction and returns what it writes."""

    def __call__(self, instruction: type[Instruction], /, **fields: Any) -> Ref:
        """Append it; ``fields`` are its operands and attributes."""
        ...


class PointwiseLoss(Loss, abstract=True):
    """A loss that compares every predicted number with its target, such as Huber's.

    A subclass says in `terms` which instructions compare two numbers. From these follow the mean,
    weights of classes and samples, the gradient and what the studio measures.
    """

    def terms(self, emit: Emit, p: Ref, t: Ref) -> Ref:
        """Append element-wise instructions and return the loss of every number, shaped as ``p``."""
        raise TypeError(f"{type(self).__name__} states no terms")

    def emit(
        self,
        builder: ProgramBuilder,
        p: Ref,
        t: Ref,
        *,
        weights: Ref = ABSENT,
        joined: bool = False,
        section: str = "loss",
        name: str = "loss/value",
    ) -> Ref:
        """Append the terms and their mean; see `Loss.emit`."""
        del joined
        rank = len(builder.type_of(weights).shape) if weights.present else 1
        each = self.emit_samples(builder, p, t, section, rank=rank)
        if weights.present:
            each = builder.emit(
                section, arithmetic.Mul, name="loss/weighted", port="samples", a=each, b=weights
            )[0]
        return builder.emit(section, reduce.ReduceMean, name=name, port="value", x=each)[0]

    def emit_samples(
        self, builder: ProgramBuilder, p: Ref, t: Ref, section: str = "loss", *, rank: int = 1
    ) -> Ref:
        """Append the loss of every entry, [N]: the mean of its terms.

        Where ``rank`` is more, that of every position of so many dimensions.
        """

        def emit(instruction: type[Instruction], /, **fields: Any) -> Ref:
            name = f"loss/{instruction.mnemonic.lower()}"
            return builder.emit(section, instruction, name=name, port="terms", **fields)[0]

        terms = self.terms(emit, p, t)
        axes = tuple(range(rank, len(builder.type_of(p).shape)))
        if not axes:
            return terms
        return builder.emit(
            section, reduce.ReduceMean, name="loss/samples", port="samples", x=terms, axes=axes
        )[0]

    def of_samples(self, predicted: Floats, truth: Floats) -> Floats | None:
        """None: computed by its instructions."""
        del predicted, truth
        return None


def _mean_weight(weights: Floats) -> float:
    return float(weights.sum()) / len(weights)


def _cross_entropy(targets: Floats, shares: Floats) -> float:
    """-Σ t·ln p over those there are any of."""
    there = targets > 0
    return float(-(targets[there] * np.log(shares[there])).sum())
