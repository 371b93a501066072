"""Exports of small weights: the network with what they are widened to, and what that changes.

A file of small weights is another model than the network it was made of, if only a little. It is
checked against the network with its own small weights; how far that is from the float32 weights is
measured here: by the loss and metrics of the validation part of the data, else of its test part,
and by the answers to the samples of the export check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.options import Plain
from studio.engine.interop.small_weights import Narrow, SmallWeight, WeightForm, narrowed
from studio.engine.train.data.samples import Samples
from studio.engine.train.export.check.answers import compare
from studio.engine.train.export.check.check import stored_samples
from studio.engine.train.network.trained import Trained

Array: TypeAlias = npt.NDArray[np.generic]


class Narrowed(NamedTuple):
    """A network with small weights.

    Attributes:
        trained: the network with what they are widened to.
        small: its kernels in their small form, by tensor name.
        form: that form.
    """

    trained: Trained
    small: Mapping[str, SmallWeight]
    form: WeightForm


@dataclass(frozen=True)
class SmallWeightsReport:
    """What small weights change.

    Attributes:
        form: of the weights.
        before: loss and metrics with float32 weights; empty where they were not measured.
        after: the same with the small weights.
        part: of the data they were measured on: ``validation`` or ``test``.
        samples: how many that are.
        unmeasured: why loss and metrics were not measured, in a few words.
        max_abs: largest absolute difference of any answer to the samples of the export check.
        compared: how many these are.
        same_top: how many of them get the same likeliest class; None where there are no classes.
        kernel_bytes: length of all kernels before and after, scales included.
    """

    form: WeightForm
    before: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)
    part: str = ""
    samples: int = 0
    unmeasured: str = ""
    max_abs: float = 0.0
    compared: int = 0
    same_top: int | None = None
    kernel_bytes: tuple[int, int] = (0, 0)

    @property
    def lines(self) -> tuple[str, ...]:
        """What to tell people: metrics before and after, then how far answers are apart."""
        if self.before:
            told = "; ".join(
                f"{name} {_number(value)} with float32, {_number(self.after[name])} with "
                f"{self.form}"
                for name, value in self.before.items()
            )
            first = f"{told} ({self.samples} {self.part} samples)"
        else:
            first = f"accuracy with {self.form} weights was not measured: {self.unmeasured}"
        top = ""
        if self.same_top is not None:
            top = f", {self.same_top} of {self.compared} get the same class"
        large, small = self.kernel_bytes
        return (
            first,
            f"answers differ from those with float32 weights by at most {self.max_abs:.1e}{top}",
            f"kernels take {small:,} bytes instead of {large:,}",
        )

    def to_json(self) -> dict[str, Plain]:
        """Plain data for ``--json`` and for the report beside the file."""
        made: dict[str, Plain] = {
            "form": self.form,
            "float32": _plain(self.before) or None,
            "small": _plain(self.after) or None,
            "part": self.part or None,
            "samples": self.samples,
            "max_abs": self.max_abs if np.isfinite(self.max_abs) else None,
            "compared": self.compared,
            "same_class": self.same_top,
            "kernel_bytes": {"float32": self.kernel_bytes[0], "small": self.kernel_bytes[1]},
        }
        return {**made, "unmeasured": self.unmeasured} if self.unmeasured else made


@contextmanager
def narrowed_network(trained: Trained, form: WeightForm, narrow: Narrow) -> Iterator[Narrowed]:
    """The network with what its weights are widened to, for as long as the block lasts.

    Args:
        trained: the network with its own weights.
        form: ``float16`` or ``int8``.
        narrow: makes one kernel small.

    Raises:
        DataError: a kernel cannot have that form; it is named.
    """
    stored = trained.weights()
    small = narrowed(trained.task.graph, stored, form, narrow)
    widened = {**stored, **{name: each.widened() for name, each in small.items()}}
    with Trained.of_weights(trained.task, trained.network.backend, widened) as made:
        yield Narrowed(made, small, form)


def measured(trained: Trained, narrowed: Narrowed) -> SmallWeightsReport:
    """What the small weights of a network change.

    Args:
        trained: the network with its own weights.
        narrowed: the same network with small weights.
    """
    part, samples, why = _measured_part(trained)
    before: Mapping[str, float] = {}
    after: Mapping[str, float] = {}
    if samples is not None:
        before = trained.evaluate(samples)
        after = narrowed.trained.evaluate(samples)
    rows, _ = stored_samples(trained.task)
    found = compare(
        trained.predict_all(rows),
        narrowed.trained.predict_all(rows),
        [each.class_names for each in trained.task.all_outputs],
    )
    return SmallWeightsReport(
        narrowed.form, before, after, part, 0 if samples is None else len(samples), why,
        found.max_abs, len(rows[0]), found.same_top, _kernel_bytes(narrowed.small.values()),
    )  # fmt: skip


def _measured_part(trained: Trained) -> tuple[str, Samples | None, str]:
    """Name of the part, its samples, and why there are none."""
    task = trained.task
    for part, samples in (("validation", task.validation), ("test", task.test)):
        if samples is not None and len(samples):
            if not task.has_objective:
                return "", None, "the network has no loss"
            return part, samples, ""
    return "", None, "there are no validation or test samples"


def _kernel_bytes(small: Iterable[SmallWeight]) -> tuple[int, int]:
    before = after = 0
    for each in small:
        before += 4 * each.values.size
        after += each.values.nbytes + (0 if each.scale is None else each.scale.nbytes)
    return before, after


def _plain(metrics: Mapping[str, float]) -> dict[str, Plain]:
    """Metrics as JSON has them, which knows no NaN."""
    return {name: float(v) if np.isfinite(v) else None for name, v in metrics.items()}


def _number(value: float) -> str:
    return f"{value:.4g}"
