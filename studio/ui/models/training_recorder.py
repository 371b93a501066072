"""What the training thread leaves for the window and the run's folder: every step, with its time.

Works on the training thread and never waits for the window: what it has to tell lies in a queue.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.train.callbacks.callback import Callback, Logs
from studio.engine.train.control import State as ControlState
from studio.engine.train.marks import BEGINNINGS, Mark
from studio.engine.train.progress import Progress
from studio.engine.train.runs import RunFolder
from studio.engine.train.trainer import Trainer
from studio.ui.models.curves import RATE, StepChunk
from studio.ui.models.runs_records import forget_test
from studio.ui.models.series_axes import EpochSize
from studio.ui.models.series_columns import Values
from studio.ui.models.series_file import StepsHeader, StepsWriter
from studio.ui.models.training_state import Compiling

WRITE_SECONDS = 1.0
"""What a kill of the process costs at most of the numbers of single steps."""


@dataclass(frozen=True)
class Begun:
    """The first step is about to run.

    Attributes:
        size: what an epoch consists of.
        metrics: what each step gives, the learning rate last.
        step: steps done before.
        wall: when.
    """

    size: EpochSize
    metrics: tuple[str, ...]
    step: int
    wall: float


@dataclass(frozen=True)
class EpochEnded:
    """An epoch with its validation is over.

    Attributes:
        step: steps done.
        numbers: means over the epoch, and of validation.
    """

    step: int
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Said:
    """A sentence for the user; ``is_warning`` where something is wrong."""

    text: str
    is_warning: bool = False


News: TypeAlias = "Begun | StepChunk | EpochEnded | Mark | Progress | Compiling | Said"


class TrainingRecorder(Callback):
    """Hears a training and keeps what it hears.

    Args:
        folder: of the run, for its files.
        done: steps done before this part of the training.
        told: called after something was put in the queue; must only pass that on.
    """

    def __init__(self, folder: Path, done: int, told: Callable[[], object]) -> None:
        self.news: deque[News] = deque()
        self._folder = folder
        self._done = done
        self._relative = 0.0
        self._told = told
        self._trainer: Trainer | None = None
        self._writer: StepsWriter | None = None
        self._unwritten: list[StepChunk] = []
        self._written = 0.0
        self._rows: list[Logs] = []
        self._batch = 0
        self._metrics: tuple[str, ...] = ()
        self._since = 0.0
        # Wall time that never goes back, whatever is done to the system's clock.
        self._offset = time.time() - time.perf_counter()

    def attach(self, trainer: Trainer) -> None:
        """Hear this training; before it starts."""
        self._trainer = trainer
        trainer.progress.connect(self._progressed)
        trainer.compiling.connect(self._compiling)
        trainer.said.connect(self._said)
        trainer.warned.connect(self._warned)
        trainer.marked.connect(self._marked)
        trainer.control.changed.connect(self._state_changed)

    def close(self) -> None:
        """Write out what is left; after the training."""
        self._write(self._record)
        if self._writer is not None:
            self._write(self._writer.close)
            self._writer = None

    # -- what callbacks hear --------------------------------------------------------------------

    def on_train_begin(self) -> None:
        """Say what will be recorded."""
        if self._trainer is None:
            return
        loop = self._trainer.loop
        feed = loop.feed
        size = EpochSize(feed.steps, feed.batch_size, len(feed.samples))
        self._metrics = (*loop.meter.labels, RATE)
        self._skip()
        begun = Begun(size, self._metrics, self._done, self._now())
        self.news.append(begun)
        header = StepsHeader(self._metrics, size, begun.wall)
        self._write(lambda: self._open(header))
        self._told()

    def on_epoch_begin(self, epoch: int) -> None:
        """Count what lies between two epochs apart from their steps."""
        self._skip()

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        """Keep the numbers of a step."""
        self._rows.append(logs)
        self._batch = batch

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Pass the numbers of an epoch on."""
        self._flush()
        if self._trainer is not None:
            self.news.append(EpochEnded(self._trainer.loop.total_step, dict(logs)))
        self._told()

    def on_train_end(self) -> None:
        """Pass on what is left."""
        self._flush()

    # -- what signals tell ----------------------------------------------------------------------

    def _progressed(self, progress: Progress) -> None:
        self._flush()
        self.news.append(progress)
        self._told()

    def _compiling(self, done: int, total: int) -> None:
        self.news.append(Compiling(done, total))
        self._told()

    def _marked(self, mark: Mark) -> None:
        # The rates of the steps before are looked up before it is another.
        self._flush()
        if mark.kind == "restart":
            self._write(lambda: forget_test(RunFolder(self._folder)))
        if mark.kind not in BEGINNINGS:
            self.news.append(mark)
            self._told()

    def _said(self, text: str) -> None:
        self.news.append(Said(text))
        self._told()

    def _warned(self, text: str) -> None:
        self.news.append(Said(text, is_warning=True))
        self._told()

    def _state_changed(self, state: ControlState) -> None:
        if state == "running":
            self._skip()
        elif self._writer is not None:
            self._flush()
            self._write(self._record)
        self._told()

    # -- inside ---------------------------------------------------------------------------------

    def _now(self) -> float:
        return time.perf_counter() + self._offset

    def _skip(self) -> None:
        """The steps that come begin now, whatever passed since the last."""
        if self._trainer is not None:
            self._since, self._relative = time.perf_counter(), self._trainer.seconds

    def _flush(self) -> None:
        """Make a chunk of the steps heard since the last."""
        trainer, rows = self._trainer, self._rows
        if trainer is None or not rows:
            return
        self._rows = []
        loop = trainer.loop
        done = loop.total_step - loop.step + self._batch + 1
        first, now = done - len(rows), time.perf_counter()
        values = np.empty((len(rows), len(self._metrics)), np.float32)
        names = self._metrics[:-1]
        values[:, :-1] = [[logs[name] for name in names] for logs in rows]
        values[:, -1] = self._rates(first, done)
        relative = trainer.seconds
        chunk = StepChunk(
            first, values, (self._since + self._offset, now + self._offset),
            (self._relative, relative),
        )  # fmt: skip
        self._since, self._relative = now, relative
        self.news.append(chunk)
        self._unwritten.append(chunk)
        if now - self._written >= WRITE_SECONDS:
            self._write(self._record)

    def _rates(self, first: int, done: int) -> float | Values:
        """The learning rate of each step; one number where it does not change."""
        if self._trainer is None:
            return float("nan")
        rate = self._trainer.loop.rates.rate
        ends = {rate(first), rate((first + done) // 2), rate(done - 1)}
        if len(ends) == 1:
            return ends.pop()
        return np.array([rate(step) for step in range(first, done)])

    def _open(self, header: StepsHeader) -> None:
        self._writer = StepsWriter(self._folder, header)

    def _record(self) -> None:
        """Hand what is not written yet to the system."""
        chunks, self._unwritten = self._unwritten, []
        self._written = time.perf_counter()
        if self._writer is not None:
            self._writer.add(chunks)
            self._writer.flush()

    def _write(self, work: Callable[[], object]) -> None:
        """Write to the run's folder; a training does not end for a full disk, but it is said."""
        try:
            work()
        except (OSError, StudioError) as error:
            reason = error.message if isinstance(error, StudioError) else error.strerror
            self._writer = None
            text = f"the steps of this run are no longer recorded: {reason}"
            self.news.append(Said(text, is_warning=True))
