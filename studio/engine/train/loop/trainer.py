"""Trains a task on a backend: epochs, validation, callbacks, records, control by others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.closing import Closing
from studio.engine.core.errors import DataError, StudioError, cleaned
from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Role
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.profiler.events import Profile
from studio.engine.runtime.backend import Backend
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.history import History
from studio.engine.train.loop.control import Control
from studio.engine.train.loop.epoch_loop import BatchEndCalls, EpochLoop
from studio.engine.train.loop.nan_diagnosis import NanDiagnosis
from studio.engine.train.loop.progress import Progress, Reporter
from studio.engine.train.loop.recording import (
    RunWriter,
    StepRecorder,
    checkpoint_of,
    restore_callbacks,
    restore_counts,
    restore_step_block,
    summary_of,
)
from studio.engine.train.loop.resuming import require_fit, require_place
from studio.engine.train.loop.step_sampling import StepSampler
from studio.engine.train.loop.verdict import Verdict, judge
from studio.engine.train.network.evaluation import Evaluator
from studio.engine.train.network.mixed_feeder import feeder_for
from studio.engine.train.network.network import (
    STATE_ROLES,
    Network,
    Snapshot,
    require_room,
    snapshot_of,
)
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.marks import MarkKind
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.weights_origin import origin_in_memory
from studio.engine.train.weights import initial_weights

Array: TypeAlias = npt.NDArray[np.generic]
Outcome: TypeAlias = Literal["finished", "stopped", "early"]

_MIB = 1 << 20


@dataclass(frozen=True)
class TrainingResult:
    """What a training left.

    Attributes:
        outcome: ``finished`` all epochs, ``stopped`` by the user, or ``early`` by a callback.
        reason: one sentence where a callback ended it, else empty.
        history: for each metric one number per epoch, resumed ones included.
        epochs: numbers of those epochs, from 0.
        steps: steps of all epochs.
        seconds: time this part took, compiling and pauses left out.
        unsaved: why its last checkpoint could not be written, None when it was.
        total_seconds: the same of all its parts, those before a resume included.
        verdict: why it has not learned, None where nothing says so.
    """

    outcome: Outcome
    reason: str
    history: Mapping[str, list[float]]
    epochs: tuple[int, ...]
    steps: int
    seconds: float
    unsaved: StudioError | None = None
    total_seconds: float = 0.0
    verdict: Verdict | None = None

    @property
    def last(self) -> dict[str, float]:
        """The numbers of the last epoch."""
        return {name: values[-1] for name, values in self.history.items() if values}


@dataclass
class _Place:
    """Where the training stands between steps."""

    epoch: int = 0
    in_epoch: bool = False
    stop_reason: str = ""
    stop_wanted: bool = False
    snapshot: Snapshot | None = None
    snapshot_step: int = 0
    snapshot_total: int = 0


class Trainer(Closing):
    """Owns a network while it trains; a context manager.

    Its signals are emitted on the training thread; those of ``steps`` tell of single steps.

    Args:
        task: what is trained, on what.
        backend: where; stays the caller's.
        run: folder that records it, or None for no record.
        callbacks: further callbacks, called before those of the settings.
        network: continue with a network that has weights; stays the caller's.
        initial_epoch: number of the first epoch.
        clock: seconds since some moment.
        control: what others want of it; one of its own by default.
    """

    def __init__(
        self,
        task: Task,
        backend: Backend,
        *,
        run: RunFolder | None = None,
        callbacks: Sequence[Callback] = (),
        network: Network | None = None,
        initial_epoch: int = 0,
        clock: Callable[[], float] = time.perf_counter,
        control: Control | None = None,
    ) -> None:
        self.task = task
        self.run_folder = run
        self.control = control or Control()
        self.progress: Signal[[Progress]] = Signal()
        self.epoch_ended: Signal[[int, Mapping[str, float]]] = Signal()
        self.said: Signal[[str]] = Signal()
        self.warned: Signal[[str]] = Signal()
        self.compiling: Signal[[int, int]] = Signal()
        self.history = History()
        self._writer = RunWriter(run, self.warned.emit)
        self.marked = self._writer.marked
        self._owns_network = network is None
        self.network = network or Network(task, backend, self.compiling.emit)
        self.callbacks = _all_callbacks(task, callbacks, recorded=run is not None)
        self._initial_epoch = initial_epoch
        self._resumed: Checkpoint | None = None
        self._weights: dict[str, Array] | None = None
        self._slots: Checkpoint | None = None
        self._reporter = Reporter(task.settings.epochs, clock)
        self.control.changed.connect(self._reporter.control_changed)
        self.steps = StepRecorder(run, lambda: self._reporter.seconds, self.warned.emit)
        self.control.changed.connect(self.steps.control_changed)
        self.steps.paused.connect(self._writer.mark_pause)
        self._place = _Place(initial_epoch)
        self._begun = False
        self._loop: EpochLoop | None = None
        self._sampler: StepSampler | None = None
        self._evaluator = Evaluator(self.network)
        self._thread: threading.Thread | None = None

    # -- for the caller -------------------------------------------------------------------------

    def resume(
        self, checkpoint: Path | str | Checkpoint, seconds: float = 0.0,
        project: Project | None = None,
    ) -> None:  # fmt: skip
        """Go on from a checkpoint when `run` is called.

        Args:
            checkpoint: a file, or what was read from it.
            seconds: how long the run trained before, where more is known than files say.
            project: recorded as the settings of the run once it goes on.

        Raises:
            CheckpointError: it belongs to another seed, batch size or data set.
            DataError: another process trains the run.
        """
        found = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint.load(checkpoint)
        require_fit(self.task, found)
        self.control.set_learning_rate(found.learning_rate)
        self._writer.take(found, self.epochs)
        self._resumed, self._writer.project = found, project
        self._reporter.before = max(seconds, found.seconds, self._writer.seconds())

    def begin_with(self, weights: Mapping[str, Array], state: Checkpoint | None = None) -> None:
        """Start from given weights when `run` is called.

        Args:
            weights: parameters and statistics by tensor name, as stored.
            state: where optimiser slots and the count of steps come from; fresh without.
        """
        self._weights, self._slots = dict(weights), state

    def run(self) -> TrainingResult:
        """Train on this thread until all epochs are done or it is stopped.

        Raises:
            NumericError: the loss became no number; names instruction, layer and operands.
            StudioError: what data, compiler, backend or a callback refuse.
        """
        self._writer.take(self._resumed, self.epochs)
        self.control.begin()
        try:
            result = self._train()
        except BaseException as error:
            if self._resumed is None or self._begun:
                code = error.code if isinstance(error, StudioError) else ""
                self._summarise("failed", str(error), verdict=None, error=code)
            raise
        finally:
            self._reporter.watch.halt()
            self.steps.close()
            self._writer.release()
            self.control.end()
        return result

    def start(self) -> Future[TrainingResult]:
        """Train on a thread of its own; the future holds the result or the error."""
        if self._thread is not None and self._thread.is_alive():
            raise DataError("training is already running", who=self.task.name)
        future: Future[TrainingResult] = Future()

        def work() -> None:
            try:
                future.set_result(self.run())
            except BaseException as error:
                future.set_exception(error)

        self._thread = threading.Thread(target=work, name="training", daemon=True)
        self._thread.start()
        return future

    def trained(self) -> Trained:
        """The network as it is now, to evaluate and predict with; shares it with this."""
        checkpoint = None if self._loop is None else self.checkpoint()
        origin = origin_in_memory(checkpoint, self.run_folder)
        return Trained(self.network, checkpoint=checkpoint, origin=origin)

    def profile(self, steps: int = 20) -> Profile:
        """Run some training steps instrumented, from fresh weights unless it has trained."""
        if self._loop is None:
            self._prepare()
        return self.loop.profile(steps, shuffle=self.task.settings.shuffle)

    def watch_steps(self, sampler: StepSampler | None) -> None:
        """Have the steps watched from the next one on; None ends it. From any thread."""
        self._sampler = sampler
        if self._loop is not None:
            self._loop.sampler = sampler

    def evaluate(self, part: Literal["test", "validation"] = "test") -> dict[str, float]:
        """Loss and metrics on a held-out part; DataError where there is none."""
        samples = self.task.test if part == "test" else self.task.validation
        if samples is None:
            raise DataError(f"there is no {part} part to measure", who=self.task.name)
        found = self._evaluator.evaluate(samples)
        if part == "test":
            self._writer.add_test(found)
        return found

    def close(self) -> None:
        """Stop a training under way, wait for it, and give the network back."""
        if self._thread is not None:
            self.control.stop()
            self._thread.join()
            self._thread = None
        self._writer.release()
        if self._owns_network:
            self.network.close()

    # -- for callbacks --------------------------------------------------------------------------

    @property
    def epochs(self) -> int:
        """Epochs in all."""
        return self.task.settings.epochs

    @property
    def seconds(self) -> float:
        """Seconds of training so far, resumed parts included, pauses left out."""
        return self._reporter.seconds

    @property
    def learning_rate(self) -> float:
        """Rate of the next step."""
        return self.loop.learning_rate

    def loop_or_none(self) -> EpochLoop | None:
        """The loop, or None before the training began."""
        return self._loop

    @property
    def loop(self) -> EpochLoop:
        """The loop of the training under way; DataError before it began."""
        if self._loop is None:
            raise DataError("training has not started", who=self.task.name)
        return self._loop

    def set_learning_rate(self, rate: float) -> None:
        """Use a fixed rate from the next step on."""
        self.control.set_learning_rate(rate)

    def stop_training(self, reason: str = "") -> None:
        """End after this epoch (on the training thread)."""
        self._place.stop_wanted, self._place.stop_reason = True, reason

    def read_weights(self) -> dict[str, Array]:
        """Parameters and running statistics by tensor name, as stored."""
        return self.network.read()

    def write_weights(self, weights: Mapping[str, Array]) -> None:
        """Put parameters and running statistics back."""
        self.network.write(weights)

    def saved_epochs(self) -> tuple[str, ...]:
        """Names of the epoch checkpoints in the run's folder, the first to remove first."""
        return self._writer.saved_epochs(self._place.epoch)

    def say(self, text: str) -> None:
        """Tell the user one sentence."""
        self.said.emit(text)

    def save_checkpoint(self, name: str) -> str:
        """Write a checkpoint into the run's folder; its name, empty where there is none."""
        return "" if self.run_folder is None else self._writer.save(name, self.checkpoint())

    def save_again(self) -> StudioError | None:
        """Write what of the run could not be written; why that fails again, if it does."""
        return self._writer.save_again()

    def remove_checkpoint(self, name: str) -> None:
        """Delete a checkpoint of the run."""
        self._writer.remove(name)

    def checkpoint(self) -> Checkpoint:
        """Everything needed to go on from here (on the training thread, between steps)."""
        place = self._place
        return checkpoint_of(
            self.network, self.loop, (place.epoch, place.in_epoch), self.history, self.callbacks,
            self.control.learning_rate, self._reporter.seconds,
            place.stop_reason if place.stop_wanted else None,
        )  # fmt: skip

    # -- the training ---------------------------------------------------------------------------

    def _train(self) -> TrainingResult:
        self._prepare()
        settings, place = self.task.settings, self._place
        outcome: Outcome = "early" if place.stop_wanted else "finished"
        if self._writer.is_over:
            # The run stays as it is; callbacks may put the weights it ended with back.
            self._end_callbacks()
            return self._result(outcome)
        backend = self.network.backend
        self._writer.begin(
            backend.device, self.task.data_hash, backend.choices, self.task.category_columns
        )
        self._begun = True
        self._reporter.begin(self.loop, place.epoch)
        self.steps.begin(self.loop)
        self.loop.saving = self._writer.saving(self.checkpoint)
        self._writer.mark("restart" if self._resumed else "start", self.loop.total_step)
        while place.epoch < settings.epochs and not place.stop_wanted:
            if not self._epoch(place.epoch):
                outcome = "stopped"
                break
            outcome = "early" if place.stop_wanted else "finished"
        if outcome == "stopped":
            self.save_checkpoint("last")
        self._end_callbacks()
        self._writer.save_end(self.checkpoint, stopped=outcome == "stopped")
        result = self._result(outcome)
        verdict = None if result.verdict is None else result.verdict.to_json()
        self._summarise(outcome, place.stop_reason, verdict=verdict)
        return replace(result, unsaved=self._writer.unsaved)

    def _end_callbacks(self) -> None:
        for callback in self.callbacks:
            callback.on_train_end()
        self._reporter.watch.halt()

    def _result(self, outcome: Outcome) -> TrainingResult:
        return TrainingResult(
            outcome,
            self._place.stop_reason,
            dict(self.history.history),
            tuple(self.history.epoch),
            self.loop.total_step,
            self._reporter.watch.seconds,
            self._writer.unsaved,
            self._reporter.seconds,
            self._verdict(),
        )

    def _verdict(self) -> Verdict | None:
        """Why nothing was learned; None where that cannot be said, as before an epoch is done."""
        before = self._weights
        if before is None and self._owns_network:
            before = initial_weights(self.task.graph, self.task.settings.seed)
        return judge(self.network, self.loop, self.history, before)

    def _prepare(self) -> None:
        settings, samples = self.task.settings, self.task.training_samples()
        require_room(self.network)
        feeder = feeder_for(
            self.network, "train", samples, settings.batch_size, settings.seed,
            settings.data_budget * _MIB,
        )  # fmt: skip
        loop = self._loop = EpochLoop(self.network, feeder, self.control, self._report)
        loop.sampler = self._sampler
        loop.rate_changed.connect(self._writer.mark_rate)
        self._place = _Place(self._initial_epoch)
        self._batch_ends = BatchEndCalls(loop, self.callbacks)
        if self._resumed is not None:
            self.network.write(self._resumed.tensors, STATE_ROLES, who="checkpoint")
        elif self._owns_network:
            self.network.initialise(settings.seed)
        if self._weights is not None:
            self.network.write(self._weights)
            self._warm_up(loop)
        for batch, lengths in feeder.step_forms:
            self.network.executable("train", batch, lengths)
        for callback in (self.history, *self.callbacks):
            callback.set_training(self)
            callback.on_train_begin()
        loop.begin(0)
        if self._resumed is not None:
            self._take_back(self._resumed, loop)

    def _warm_up(self, loop: EpochLoop) -> None:
        """Take optimiser slots and the count of steps from a training before."""
        if self._slots is not None:
            self.network.write(self._slots.tensors, (Role.SLOT,))
            loop.total_step = self._slots.position.total_step

    def _take_back(self, found: Checkpoint, loop: EpochLoop) -> None:
        """Stand where the checkpoint was made."""
        restore_step_block(self.network, found)
        position = found.position
        require_place(position, loop)
        if self.network.exchange is None or self.network.exchange.rank == 0:
            restore_counts(self.network, found)
        loop.total_step = position.total_step
        loop.begin(position.step, position.rows, position.sums)
        self._place.epoch, self._place.in_epoch = position.epoch, position.step > 0
        if found.stop_reason is not None:
            self.stop_training(cleaned(found.stop_reason))
        loop.rates.fix(found.learning_rate, loop.total_step)
        self.history.restore(found.history, {})
        restore_callbacks(self.callbacks, found)

    def _epoch(self, epoch: int) -> bool:
        """One epoch with its validation and callbacks; False when it was stopped."""
        loop, place, settings = self.loop, self._place, self.task.settings
        if not place.in_epoch:
            loop.begin(0)
            for callback in (self.history, *self.callbacks):
                callback.on_epoch_begin(epoch)
        place.in_epoch = True
        if settings.stop_on_nan:
            place.snapshot = snapshot_of(self.network)
            place.snapshot_step, place.snapshot_total = loop.step, loop.total_step
        self.steps.skip()
        self._reporter.begin_steps(loop)
        whole = loop.run(epoch, settings.shuffle)
        self._reporter.end_steps(loop, epoch)
        if loop.bad_step is not None and settings.stop_on_nan:
            raise self._cause(epoch, loop.bad_step)
        if not whole and (loop.bad_step is None or self.control.stop_wanted):
            return False
        logs = loop.metrics_reader.means()
        if self.task.validation is not None:
            measured = self._evaluator.evaluate(self.task.validation)
            logs |= {f"val_{name}": value for name, value in measured.items()}
        logs["learning_rate"] = loop.rates.rate(max(0, loop.total_step - 1))
        place.epoch, place.in_epoch = epoch + 1, False
        self.history.note_start(loop.trace.start)
        self._writer.add_metrics(epoch, logs)
        for callback in (self.history, *self.callbacks):
            callback.on_epoch_end(epoch, logs)
        self._report(logs)
        self.epoch_ended.emit(epoch, logs)
        return True

    def _cause(self, epoch: int, bad_step: int) -> Exception:
        place = self._place
        diagnosis = NanDiagnosis(
            self.network, self.loop.feeder, self.loop.rates, place.snapshot, place.snapshot_step,
            place.snapshot_total,
        )  # fmt: skip
        return diagnosis.find(epoch, self.task.settings.shuffle, bad_step)

    def _report(self, logs: Mapping[str, float] | None = None) -> None:
        place, report = self._place, self._reporter.report
        self.steps.flush()
        self.progress.emit(report(self.loop, place.epoch, in_epoch=place.in_epoch, logs=logs))

    def _summarise(self, state: MarkKind, reason: str, **more: object) -> None:
        steps = 0 if self._loop is None else self._loop.total_step
        device = self.network.backend.device
        found = summary_of(state, reason, device, self.history, steps, self.seconds)
        self._writer.end(state, steps, {**found, **more})


def _all_callbacks(task: Task, own: Sequence[Callback], *, recorded: bool) -> list[Callback]:
    """Those given, then those of the settings; checkpoints last, behind what they record."""
    settings = task.settings
    found: list[Callback] = list(own)
    if settings.early_stopping is not None:
        found.append(settings.early_stopping)
    found.extend(settings.callbacks)
    if recorded:
        found.append(settings.checkpoints)
    return found
