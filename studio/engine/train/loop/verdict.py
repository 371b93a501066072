"""Judges whether a training that ended without an error has learned anything."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.core.tensor import Ref, Role, Shape
from studio.engine.train.data.samples import Array, MixedSamples
from studio.engine.train.network.network import STATE_ROLES, Network
from studio.engine.train.project.task import Task

if TYPE_CHECKING:
    from studio.engine.train.callbacks.history import History
    from studio.engine.train.loop.epoch_loop import EpochLoop

Kind: TypeAlias = Literal["diverged", "stuck", "unmoved"]
Weights: TypeAlias = Mapping[str, npt.NDArray[np.generic]]
Floats: TypeAlias = npt.NDArray[np.float64]

WORSE = 1.25
"""A loss this many times that of the start and that of guessing has diverged."""
NO_BETTER = 0.98
"""A loss of at least this share of that of guessing is no better than guessing."""
FALLING = 0.9
"""A loss below this share of that of the start is on its way down."""
UNMOVED = 1e-3
"""Weights that changed by less than this share of their size have hardly moved."""
FAR, LONG_EPOCHS, LONG_STEPS = 100.0, 10, 500
"""A rate this many times the default is suspect after an epoch, a smaller one after so many."""
_START_ROWS, _END_ROWS = 16, 64
_MOST_RECENT = 4096
_MOST_NUMBERS = 1 << 22
"""Of more targets than this an even selection is looked at."""


class LossTrace:
    """Losses of single steps: the first ones, and those of the last epoch.

    Args:
        batch_size: rows of a step.
    """

    def __init__(self, batch_size: int) -> None:
        self.highest_rate = 0.0
        self._batch = batch_size
        self._first: list[float] = []
        self._recent: deque[float] = deque(maxlen=_MOST_RECENT)

    @property
    def start(self) -> float:
        """Loss of the first step; of several where a step has few rows."""
        return sum(self._first) / len(self._first) if self._first else math.nan

    @property
    def end_steps(self) -> int:
        """How many steps the end is: a quarter of an epoch, and not too few rows."""
        return min(len(self._recent), max(-(-len(self._recent) // 4), -(-_END_ROWS // self._batch)))

    @property
    def end(self) -> float:
        """Mean loss of the last steps."""
        last = list(self._recent)[-self.end_steps :]
        return sum(last) / len(last) if last else math.nan

    def begin_epoch(self) -> None:
        """The steps to come are of another epoch."""
        self._recent.clear()

    def add(self, losses: npt.NDArray[np.float32]) -> None:
        """Count steps that follow one another."""
        missing = -(-_START_ROWS // self._batch) - len(self._first)
        if missing > 0:
            self._first.extend(losses[:missing].tolist())
        self._recent.extend(losses[-_MOST_RECENT:].tolist())


@dataclass(frozen=True)
class Verdict:
    """Why a training is said not to have learned.

    Attributes:
        kind: ``diverged`` above start and guessing, ``stuck`` no better than guessing, or
            ``unmoved`` where the weights hardly changed.
        loss: mean over the last steps.
        steps: how many those were.
        start: loss of the first steps.
        guess: loss of the best constant prediction, None where it is not known.
        rate: highest learning rate used.
        suggested_rate: learning rate to try instead.
        gradients: tensors that are trained, 0 where their gradients could not be looked at.
        zero_gradients: how many of them have a gradient of zeros only.
        change: of all weights against their size at the start, None where it was not looked at.
        answers: the metrics are better than guessing although the loss is not.
    """

    kind: Kind
    loss: float
    steps: int
    start: float
    guess: float | None
    rate: float
    suggested_rate: float
    gradients: int = 0
    zero_gradients: int = 0
    change: float | None = None
    answers: bool = False

    @property
    def word(self) -> str:
        """The outcome in a word or two, shown instead of "Finished"."""
        return "Diverged" if self.kind == "diverged" and self.answers else "Did not learn"

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return f"Training {self.word.lower()}"

    @property
    def evidence(self) -> str:
        """The numbers behind the verdict, in one sentence."""
        steps = "last step" if self.steps == 1 else f"last {self.steps:,} steps"
        parts = [f"loss {self.loss:#.3g} over the {steps}, {self.start:#.3g} at the start"]
        if self.guess is not None:
            parts[0] += f", guessing gives {self.guess:#.3g}"
        if self.zero_gradients:
            tensors = f"{self.zero_gradients} of {self.gradients}"
            parts.append(f"the gradients of {tensors} parameter tensors are zero")
        if self.kind == "unmoved" and self.change is not None:
            parts.append(f"the weights changed by {100 * self.change:.1g} %")
        return "; ".join([*parts, f"learning rate {self.rate:g}"])

    @property
    def text(self) -> str:
        """All of it in one sentence."""
        return f"{self.headline}: {self.evidence}"

    @property
    def hint(self) -> str:
        """What to do about it."""
        return f"set the learning rate to {self.suggested_rate:g} and train again"

    def to_json(self) -> dict[str, Plain]:
        """Plain data for a file."""
        return {
            "kind": self.kind,
            "word": self.word,
            "text": self.text,
            "loss": self.loss,
            "start": self.start,
            "guess": self.guess,
            "learning_rate": self.rate,
            "suggested_learning_rate": self.suggested_rate,
            "gradients": self.gradients,
            "zero_gradients": self.zero_gradients,
            "hint": self.hint,
        }


def judge(
    network: Network,
    loop: EpochLoop,
    history: History,
    before: Weights | None,
) -> Verdict | None:
    """Why a training has not learned; None where it has, or where that cannot be told.

    Only where the loss is no better than guessing, a step is run to look at the gradients; the
    network is left as it was.

    Args:
        network: what was trained.
        loop: has run the last step.
        history: of all epochs.
        before: parameters at its start by name, None where they are not known.
    """
    task, trace, start = network.task, loop.trace, history.start
    last = {name: values[-1] for name, values in history.history.items() if values}
    mean = last.get("loss", math.nan)
    if not (math.isfinite(trace.end) and math.isfinite(start) and math.isfinite(mean)):
        return None
    # One spike spoils a mean, and a few steps say little: it is bad where both are.
    loss, guess = min(trace.end, mean), guessing_loss(task)
    least = start if guess is None else guess
    if loss < NO_BETTER * least:
        return None
    share, rate, usual = largest_share(task), trace.highest_rate, default_rate(network)
    reached = max(last.get("accuracy", 0.0), last.get("val_accuracy", 0.0))
    answers = share is not None and reached > share + (1 - share) / 4
    zero, dead = _gradients(network, loop)
    change = None if before is None else _change(network, before)
    # Less than far above the default, a rate is suspect only when it had time enough.
    long = rate > usual and len(history.epoch) >= LONG_EPOCHS and loop.total_step >= LONG_STEPS
    kind: Kind
    if loss > WORSE * max(start, least):
        kind = "diverged"
    elif dead:
        kind = "stuck"
    elif change is not None and change < UNMOVED:
        kind = "unmoved"
    elif loss >= FALLING * start and not answers and (long or rate >= FAR * usual):
        kind = "stuck"
    else:
        return None
    tenth = UNMOVED * usual < rate <= usual and kind != "unmoved"
    return Verdict(
        kind, trace.end, trace.end_steps, start, guess, rate, rate / 10 if tenth else usual,
        len(zero), sum(zero), change, answers,
    )  # fmt: skip


def default_rate(network: Network) -> float:
    """The learning rate of the task's optimiser when none is given."""
    return type(network.task.settings.optimizer)().rate(0)


def _gradients(network: Network, loop: EpochLoop) -> tuple[list[bool], bool]:
    """For each trained tensor whether its gradient is zero; whether hidden layers get none.

    Empty and false where the step cannot be run again.
    """
    program = network.program("train")
    trained = [t for t in network.tensors("train", (Role.PARAM,)) if t.id in program.gradients()]
    step_range = next(loop.feeder.step_ranges(0, network.task.settings.shuffle))
    roles = (*STATE_ROLES, Role.STEP)
    try:
        state = network.read(roles)
        try:
            loop.feeder.position(step_range, step=loop.total_step, epoch=0, record=loop.total_step)
            loop.rates.prepare(loop.total_step, 1)
            executable = network.executable("train", step_range.batch, step_range.lengths)
            found = executable.check({Ref(t.id, grad=True) for t in trained})
        finally:
            network.write(state, roles)
    except StudioError:
        return [], False
    zero = {t.name: not np.any(found[Ref(t.id, grad=True)]) for t in trained}
    # The bias of the last layer has a gradient also where nothing reaches it from the input.
    hidden = [zero[t.name] for t in trained if t.layer != trained[-1].layer]
    return list(zero.values()), bool(zero) and all(hidden or zero.values())


def _change(network: Network, before: Weights) -> float:
    """Distance of all parameters from where they began, against their size there."""
    distance = size = 0.0
    for name, values in network.read((Role.PARAM,)).items():
        if name in before:
            old = before[name].astype(np.float64)
            distance += float(((values.astype(np.float64) - old) ** 2).sum())
            size += float((old**2).sum())
    return math.sqrt(distance / size) if size else math.inf


def guessing_loss(task: Task) -> float | None:
    """Training loss of predicting the class shares, or for numbers the mean, for every sample.

    Weights of classes and samples count as in training. None without data, and for a loss or
    targets it is not known for, and for samples of several lengths.
    """
    samples = task.training
    if samples is None or isinstance(samples, MixedSamples):
        return None
    if not task.losses or len(samples.targets) != len(task.losses):
        return None
    shapes, total = task.graph.shapes(), 0.0
    count = len(task.losses)
    factors = task.loss_weights or (1.0,) * count
    by_class = task.spec.class_weights or ((),) * count
    by_sample = samples.weights if len(samples.weights) == count else samples.weights * count
    outputs = zip(task.losses, samples.targets, task.graph.outputs, factors, strict=True)
    for index, (loss, targets, output, factor) in enumerate(outputs):
        if loss is None:
            continue
        if targets is None:
            return None
        shape = shapes[output.node]
        chosen = _selection(len(targets), math.prod(shape))
        rows = _rows(targets[chosen], shape)
        if rows is None:
            return None
        own = by_sample[index] if by_sample else None
        own = None if own is None else own[chosen]
        weights = _weights(rows, by_class[index], own)
        value = loss.constant_loss(rows, weights) if weights.sum() > 0 else 0.0
        if value is None:
            return None
        numbers = rows.size / len(targets[chosen]) * task.batch_rows
        total += factor * value * loss.step_factor(numbers)
    return total


def largest_share(task: Task) -> float | None:
    """Share of the most frequent class, the accuracy of guessing; None without classes."""
    samples = task.training
    if samples is None or len(samples.targets) != 1 or not task.class_names:
        return None
    labels = samples.targets[0]
    if labels is None or labels.dtype.kind not in "iu":
        return None
    return float(np.bincount(labels.astype(np.int64).ravel()).max() / labels.size)


def _selection(samples: int, numbers: int) -> slice:
    """Samples to look at, where each has so many targets."""
    return slice(0, samples, -(-samples * numbers // _MOST_NUMBERS))


def _rows(targets: Array, predicted: Shape) -> Floats | None:
    """Targets as rows of as many numbers as a prediction has; class indices become shares."""
    width = predicted[-1] if predicted else 1
    if targets.shape[1:] == predicted:
        return targets.astype(np.float64).reshape(-1, width)
    if targets.shape[1:] != predicted[:-1] or targets.dtype.kind not in "iu":
        return None
    labels = targets.astype(np.int64).ravel()
    if width == 1:
        return labels.astype(np.float64).reshape(-1, 1)
    if labels.min() < 0 or labels.max() >= width:
        return None
    return np.eye(width)[labels]


def _weights(
    rows: Floats, by_class: tuple[float, ...], own: npt.NDArray[np.float32] | None
) -> Floats:
    """The factor of each row's loss."""
    found = np.ones(len(rows))
    if by_class:
        classes = np.rint(rows[:, 0]) if rows.shape[1] == 1 else np.argmax(rows, axis=1)
        found *= np.asarray(by_class)[classes.astype(np.int64)]
    if own is not None:
        found *= np.repeat(own.astype(np.float64).ravel(), len(rows) // own.size)
    return found
