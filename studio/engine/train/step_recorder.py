"""Takes the numbers of single steps from the loop, times them, and writes and tells them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.control import State
from studio.engine.train.loop import EpochLoop
from studio.engine.train.meter import Numbers
from studio.engine.train.runs import RunFolder
from studio.engine.train.step_log import RATE, EpochSize, StepChunk, StepLog, StepsHeader

WRITE_SECONDS = 1.0
"""What a kill of the process costs at most of the numbers of single steps."""


class StepRecorder:
    """Hears the loop of a training; on the training thread.

    A file that cannot be written ends the recording, not the training.

    Attributes:
        began: emitted before the first step with what is recorded, and the steps done before.
        added: emitted with the steps since the last, a few times a second.

    Args:
        run: whose folder gets the file, None for no file.
        seconds: seconds of training so far.
        warn: called with a sentence where the file cannot be written.
    """

    def __init__(
        self, run: RunFolder | None, seconds: Callable[[], float], warn: Callable[[str], object]
    ) -> None:
        self.began: Signal[[StepsHeader, int]] = Signal()
        self.added: Signal[[StepChunk]] = Signal()
        self._folder = None if run is None else run.path
        self._seconds = seconds
        self._warn = warn
        self._loop: EpochLoop | None = None
        self._log: StepLog | None = None
        self._numbers: list[Numbers] = []
        self._first = 0
        self._unwritten: list[StepChunk] = []
        self._written = 0.0
        self._since = self._relative = 0.0
        # Wall time that never goes back, whatever is done to the system's clock.
        self._offset = time.time() - time.perf_counter()

    def begin(self, loop: EpochLoop) -> None:
        """The first step is about to run."""
        self._loop = loop
        self.skip()
        feed, metrics = loop.feed, (*loop.meter.labels, RATE)
        size = EpochSize(feed.steps, feed.batch_size, len(feed.samples))
        header = StepsHeader(metrics, size, self._since + self._offset)
        folder = self._folder
        if folder is not None:
            self._try(lambda: self._open(folder, header))
        if self._log is not None or self.added.has_listeners:
            loop.heard.connect(self._take)
        self.began.emit(header, loop.total_step)

    def skip(self) -> None:
        """The steps to come begin now, whatever passed since the last."""
        self._since, self._relative = time.perf_counter(), self._seconds()

    def control_changed(self, state: State) -> None:
        """Leave out the time a training stands still; write what is there meanwhile."""
        if state == "running":
            self.skip()
        else:
            self.flush()
            self._write()

    def flush(self) -> None:
        """Tell the steps that came since the last time."""
        if not self._numbers:
            return
        values = np.concatenate(self._numbers)
        self._numbers = []
        now, relative = time.perf_counter(), self._seconds()
        chunk = StepChunk(
            self._first, values, (self._since + self._offset, now + self._offset),
            (self._relative, relative),
        )  # fmt: skip
        self._since, self._relative = now, relative
        if self._log is not None:
            self._unwritten.append(chunk)
        if now - self._written >= WRITE_SECONDS:
            self._write()
        self.added.emit(chunk)

    def close(self) -> None:
        """Write what is left."""
        self.flush()
        self._write()
        self._end_log()

    def _take(self, first: int, numbers: Numbers) -> None:
        loop = self._loop
        if loop is None:
            return
        if not self._numbers:
            self._first = first
        values = np.empty((len(numbers), numbers.shape[1] + 1), np.float32)
        values[:, :-1] = numbers
        with np.errstate(over="ignore"):
            values[:, -1] = loop.rates.rates(first, len(numbers))
        self._numbers.append(values)

    def _open(self, folder: Path, header: StepsHeader) -> None:
        self._log = StepLog(folder, header)

    def _write(self) -> None:
        chunks, self._unwritten = self._unwritten, []
        self._written = time.perf_counter()
        log = self._log
        if log is not None and chunks:
            self._try(lambda: log.add(chunks))

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except StudioError as error:
            self._end_log()
            self._warn(f"the steps of this run are no longer recorded: {error.message}")

    def _end_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None
