"""A network measured on a part of the data, and which of its samples to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError
from studio.engine.train.data.samples import Samples
from studio.engine.train.data.stored_rows import SampleArray
from studio.engine.train.network.measures import (
    Classification,
    Outcome,
)
from studio.engine.train.network.outcomes import outcomes_of
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.sample_facts import InputFacts
from studio.engine.train.project.task import Task
from studio.engine.train.runs.weights_origin import WeightsOrigin
from studio.session.core.held_out import is_shared_in

PartName: TypeAlias = Literal["test", "validation", "training"]

Order: TypeAlias = Literal["largest loss", "smallest loss", "least confident", "as in the data"]
ORDERS: tuple[Order, ...] = get_args(Order)
Indices: TypeAlias = npt.NDArray[np.int64]

PARTS: tuple[PartName, ...] = get_args(PartName)


@dataclass(frozen=True, eq=False)
class Results:
    """A measurement, and which output of the network is looked at.

    Attributes:
        part: of the data.
        metrics: loss and metrics, as training reports them.
        outcomes: for each output what was said about each sample; None without targets.
        outputs: names of the outputs.
        inputs: for each input the raw samples.
        facts: what each raw input is.
        steps: steps the network was trained for.
        note: what to know about it, one sentence or nothing.
        origin: where the weights come from, if that is known.
        output: place of the output that is looked at.
    """

    part: PartName
    metrics: Mapping[str, float]
    outcomes: tuple[Outcome | None, ...]
    outputs: tuple[str, ...]
    inputs: tuple[SampleArray, ...]
    facts: tuple[InputFacts, ...]
    steps: int
    note: str = ""
    origin: WeightsOrigin | None = None
    output: int = 0

    def __len__(self) -> int:
        return len(self.inputs[0])

    @property
    def outcome(self) -> Outcome | None:
        """What the output that is looked at said about each sample; None without targets."""
        return self.outcomes[self.output]

    @property
    def shown_metrics(self) -> dict[str, float]:
        """All metrics of the only output; of one of several its own, and the loss of all."""
        if len(self.outputs) == 1:
            return dict(self.metrics)
        own = self.outputs[self.output]
        found = {
            metric.removeprefix(f"{own}_"): value
            for metric, value in self.metrics.items()
            if output_of(metric, self.outputs) == own
        }
        if "loss" in self.metrics:
            found["total_loss"] = self.metrics["loss"]
        return found


def output_of(metric: str, outputs: Sequence[str]) -> str:
    """The output that a metric such as ``size_loss`` is of; empty for that of all."""
    fitting = [name for name in outputs if metric.startswith(f"{name}_")]
    return max(fitting, key=len, default="")


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
    outcomes = outcomes_of(trained, samples, progress)
    names = task.graph.output_names()
    metrics = _by_samples(task, outcomes) if beside_training else trained.evaluate(samples)
    checkpoint = trained.checkpoint
    steps = 0 if checkpoint is None else checkpoint.position.total_step
    notes = () if trained.origin is None else trained.origin.notes
    if checkpoint is not None and checkpoint.data_hash != task.data_hash:
        notes = ("the data has changed since this network was trained", *notes)
    return Results(
        part, metrics, outcomes, names, samples.inputs, task.all_inputs, steps, "; ".join(notes),
        trained.origin,
    )  # fmt: skip


def _by_samples(task: Task, outcomes: Sequence[Outcome | None]) -> dict[str, float]:
    """Loss and accuracies as means of the samples', named as training names them."""
    names = task.graph.output_names()
    weights = task.loss_weights or (1.0,) * len(names)
    losses = {
        place: outcome.mean_loss
        for place, (outcome, loss) in enumerate(zip(outcomes, task.losses, strict=True))
        if outcome is not None and loss is not None
    }
    found = {"loss": sum(loss * weights[place] for place, loss in losses.items())}
    if len(losses) > 1:
        found |= {f"{names[place]}_loss": loss for place, loss in losses.items()}
    for place, (name, outcome) in enumerate(zip(names, outcomes, strict=True)):
        if isinstance(outcome, Classification) and place in losses:
            found[f"{name}_accuracy" if len(names) > 1 else "accuracy"] = outcome.accuracy
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
            kept &= outcome.in_cell(self.truth, self.predicted)
        found = np.flatnonzero(kept)
        if self.order == "as in the data":
            return found
        if self.order == "least confident" and isinstance(outcome, Classification):
            return found[np.argsort(outcome.confidence[found], kind="stable")]
        losses = outcome.losses[found]
        return found[
            np.argsort(losses if self.order == "smallest loss" else -losses, kind="stable")
        ]
