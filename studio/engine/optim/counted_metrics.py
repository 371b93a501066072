"""The base of metrics that are no mean over batches: counts, and a number made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import ABSENT, Ref, Role, Shape, Tensor, shape_text
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops import metric
from studio.engine.isa.program import Program
from studio.engine.optim.metrics import Metric

Counts: TypeAlias = npt.NDArray[Any]
Keep: TypeAlias = Callable[[str, Shape, DType], Ref]
"""Makes a tensor that is zeroed when an epoch begins: its port, shape and dtype."""


class CountedMetric(Metric, abstract=True):
    """A number over all rows of an epoch; instructions count on the device, the host divides.

    As `Metric` in Keras' ``metrics``, it leaves sample weights and class weights out, and what a
    mask leaves out.
    """

    more_is_better = True
    is_share = True
    order = 200
    logged: ClassVar[str] = ""

    @classmethod
    def logged_as(cls) -> str:
        """``logged``, or the form that every metric has."""
        return cls.logged or super().logged_as()

    def misfit(self, p: Shape, t: Shape) -> str:
        """Why it cannot compare predictions and targets of these shapes; empty where it can."""
        return "" if p == t else "compares rows of numbers, the loss takes class indices"

    def fits(self, p: Shape, t: Shape) -> bool:
        """Where nothing is wrong."""
        return not self.misfit(p, t)

    def emit(self, builder: ProgramBuilder, p: Ref, t: Ref, name: str) -> Ref:
        """TypeError: there is no number of a batch."""
        raise TypeError(f"{type(self).__name__} has no number of a batch; see `count`")

    def count(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref = ABSENT
    ) -> None:
        """Append the instructions that count a batch, after a check of the shapes.

        Args:
            builder: takes them.
            p: predictions.
            t: targets.
            keep: makes the counts.
            weights: of entries or positions; with them counts are sums of float32.

        Raises:
            ParameterError: the metric does not fit the output.
        """
        reason = self.misfit(builder.type_of(p).shape, builder.type_of(t).shape)
        if reason:
            raise ParameterError(f"{self.label} {reason}", who="metrics", hint=self.hint)
        self.emit_counts(builder, p, t, keep, weights)

    hint: ClassVar[str] = "use 'accuracy', or a loss that takes rows"

    def emit_counts(
        self, builder: ProgramBuilder, p: Ref, t: Ref, keep: Keep, weights: Ref
    ) -> None:
        """The instructions of `count`."""
        raise TypeError(f"{type(self).__name__} counts nothing")

    def value(self, counts: Mapping[str, Counts]) -> float:
        """The number that follows from the counts, by port, as `totals` has them."""
        raise TypeError(f"{type(self).__name__} makes nothing of its counts")


def totals(stored: Counts) -> Counts:
    """Counts as they are stored, or the sums that are stored as pairs of float32."""
    if stored.dtype == np.int32:
        return stored.view(np.uint32).astype(np.int64)
    # The parts are added in float64: one float32 is too short for both.
    found: Counts = stored.astype(np.float64).sum(axis=0)
    return found


def kept_counts(keep: Keep, shape: Shape, weights: Ref) -> Ref:
    """The tensor of the port ``counts``: whole numbers, or pairs where weights are summed."""
    return (
        keep("counts", (2, *shape), DType.float32)
        if weights.present
        else (keep("counts", shape, DType.int32))
    )


def emit_thresholds(
    builder: ProgramBuilder,
    p: Ref,
    t: Ref,
    keep: Keep,
    weights: Ref,
    thresholds: tuple[float, ...],
    **how: Any,
) -> None:
    """THRESHOLD_COUNTS into the port ``counts``.

    Args:
        builder: takes the instruction.
        p: predictions.
        t: targets of their shape.
        keep: makes the counts.
        weights: of entries or positions, where there are any.
        thresholds: ascending.
        how: attributes of the instruction.
    """
    bounds = builder.tensor(
        "metrics/thresholds", (len(thresholds),), role=Role.CONST, late=True, value=thresholds
    )
    classes = builder.type_of(p).shape[-1] if how.get("by_class") else 1
    counts = kept_counts(keep, (classes, 2, len(thresholds) + 1), weights)
    builder.append(
        "metrics",
        metric.ThresholdCounts(p=p, t=t, thresholds=bounds, counts=counts, weights=weights, **how),
    )


def above(counts: Counts) -> tuple[Counts, Counts]:
    """Entries above each threshold, of targets that are not zero and that are: [classes, B] each.

    Args:
        counts: of THRESHOLD_COUNTS, [classes, 2, B + 1].
    """
    below = np.cumsum(counts[..., ::-1], axis=-1)[..., -2::-1]
    return below[:, 1], below[:, 0]


def share(part: Any, whole: Any) -> Any:
    """part / whole, 0 where the whole is 0."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0)


def class_misfit(class_id: int | None, p: Shape) -> str:
    """Why there is no such class; empty where there is."""
    if class_id is None or class_id < p[-1]:
        return ""
    return f"has no class {class_id}: the output is {shape_text(p)}"


@dataclass(frozen=True)
class CountedLabel:
    """A metric that counts.

    Attributes:
        label: what logs call it.
        metric: makes the number.
        tensors: of its counts, by port.
        place: where it stands among the labels of the program.
    """

    label: str
    metric: CountedMetric
    tensors: Mapping[str, Tensor]
    place: int


def counted_labels(program: Program) -> tuple[CountedLabel, ...]:
    """What a program counts over an epoch."""
    found = []
    for entry in json.loads(program.meta.get("counted", "[]")):
        found_metric = Metric.resolve(entry["metric"])
        if isinstance(found_metric, CountedMetric):
            tensors = {p: program.tensors.named(n) for p, n in entry["counts"].items()}
            found.append(CountedLabel(entry["label"], found_metric, tensors, entry["place"]))
    return tuple(found)


def counts_of(program: Program) -> list[Tensor]:
    """The tensors that are zeroed when an epoch begins."""
    return [tensor for one in counted_labels(program) for tensor in one.tensors.values()]
