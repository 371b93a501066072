"""Losses with Keras' names, options and numerics, as loss instructions."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from studio.engine.core.configured import Configured
from studio.engine.core.options import Option, flag, number
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import arithmetic, loss


class Loss(Configured, family="loss", package="studio.engine.optim"):
    """Compares predictions with targets; the value is the mean over the batch.

    Attributes:
        instruction: the loss instruction.
        indices: whether targets are class indices; otherwise they have the shape of predictions.
        cross_entropy: whether it takes shares that softmax makes.
    """

    positional: ClassVar[tuple[str, ...] | None] = ()
    instruction: ClassVar[type[Instruction]]
    indices: ClassVar[bool] = False
    cross_entropy: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """Snake-case form of the class name, for logs."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def joins_softmax(self) -> bool:
        """Whether a softmax right before it may leave its gradient to the loss (SOFTMAX_CE)."""
        return self.cross_entropy

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

        ``weights`` [N] multiply each entry's loss before the mean over the batch.
        """
        taken = self.targets(builder, section, t, builder.type_of(p).shape[-1])
        fields: dict[str, Any] = {"p": p, "t": taken, "weights": weights}
        made = builder.emit(
            section, self.instruction, name=name, port="value", **fields, **self.attributes(joined)
        )
        return made[0]


def _label_smoothing(doc: str) -> Option[float]:
    return number(doc, 0.0, low=0.0, high=1.0, effect="It keeps the network from being too sure.")


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

    cross_entropy = True

    from_logits = flag("Predictions are logits; otherwise shares that sum to 1.")
    sum_gradient = flag("Dylann's gradient: p - t, not divided by the batch length.")

    @property
    def joins_softmax(self) -> bool:
        """Unless predictions are logits."""
        return not self.from_logits

    def attributes(self, joined: bool) -> dict[str, bool | str]:
        """What the predictions are."""
        source = "softmax" if joined else "logits" if self.from_logits else "probs"
        return {"source": source, "dylann_sum": self.sum_gradient}


class CategoricalCrossentropy(
    CrossEntropy, aliases=("categorical_crossentropy", "categorical_cross_entropy")
):
    """-Σ t·ln p, for targets that are rows of shares (one-hot)."""

    instruction = loss.LossCE

    label_smoothing = _label_smoothing("Share spread over all classes.")

    def targets(self, builder: ProgramBuilder, section: str, t: Ref, classes: int) -> Ref:
        """Smoothed targets: (1 - s)·t + s/classes."""
        share = self.label_smoothing / classes
        return _smooth(builder, section, t, self.label_smoothing, share)


class SparseCategoricalCrossentropy(
    CrossEntropy, aliases=("sparse_categorical_crossentropy", "sparse_categorical_cross_entropy")
):
    """-ln p of the right class, for targets that are class indices."""

    instruction = loss.LossSparseCE
    indices = True


class BinaryCrossentropy(Loss, aliases=("binary_crossentropy", "binary_cross_entropy")):
    """-(t·ln p + (1 - t)·ln(1 - p)), averaged over the outputs."""

    instruction = loss.LossBCE

    from_logits = flag("Predictions are logits; otherwise shares between 0 and 1.")
    label_smoothing = _label_smoothing("Share taken towards one half.")

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

    sum_halves = flag("Dylann's value: the sum of half squares over everything, gradient p - t.")

    def attributes(self, joined: bool) -> dict[str, bool | str]:
        """Mean, or the sum of halves."""
        del joined
        return {"dylann_sum": self.sum_halves}


class MeanAbsoluteError(Loss, aliases=("mae", "mean_absolute_error")):
    """Mean of the absolute differences."""

    instruction = loss.LossMAE
