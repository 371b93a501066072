"""Metrics: numbers reported beside the loss, with Keras' names and rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from studio.engine.core.configured import Configured
from studio.engine.core.errors import CompileError, ParameterError, quoted
from studio.engine.core.options import number
from studio.engine.core.tensor import ABSENT, Ref, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import loss


class Metric(Configured, family="metric", package="studio.engine.optim"):
    """A number per batch; the host averages it over an epoch, each batch by its length.

    Attributes:
        more_is_better: whether a larger value is the better one.
        is_share: whether it is a part of the whole, read in per cent.
        spelled: its log name as text writes it; empty where the words of the name will do.
    """

    positional: ClassVar[tuple[str, ...] | None] = ()
    more_is_better: ClassVar[bool] = False
    is_share: ClassVar[bool] = False
    spelled: ClassVar[str] = ""

    @classmethod
    def logged_as(cls) -> str:
        """Snake-case form of the class name, as logs show it."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def label(self) -> str:
        """As logs show it."""
        return self.logged_as()

    def fits(self, p: Shape, t: Shape) -> bool:
        """Whether it compares predictions and targets of these shapes, the batch included.

        Targets of lower rank than the predictions are class indices.
        """
        return p == t

    def emit(self, builder: ProgramBuilder, p: Ref, t: Ref, name: str) -> Ref:
        """Append the metric of predictions against targets; returns the scalar."""
        raise TypeError(f"{type(self).__name__} defines no instruction")

    def emit_weighted(
        self, builder: ProgramBuilder, p: Ref, t: Ref, weights: Ref, name: str
    ) -> Ref:
        """Append the metric with a weight for each entry or position; returns the scalar.

        ``weights`` have a mean of 1, or are all 0. ParameterError where the metric takes none.
        """
        del builder, p, t, weights, name
        raise ParameterError(
            f"{self.label} takes no weights and cannot leave masked positions out",
            who="metrics",
            hint="measure by the loss, or without weights and without Masking before this output",
        )


def metric_logged_as(name: str) -> type[Metric] | None:
    """The metric a log's name stands for, also behind ``val_`` or an output's name."""
    fitting = [
        cls
        for cls in Metric.members.values()
        if issubclass(cls, Metric) and f"_{name}".endswith(f"_{cls.logged_as()}")
    ]
    return max(fitting, key=lambda cls: len(cls.logged_as()), default=None)


def metric_words(name: str) -> str:
    """A log's name as text writes it: ``val mean IoU`` for ``val_mean_iou``."""
    cls = metric_logged_as(name)
    if cls is None or not cls.spelled:
        return name.replace("_", " ")
    return name.removesuffix(cls.logged_as()).replace("_", " ") + cls.spelled


def require_apart(labels: Collection[str], outputs: Sequence[str]) -> None:
    """CompileError, naming an output, where a number has the name of another's validation.

    An output ``val`` has a ``val_loss``, and the validation part has one of all outputs.
    """
    twice = next((f"val_{label}" for label in labels if f"val_{label}" in labels), None)
    if twice is not None:
        own = [name for name in outputs if twice.startswith(f"{name}_")]
        raise CompileError(
            f"{quoted(twice)} is a number of this output, and one of the validation part",
            who=max(own, key=len, default="metrics"),
            hint="rename the output",
        )


def accuracy_kind(p: Shape, t: Shape) -> str:
    """Which accuracy "accuracy" means for predictions and targets of these shapes, as in Keras.

    One prediction per entry is binary; targets of lower rank than the predictions are class
    indices; otherwise both are rows of shares.
    """
    if p[-1] == 1:
        return "binary"
    return "sparse" if len(t) < len(p) else "categorical"


class AccuracyMetric(Metric, abstract=True):
    """What all accuracies share."""

    more_is_better = True
    is_share = True
    threshold_default: ClassVar[float] = 0.5

    def kind(self, p: Shape, t: Shape) -> str:
        """How predictions and targets of these shapes are compared."""
        raise TypeError(f"{type(self).__name__} states no kind for {p} and {t}")

    def fits(self, p: Shape, t: Shape) -> bool:
        """Indices where those are compared, rows otherwise."""
        return (self.kind(p, t) == "sparse") == (len(t) < len(p))

    def threshold_value(self) -> float:
        """Where a binary prediction becomes 1."""
        return self.threshold_default

    def emit(self, builder: ProgramBuilder, p: Ref, t: Ref, name: str) -> Ref:
        """ACCURACY of the kind."""
        fields = self._compared(builder, p, t)
        return builder.emit("metrics", loss.Accuracy, name=name, port="value", **fields)[0]

    def emit_weighted(
        self, builder: ProgramBuilder, p: Ref, t: Ref, weights: Ref, name: str
    ) -> Ref:
        """WEIGHTED_ACCURACY of the kind."""
        fields = self._compared(builder, p, t)
        return builder.emit(
            "metrics", loss.WeightedAccuracy, name=name, port="value", weights=weights, **fields
        )[0]

    def _compared(self, builder: ProgramBuilder, p: Ref, t: Ref) -> dict[str, Any]:
        """Operands and attributes of the instruction; ParameterError where targets do not fit."""
        shapes = builder.type_of(p).shape, builder.type_of(t).shape
        kind = self.kind(*shapes)
        if not self.fits(*shapes):
            raise ParameterError(
                f"{self.label} does not fit the loss's targets: expected "
                f"{'class indices' if kind == 'sparse' else 'rows of probabilities'}"
                ", got the other",
                who="metrics",
                hint="use 'accuracy', which adapts to the loss",
            )
        fields = {"threshold": self.threshold_value()} if kind == "binary" else {}
        return {"p": p, "t": t, "kind": kind, **fields}


class Accuracy(AccuracyMetric, aliases=("accuracy", "acc")):
    """Fraction of correct predictions; binary, categorical or sparse, as the targets are."""

    def kind(self, p: Shape, t: Shape) -> str:
        """By shapes."""
        return accuracy_kind(p, t)


class BinaryAccuracy(AccuracyMetric, aliases=("binary_accuracy",)):
    """Fraction of outputs on the correct side of a threshold."""

    threshold = number("Predictions above this count as 1.", 0.5)

    def kind(self, p: Shape, t: Shape) -> str:
        """Binary."""
        del p, t
        return "binary"

    def threshold_value(self) -> float:
        """The option."""
        return self.threshold


class CategoricalAccuracy(AccuracyMetric, aliases=("categorical_accuracy",)):
    """Fraction of predictions whose largest output is the largest of the target row."""

    def kind(self, p: Shape, t: Shape) -> str:
        """Categorical."""
        del p, t
        return "categorical"


class SparseCategoricalAccuracy(AccuracyMetric, aliases=("sparse_categorical_accuracy",)):
    """Fraction of predictions whose largest output is the target's class."""

    def kind(self, p: Shape, t: Shape) -> str:
        """Sparse."""
        del p, t
        return "sparse"


class Difference(Metric, abstract=True):
    """A loss between rows, reported as a metric."""

    instruction: ClassVar[type[Instruction]]

    def emit(self, builder: ProgramBuilder, p: Ref, t: Ref, name: str) -> Ref:
        """The loss instruction, in the metrics section."""
        return self.emit_weighted(builder, p, t, ABSENT, name)

    def emit_weighted(
        self, builder: ProgramBuilder, p: Ref, t: Ref, weights: Ref, name: str
    ) -> Ref:
        """The loss instruction with weights."""
        if not self.fits(builder.type_of(p).shape, builder.type_of(t).shape):
            raise ParameterError(
                f"{self.label} does not fit the loss's targets: expected rows, got class indices",
                who="metrics",
                hint="use 'accuracy', or a loss that takes rows",
            )
        return builder.emit(
            "metrics", self.instruction, name=name, port="value", p=p, t=t, weights=weights
        )[0]


class MeanSquaredError(Difference, aliases=("mse", "mean_squared_error")):
    """Mean of the squared differences."""

    instruction = loss.LossMSE


class MeanAbsoluteError(Difference, aliases=("mae", "mean_absolute_error")):
    """Mean of the absolute differences."""

    instruction = loss.LossMAE
