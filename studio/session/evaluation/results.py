"""A network measured on a part of the data, and which of its samples to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.train.data.samples import Samples
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.task import InputFacts, Task
from studio.engine.train.runs.weights_origin import WeightsOrigin
from studio.session.core.held_out import is_shared_in
from studio.session.evaluation.measures import (
    Array,
    Classification,
    Outcome,
    classify,
    has_logits,
    regress,
)

PartName: TypeAlias = Literal["test", "validation", "training"]

Order: TypeAlias = Literal["largest loss", "smallest loss", "least confident", "as in the data"]
ORDERS: tuple[Order, ...] = get_args(Order)
Indices: TypeAlias = npt.NDArray[np.int64]

PARTS: tuple[PartName, ...] = get_args(PartName)


@dataclass(frozen=True, eq=False)
class Results:
    """A measurement.

    Attributes:
        part: of the data.
        metrics: loss and metrics, as training reports them.
        outcome: what was said about each sample.
        inputs: the raw samples.
        facts: what the raw input is.
        steps: steps the network was trained for.
        note: what to know about it, one sentence or nothing.
        origin: where the weights come from, if that is known.
    """

    part: PartName
    metrics: Mapping[str, float]
    outcome: Outcome
    inputs: Array
    facts: InputFacts
    steps: int
    note: str = ""
    origin: WeightsOrigin | None = None

    def __len__(self) -> int:
        return len(self.inputs)


def part_of(task: Task, part: PartName) -> Samples | None:
    """The samples of a part, None where the task has none."""
    if part == "training":
        return task.training
    return task.test if part == "test" else task.validation


def parts_of(task: Task) -> tuple[PartName, ...]:
    """The parts a task has; where each epoch is measured on the test part, that is one part."""
    apart = [p for p in PARTS if p != "validation"] if is_shared_in(task) else PARTS
    return tuple(part for part in apart if part_of(task, part) is not None)


def measure(
    trained: Trained,
    part: PartName,
    progress: Callable[[int, int], None],
    *,
    beside_training: bool = False,
) -> Results:
    """Ask a network about every sample of a part.

    Args:
        progress: hears (samples done, samples in all); may raise to stop.
        beside_training: the network is in training: its own measuring is left alone, and the
            loss is the mean of the samples' losses.

    Raises:
        DataError: there is no such part.
    """
    task = trained.task
    samples = part_of(task, part)
    if samples is None:
        raise DataError(f"there is no {part} part to measure", who=task.name)
    outputs = trained.predict(list(samples.inputs), progress)
    targets = np.asarray(samples.targets[0])
    outcome: Outcome
    if task.class_names:
        logits = has_logits(task.losses)
        outcome = classify(outputs, targets, task.class_names, logits=logits)
    else:
        outcome = regress(outputs, targets, task.losses)
    metrics = _by_samples(outcome) if beside_training else trained.evaluate(samples)
    checkpoint = trained.checkpoint
    steps = 0 if checkpoint is None else checkpoint.position.total_step
    notes = () if trained.origin is None else trained.origin.notes
    if checkpoint is not None and checkpoint.data_hash != task.data_hash:
        notes = ("the data has changed since this network was trained", *notes)
    return Results(
        part, metrics, outcome, samples.inputs[0], task.input_facts, steps, "; ".join(notes),
        trained.origin,
    )  # fmt: skip


def _by_samples(outcome: Outcome) -> dict[str, float]:
    found = {"loss": float(outcome.losses.mean())}
    if isinstance(outcome, Classification):
        found["accuracy"] = outcome.accuracy
    return found


@dataclass(frozen=True)
class Choice:
    """Which samples are looked at.

    Attributes:
        order: which come first.
        wrong_only: only those taken for another class.
        truth: only those of this class; -1 for all.
        predicted: only those taken for this class; -1 for all.
    """

    order: Order = "largest loss"
    wrong_only: bool = False
    truth: int = -1
    predicted: int = -1

    @property
    def is_cell(self) -> bool:
        """Whether one cell of the confusion matrix is looked at."""
        return self.truth >= 0 and self.predicted >= 0

    def indices(self, outcome: Outcome) -> Indices:
        """The samples, in order."""
        kept = np.ones(len(outcome.losses), bool)
        if isinstance(outcome, Classification):
            if self.wrong_only:
                kept &= outcome.wrong
            if self.truth >= 0:
                kept &= outcome.truth == self.truth
            if self.predicted >= 0:
                kept &= outcome.predicted == self.predicted
        found = np.flatnonzero(kept)
        if self.order == "as in the data":
            return found
        if self.order == "least confident" and isinstance(outcome, Classification):
            return found[np.argsort(outcome.confidence[found], kind="stable")]
        losses = outcome.losses[found]
        return found[
            np.argsort(losses if self.order == "smallest loss" else -losses, kind="stable")
        ]
