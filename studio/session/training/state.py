"""Where a training stands, in words and numbers, for whatever shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from studio.engine.core.errors import StudioError
from studio.engine.train.loop.progress import NO_TIME, Progress, TimeLeft
from studio.engine.train.loop.verdict import Verdict

State: TypeAlias = Literal[
    "idle", "preparing", "running", "pausing", "paused", "stopping", "finished", "stopped", "failed"
]

STATES: tuple[State, ...] = get_args(State)

WORDS: Mapping[State, str] = {
    "idle": "Not training",
    "preparing": "Preparing",
    "running": "Training",
    "pausing": "Pausing",
    "paused": "Paused",
    "stopping": "Stopping",
    "finished": "Finished",
    "stopped": "Stopped",
    "failed": "Failed",
}

BUSY: frozenset[State] = frozenset({"preparing", "running", "pausing", "paused", "stopping"})
"""States in which a training is under way."""


@dataclass(frozen=True)
class Compiling:
    """How far the compilation of kernels is."""

    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class TrainingStatus:
    """How far a training is.

    Attributes:
        epoch: number of the epoch it is in, from 1.
        epochs: epochs in all.
        batch: batches of this epoch that are done.
        batches: batches of an epoch.
        steps: steps of all epochs that are done.
        share: part of everything that is done, 0 to 1.
        metrics: means over this epoch so far.
        learning_rate: of the next step.
        items_per_second: pace, or None while it is not known.
        step_seconds: seconds a step takes at that pace.
        elapsed: seconds of training.
        left: how long it will still take.
        counts_batches: an epoch takes long enough for its batches to be counted while it runs.
        done: epochs that are done.
    """

    epoch: int = 0
    epochs: int = 0
    batch: int = 0
    batches: int = 0
    steps: int = 0
    share: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    learning_rate: float = 0.0
    items_per_second: float | None = None
    step_seconds: float | None = None
    elapsed: float = 0.0
    left: TimeLeft = NO_TIME
    counts_batches: bool = True
    done: int = 0

    @classmethod
    def of(cls, progress: Progress, *, counts_batches: bool) -> TrainingStatus:
        """The standing after a report."""
        return cls(
            min(progress.epoch + 1, progress.epochs),
            progress.epochs,
            progress.steps if progress.epoch >= progress.epochs else progress.step,
            progress.steps,
            progress.total_step,
            progress.share,
            dict(progress.metrics),
            progress.learning_rate,
            progress.rows_per_second,
            progress.step_seconds,
            progress.elapsed,
            progress.left,
            counts_batches,
            progress.epoch,
        )


@dataclass(frozen=True)
class TrainingOutcome:
    """How a training ended.

    Attributes:
        state: finished, stopped or failed.
        reason: one sentence where a rule ended it early, else empty.
        error: what went wrong.
        metrics: the numbers of the last epoch.
        seconds: seconds of training.
        unsaved: why the weights are not in the run's folder, None where they are.
        verdict: why it has not learned, None where nothing says so.
        is_lost: the connection to it was lost; it goes on where it is.
    """

    state: State
    reason: str = ""
    error: StudioError | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    unsaved: StudioError | None = None
    verdict: Verdict | None = None
    is_lost: bool = False

    @property
    def word(self) -> str:
        """How it ended, as users read it."""
        if self.is_lost:
            return "Connection lost"
        return WORDS[self.state] if self.verdict is None else self.verdict.word
