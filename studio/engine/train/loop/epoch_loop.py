"""Queues the steps of an epoch in chunks, without waiting for numbers, stoppable anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from studio.engine.core.signal import Signal
from studio.engine.profiler.events import Profile
from studio.engine.runtime.backend import Executable
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.listing.debug_output import told_numbers
from studio.engine.train.listing.host_traffic import REPORT_SECONDS
from studio.engine.train.loop.control import UNLIMITED, Control
from studio.engine.train.loop.rates import RateTable
from studio.engine.train.loop.step_sampling import Part, StepSampler
from studio.engine.train.loop.verdict import LossTrace
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.metrics_reader import MetricsReader, Numbers
from studio.engine.train.network.network import Network

CHUNK_SECONDS = 0.03


@dataclass(frozen=True)
class Saving:
    """Checkpoints within an epoch.

    Attributes:
        is_due: whether one is to be written.
        save: writes it, between two steps whose numbers are all in.
    """

    is_due: Callable[[], bool]
    save: Callable[[], object]


class EpochLoop:
    """Runs epochs on the training thread.

    Attributes:
        measured_seconds: seconds of instrumented steps so far.
        measured_rows: rows of those steps.
        rate_changed: emitted with the steps done and a rate that was set, None for the
            optimiser's own, before a step uses it.
        saving: writes checkpoints within the epoch, None for none.
        heard: emitted with the steps done before the first of those whose numbers have come, and
            their numbers, [steps, columns] in the order of ``metrics_reader.labels``.

    Args:
        network: what trains.
        feeder: brings its samples.
        control: what others want of the training.
        report: called about ten times a second, and when all numbers are in.
    """

    def __init__(
        self, network: Network, feeder: DataFeeder, control: Control, report: Callable[[], None]
    ) -> None:
        program = network.program("train")
        self.metrics_reader = MetricsReader(network.session, program, "train", self._heard)
        self.rate_changed: Signal[[int, float | None]] = Signal()
        self.heard: Signal[[int, Numbers]] = Signal()
        # Kept here, since signals hold their listeners weakly.
        self._told = told_numbers(self.metrics_reader.labels)
        if self._told is not None:
            self.heard.connect(self._told)
        self.rates = RateTable(network.session, program, network.task.settings.optimizer)
        self.exchange = network.exchange
        self.trace = LossTrace(feeder.batch_size)
        self.feeder = feeder
        self.step = 0
        self.total_step = 0
        self.bad_step: int | None = None
        self.sampler: StepSampler | None = None
        self.saving: Saving | None = None
        self.measured_seconds = 0.0
        self.measured_rows = 0
        self._network = network
        self._control = control
        self._report = report
        self._chunk = 1
        self._reported = 0.0

    @property
    def learning_rate(self) -> float:
        """The rate of the next step, including one that was set and is not in use yet."""
        rate = self._control.learning_rate
        return self.rates.own(self.total_step) if rate is None else rate

    def begin(self, step: int, rows: int = 0, sums: tuple[float, ...] = ()) -> None:
        """Stand at a step of an epoch whose earlier steps counted ``rows`` and ``sums``."""
        self.step = step
        self.bad_step = None
        self.rates.forget(self.total_step)
        if self.exchange is not None:
            self.exchange.forget_agreements()
        if step == 0:
            self.trace.begin_epoch()
        self.metrics_reader.begin(self.total_step, rows, sums)

    def run(self, epoch: int, shuffle: bool) -> bool:
        """The rest of an epoch; False when it was stopped or the loss became no number.

        The numbers of all steps queued are in when it returns.
        """
        self._lap("waiting")
        whole = all(
            self._run_steps(step_range, epoch)
            for step_range in self.feeder.step_ranges(epoch, shuffle, self.step)
        )
        self.settle()
        return whole and self.bad_step is None

    def settle(self) -> None:
        """Wait for the numbers of all steps queued, and report."""
        self.metrics_reader.finish()
        if self.exchange is not None:
            self.metrics_reader.gather_counts(self.exchange)
        self._lap("steps")
        self._tell(time.perf_counter())
        self._lap("reports")

    def profile(self, steps: int, *, shuffle: bool) -> Profile:
        """Run steps of the first epoch instrumented.

        One more step runs first and is not measured: first calls load and compile.
        """
        step_range = next(self.feeder.step_ranges(0, shuffle))
        self.feeder.position(step_range, step=self.total_step, epoch=0, record=self.total_step)
        self.rates.prepare(self.total_step, 1)
        executable = self._network.executable("train", step_range.batch, step_range.lengths)
        executable.run(1)
        executable.finish()
        return executable.profile(steps)

    def _run_steps(self, step_range: StepRange, epoch: int) -> bool:
        self._network.executable("train", step_range.batch, step_range.lengths)
        self.feeder.position(step_range, step=self.total_step, epoch=epoch, record=self.total_step)
        self._lap("data")
        left = step_range.steps
        while left:
            saves = self._is_to_save()
            if saves or self._control.interrupts():
                self.settle()
            if saves:
                self._save()
            allowed = self._control.gate(self._use_rate)
            self._lap("waiting")
            if not allowed or self._is_bad():
                return False
            # Asked for again, since another program may have taken its place between two steps.
            executable = self._network.executable("train", step_range.batch, step_range.lengths)
            left -= self._queue(executable, step_range, left, counted=allowed < UNLIMITED)
        return True

    def _is_to_save(self) -> bool:
        """Whether a checkpoint is due here; workers agree on it, behind the same step."""
        is_due = self.saving is not None and self.saving.is_due()
        if self.exchange is None:
            return is_due
        self.exchange.wants_save |= is_due
        return self.exchange.save_agreed

    def _save(self) -> None:
        if self.saving is not None and self.bad_step is None:
            self.saving.save()
        if self.exchange is not None:
            self.exchange.forget_save()

    def _is_bad(self) -> bool:
        """Whether to end the epoch for a loss that is no number; all workers end it alike."""
        if self.exchange is None:
            return self.bad_step is not None
        self.exchange.saw_bad |= self.bad_step is not None
        return self.exchange.bad_agreed

    def _queue(
        self, executable: Executable, step_range: StepRange, left: int, *, counted: bool
    ) -> int:
        """Queue one chunk; how many steps it had. Counted steps go one by one."""
        steps = 1 if counted else min(left, self._chunk, self.rates.slots, self.metrics_reader.room)
        self.rates.prepare(self.total_step, steps)
        self.trace.highest_rate = max(self.trace.highest_rate, self.rates.rate(self.total_step))
        self._lap("transfers")
        counts = self.metrics_reader.held_counts() if step_range.idle else {}
        done = self._run(executable, step_range.rows, steps, counted=counted)
        # Before they are read: a row that only fills in must not count.
        self.metrics_reader.hold_counts(counts)
        now = time.perf_counter()
        self.metrics_reader.note(step_range.rows, done)
        self.step += done
        self.total_step += done
        self._control.spend(done)
        self.metrics_reader.collect()
        if not self.metrics_reader.room or now - self._reported >= REPORT_SECONDS:
            self.metrics_reader.ask()
            self._lap("transfers")
            self._tell(now)
        self._lap("reports")
        return done

    def _run(self, executable: Executable, rows: int, steps: int, *, counted: bool) -> int:
        """Run plain steps, or one instrumented where a sampler asks for it."""
        self._network.live.begin(executable, self.total_step)
        sampler, is_full = self.sampler, rows == self.feeder.batch_size
        if sampler is not None and is_full and not counted and sampler.wants():
            done = sampler.run(executable, self.total_step)
            self.measured_seconds += sampler.last_seconds
            self.measured_rows += done * rows
            return done
        began = time.perf_counter()
        done = executable.run(steps, None if counted else self._control.interrupts)
        if done:
            # The chunk follows the pace, so that a stop is heard soon and fast steps cost little.
            pace = max((time.perf_counter() - began) / done, 1e-6)
            self._chunk = max(1, min(2 * self._chunk, int(CHUNK_SECONDS / pace)))
        if sampler is not None:
            sampler.lap("steps" if is_full else "waiting", done)
        return done

    def _lap(self, part: Part) -> None:
        sampler = self.sampler
        if sampler is not None:
            sampler.lap(part)

    def _use_rate(self, rate: float | None) -> None:
        if self.rates.fix(rate, self.total_step):
            self.rates.prepare(self.total_step, 1)
            self.rate_changed.emit(self.total_step, rate)

    def _tell(self, now: float) -> None:
        self._reported = now
        self._report()

    def _heard(self, first: int, numbers: Numbers) -> None:
        losses = numbers[:, 0]
        self.trace.add(losses)
        bad = np.flatnonzero(~np.isfinite(losses))
        if self.bad_step is None and len(bad):
            self.bad_step = self.step_of_epoch(first) + int(bad[0])
        self.heard.emit(first, numbers)

    def step_of_epoch(self, done: int) -> int:
        """How many steps of this epoch were done when ``done`` of all epochs were."""
        return done - (self.total_step - self.step)


class BatchEndCalls:
    """Calls `Callback.on_train_batch_end` of the callbacks that have one.

    The loop gives arrays; a mapping is made for each step, and only where it is wanted.
    """

    def __init__(self, loop: EpochLoop, callbacks: Sequence[Callback]) -> None:
        plain = Callback.on_train_batch_end
        self._wanted = [c for c in callbacks if type(c).on_train_batch_end is not plain]
        self._loop = loop
        if self._wanted:
            loop.heard.connect(self._heard)

    def _heard(self, first: int, numbers: Numbers) -> None:
        batch, labels = self._loop.step_of_epoch(first), self._loop.metrics_reader.labels
        for ahead, row in enumerate(numbers.tolist()):
            logs = dict(zip(labels, row, strict=True))
            for callback in self._wanted:
                callback.on_train_batch_end(batch + ahead, logs)
