"""What a training writes down: checkpoints, every step, epochs, marks, and the summary of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from studio import __version__
from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.isa.ops.data import STEP_WORDS
from studio.engine.optim.counted_metrics import counts_of
from studio.engine.optim.emit_updates import STEP_NAME
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.history import History
from studio.engine.train.data.input_columns import InputColumn
from studio.engine.train.loop.control import State
from studio.engine.train.loop.epoch_loop import EpochLoop, Saving
from studio.engine.train.network.metrics_reader import Numbers
from studio.engine.train.network.network import STATE_ROLES, Network, check_fit
from studio.engine.train.project.project import Project
from studio.engine.train.runs.marks import Mark, MarkKind, append_mark
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import RunLock
from studio.engine.train.runs.step_log import RATE, EpochSize, StepChunk, StepLog, StepsHeader

_ENDED = ("finished", "early")
_OF_THE_END = ("checkpoint", "checkpoint_epoch", "unsaved")
"""Keys of a summary that hold once a run has ended: its newest weights, and why later ones lack."""

MOST_RATE_MARKS = 1000
"""Marks of rates a part of a run gets; a callback may set one at every step, and steps keep it."""
MOST_PAUSE_MARKS = 1000
"""Marks of pauses a part of a run gets; each single step that is asked for is one."""
WRITE_SECONDS = 1.0
"""What a kill of the process costs at most of the numbers of single steps."""
CHECKPOINT_SECONDS = 600.0
"""What a kill of the process costs at most of a training, however long its epochs are."""
_CHECKPOINT = "checkpoint"
_EPOCH = "epoch "


class RunWriter:
    """Writes a training into its run's folder.

    Where something cannot be written, because the disk is full or the folder is gone, the user is
    told and the training goes on: its weights are worth more than the record. Writing is tried
    again at the end, and on request.

    Args:
        folder: of the run, None for no record.
        warn: called with one sentence for each reason, once.

    Attributes:
        project: what is recorded as the run's settings when it begins; None where they are.
        is_over: whether a resumed training has nothing left to do, and its run nothing to write.
    """

    def __init__(self, folder: RunFolder | None, warn: Callable[[str], object]) -> None:
        self._folder = folder
        self._warn = warn
        self._told: set[str] = set()
        self.project: Project | None = None
        self.is_over = False
        self._lock = None if folder is None else RunLock(folder.path)
        self._ended: Mapping[str, object] | None = None
        self._missing: dict[str, tuple[Callable[[], object], StudioError]] = {}
        self._rate_marks = self._pause_marks = 0
        self._saved = time.monotonic()
        self.marked: Signal[[Mark]] = Signal()

    @property
    def unsaved(self) -> StudioError | None:
        """Why the last checkpoint is not on the disk; None where it is."""
        found = self._missing.get(_CHECKPOINT)
        return None if found is None else found[1]

    def take(self, found: Checkpoint | None = None, epochs: int = 0) -> None:
        """Keep other trainings out of the run; DataError where one has it.

        Args:
            found: where it is resumed, None for a new run.
            epochs: epochs that are wanted in all. Where nothing is left, nothing is written.
        """
        self.is_over = found is not None and self._is_over(found, epochs)
        if self._lock is not None and not self.is_over:
            self._lock.take()

    def release(self) -> None:
        """Let other trainings have the run."""
        if self._lock is not None:
            self._lock.release()

    def begin(
        self,
        device: str,
        data_hash: str,
        choices: str = "",
        columns: Sequence[InputColumn] = (),
    ) -> None:
        """Write down that it trains, where and on what; StudioError where that cannot be.

        Args:
            device: the device.
            data_hash: of the data set.
            choices: how kernels were chosen.
            columns: columns of categories, whose lists the run keeps.
        """
        folder = self._folder
        if folder is None:
            return
        self._saved = time.monotonic()
        folder.reopen()
        project = self.project
        if columns:
            project = project or folder.project()
            if project.data is not None:
                project = replace(project, data=project.data.with_categories(columns))
        if project is not None:
            folder.write_json("settings.json", project.to_json())
        facts = {"device": device, "data_hash": data_hash, "version": __version__}
        facts |= {"kernels": choices or "shipped", "state": "running", "reason": ""}
        # What was measured on the test part was measured with other weights.
        before = {k: v for k, v in folder.summary().items() if k not in _OF_THE_END}
        folder.write_summary({**before, **facts, "test": {}})

    def mark(self, kind: MarkKind, step: int, value: float = math.nan) -> None:
        """Record an event after so many steps, and emit it."""
        folder, mark = self._folder, Mark(kind, step, time.time(), value)
        if folder is not None:
            self._write(f"mark {kind} {step}", lambda: append_mark(folder.path, mark))
        self.marked.emit(mark)

    def mark_rate(self, step: int, rate: float | None) -> None:
        """Record a rate that was set; None for the optimiser's own."""
        self._rate_marks += 1
        if self._rate_marks <= MOST_RATE_MARKS:
            self.mark("learning_rate", step, math.nan if rate is None else rate)

    def mark_pause(self, is_paused: bool, step: int) -> None:
        """Record that the training stands still, or goes on."""
        self._pause_marks += 1
        if self._pause_marks <= MOST_PAUSE_MARKS:
            self.mark("paused" if is_paused else "resumed", step)

    def add_test(self, measured: Mapping[str, float]) -> None:
        """Write down what the network reached on the test part."""
        folder = self._folder
        if folder is not None:
            finite = {name: value for name, value in measured.items() if math.isfinite(value)}
            if self._ended is not None:
                self._ended = {**self._ended, "test": finite}
            self._write("test", lambda: folder.write_summary({**folder.summary(), "test": finite}))

    def seconds(self) -> float:
        """How long the run trained before, as its summary says; 0 where it does not."""
        found = {} if self._folder is None else self._folder.summary()
        seconds = found.get("seconds")
        is_time = isinstance(seconds, int | float) and 0.0 <= seconds < math.inf
        return float(seconds) if isinstance(seconds, int | float) and is_time else 0.0

    def save(self, name: str, checkpoint: Checkpoint) -> str:
        """Write a checkpoint; its name, empty where it could not be written."""
        folder = self._folder
        if folder is None:
            return ""
        written = self._write(_CHECKPOINT, lambda: checkpoint.save(folder.checkpoint_path(name)))
        self._saved = time.monotonic()
        return name if written else ""

    def saving(self, make: Callable[[], Checkpoint]) -> Saving | None:
        """Writes where a long epoch stands; None where nothing is recorded.

        The file goes once the training has finished.
        """
        if self._folder is None:
            return None
        return Saving(self._is_save_due, lambda: self.save("last", make()))

    def _is_save_due(self) -> bool:
        return time.monotonic() - self._saved >= CHECKPOINT_SECONDS

    def saved_epochs(self, finished: int) -> tuple[str, ...]:
        """Names of the epoch checkpoints, the first to remove first (see `RunFolder`)."""
        return () if self._folder is None else self._folder.saved_epochs(finished)

    def _is_over(self, found: Checkpoint, epochs: int) -> bool:
        done = found.position.epoch
        if found.stop_reason is None and done < epochs:
            return False
        if self._folder is None or done > epochs:
            return True
        finals = (head for head in self._folder.heads() if head.path.stem == "final")
        whole = any(head.problem is None and head.position.epoch >= done for head in finals)
        return whole and self._folder.summary().get("state") in _ENDED

    def save_end(self, make: Callable[[], Checkpoint], *, stopped: bool) -> None:
        """Write the final weights.

        A stopped training has written its last checkpoint already; only weights that a callback put
        back differ from it.
        """
        if self._folder is None:
            return
        checkpoint = make()
        position = checkpoint.position
        if stopped and checkpoint.weights_place == (position.epoch, position.step):
            return
        if self.save("final", checkpoint) and not stopped:
            # It held where an earlier part was stopped.
            self.remove("last")

    def remove(self, name: str) -> None:
        """Delete a checkpoint."""
        if self._folder is not None and name:
            self._folder.remove_checkpoint(name)

    def add_metrics(self, epoch: int, logs: Mapping[str, float]) -> None:
        """Write down the numbers of an epoch."""
        folder = self._folder
        if folder is None:
            return

        def work() -> None:
            if any(what.startswith(_EPOCH) for what in self._missing):
                # The last line may have been torn.
                folder.mend_metrics()
            folder.append_metrics(epoch, logs)

        self._write(f"{_EPOCH}{epoch}", work)

    def end(self, state: MarkKind, steps: int, summary: Mapping[str, object]) -> None:
        """Write down how it ended, and what could not be written before."""
        self.mark(state, steps)
        if self._folder is not None:
            self.retry()
            self._ended = {**summary, "test": {}}
            self._write("summary", self._write_end)

    def retry(self) -> StudioError | None:
        """Write what could not be written before; why that fails again, if it does."""
        missing = dict(self._missing)
        for what, (work, _) in missing.items():
            if not self._write(what, work):
                break
        if _CHECKPOINT in missing and _CHECKPOINT not in self._missing and self._ended is not None:
            # The summary said that the weights were missing.
            self._write("summary", self._write_end)
        return next((error for _, error in self._missing.values()), None)

    def save_again(self) -> StudioError | None:
        """`retry` after the end of the training; fails where another process trains the run."""
        if not self._missing:
            return None
        try:
            self.take()
            return self.retry()
        except StudioError as error:
            return error
        finally:
            self.release()

    def _write_end(self) -> None:
        """The summary, with the weights that are there and why others are not."""
        folder = self._folder
        if folder is None or self._ended is None:
            return
        head = next((head for head in folder.heads() if head.problem is None), None)
        unsaved = "" if self.unsaved is None else self.unsaved.message
        kept = ("", 0, unsaved)
        if head is not None:
            kept = (head.path.name, head.weights_place[0], unsaved)
        facts = {**folder.summary(), **self._ended, "started": folder.name}
        folder.write_summary({**facts, **dict(zip(_OF_THE_END, kept, strict=True))})

    def _write(self, what: str, work: Callable[[], object]) -> bool:
        try:
            work()
        except StudioError as error:
            self._missing[what] = (work, error)
            if error.message not in self._told:
                self._told.add(error.message)
                hint = f"; {error.hint}" if error.hint else ""
                self._warn(f"training continues, but is not recorded: {error.message}{hint}")
            return False
        self._missing.pop(what, None)
        return True


class StepRecorder:
    """Hears the loop of a training; on the training thread.

    A file that cannot be written ends the recording, not the training.

    Attributes:
        began: emitted before the first step with what is recorded, and the steps done before.
        added: emitted with the steps since the last, a few times a second.
        paused: emitted when a pause begins or ends: whether it begins, and the steps done before.

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
        self.paused: Signal[[bool, int]] = Signal()
        self._stands = False
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
        feeder, metrics = loop.feeder, (*loop.metrics_reader.labels, RATE)
        size = EpochSize(feeder.steps, feeder.batch_size, len(feeder.samples))
        header = StepsHeader(metrics, size, self._since + self._offset)
        folder = self._folder
        if folder is not None:
            self._try(lambda: self._open(folder, header))
        if self._log is not None or self.added.has_listeners:
            loop.heard.connect(self._take)
        self.began.emit(header, loop.total_step)

    def skip(self) -> None:
        """Count time from now on; the time since the last step is left out."""
        self._since, self._relative = time.perf_counter(), self._seconds()

    def control_changed(self, state: State) -> None:
        """Do not count paused time; write pending steps when a pause begins."""
        stands = state == "paused"
        if self._loop is not None and stands != self._stands and state in ("paused", "running"):
            self.paused.emit(stands, self._loop.total_step)
        self._stands = stands
        if state == "running":
            self.skip()
        else:
            self.flush()
            self._write()

    def flush(self) -> None:
        """Emit and write the steps since the last flush."""
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
        """Write pending steps and close the file."""
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


def checkpoint_of(
    network: Network,
    loop: EpochLoop,
    place: tuple[int, bool],
    history: History,
    callbacks: Sequence[Callback],
    learning_rate: float | None,
    seconds: float,
    stop_reason: str | None,
) -> Checkpoint:
    """The checkpoint of a training that stands between two steps.

    Args:
        network: weights, statistics and slots.
        loop: steps and sums so far.
        place: epochs finished, and whether another has begun.
        history: record of the epochs.
        callbacks: whose state is kept.
        learning_rate: the fixed rate that was set, or None for the optimiser's own.
        seconds: seconds of training so far.
        stop_reason: why a callback ends it here, None where none does.
    """
    loop.metrics_reader.finish()
    epoch, begun = place
    position = (
        Position(
            epoch, loop.step, loop.total_step, loop.metrics_reader.rows, loop.metrics_reader.sums
        )
        if begun
        else Position(epoch, 0, loop.total_step)
    )
    tensors = network.read(STATE_ROLES)
    tensors[STEP_NAME] = np.array(network.session.read(STEP_NAME).result())
    if position.rows:
        for counts in counts_of(network.program("train")):
            tensors[counts.name] = np.array(network.session.read(counts.name).result())
    settings = network.task.settings
    return Checkpoint(
        tensors,
        position,
        settings.seed,
        settings.batch_size,
        learning_rate,
        history.state(),
        tuple((type(c).__name__, c.state()) for c in callbacks),
        tuple(c.arrays() for c in callbacks),
        network.task.data_hash,
        seconds,
        stop_reason,
    )


def restore_step_block(network: Network, found: Checkpoint) -> None:
    """Write the step counters back: where no step is left to run, nothing else sets them."""
    block = found.tensors.get(STEP_NAME)
    if block is not None and block.shape == (STEP_WORDS,) and block.dtype == np.int32:
        network.session.write(STEP_NAME, np.ascontiguousarray(block))


def restore_counts(network: Network, found: Checkpoint) -> None:
    """Go on counting the epoch the checkpoint stands in; CheckpointError where counts are missing.

    Nothing is written where it stands between two epochs.
    """
    counts = counts_of(network.program("train")) if found.position.rows else []
    check_fit(tuple(counts), found.tensors, "checkpoint")
    network.session.ensure(counts)
    for tensor in counts:
        network.session.write(tensor.name, np.ascontiguousarray(found.tensors[tensor.name]))


def restore_callbacks(callbacks: Sequence[Callback], found: Checkpoint) -> None:
    """Give each callback the state of the first of its kind that is left in the checkpoint."""
    left = list(zip(found.callbacks, found.callback_arrays, strict=True))
    for callback in callbacks:
        for entry in left:
            (kind, state), arrays = entry
            if kind == type(callback).__name__:
                callback.restore(state, dict(arrays))
                left.remove(entry)
                break


def summary_of(
    state: str, reason: str, device: str, history: History, steps: int, seconds: float
) -> Mapping[str, object]:
    """The summary of a run: how it ended, where it ran, its last finite numbers."""
    return {
        "state": state,
        "reason": reason,
        "device": device,
        "epochs": len(history.epoch),
        "steps": steps,
        "seconds": round(seconds, 3),
        "metrics": {
            name: values[-1]
            for name, values in history.history.items()
            if values and np.isfinite(values[-1])
        },
    }
