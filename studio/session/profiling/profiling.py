"""The profiler: live from sampled steps of the running training, frozen, or from a dry run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from studio.engine.compiler.target import Target
from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.profiler.totals import Peaks
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.step_sampling import StepSampler
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from studio.session.compile.provenance import SYNTHETIC, Provenance
from studio.session.core.preferences import Preferences
from studio.session.core.scheduling import Handle, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.profiling.columns import csv_text
from studio.session.profiling.dry_run import DryRun, dry_run
from studio.session.profiling.kernel_rows import Grouping, KernelRow
from studio.session.profiling.measurement import Measurement, Subject
from studio.session.profiling.peaks import PeakStore
from studio.session.profiling.step_bar import StepBar

REFRESH_SECONDS = 0.5
SETTLE_SECONDS = 1.5
"""How long opening panes goes on costing a training time it does not cost otherwise."""


class ProfilingModel:
    """Watches the training under way and keeps what was measured last.

    Made on the window's thread, whose share in the time of a step it measures.

    Args:
        preferences: ``backend`` and ``profile_live``.
        cache: the user's cache folder.
        task: what would be trained now; None while the document cannot be.
        name_of: what the user calls a layer, by its id.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        tasks: TaskList,
        preferences: Preferences,
        cache: Path,
        task: Callable[[], Task | None],
        failed: Callable[[StudioError], object],
        name_of: Callable[[str], str] = str,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.state_changed: Signal[[]] = Signal()
        self.device_found: Signal[[str, Target]] = Signal()
        self.quiet_changed: Signal[[bool]] = Signal()
        self.peaks_store = PeakStore(cache / "peaks")
        self.dry_run_seconds: float | None = None
        self._scheduler = scheduler
        self._tasks = tasks
        self._preferences = preferences
        self._task = task
        self._failed = failed
        self._name_of = name_of
        self._interface = ThreadClock.of_this_thread()
        self._measured: Measurement | None = None
        self._frozen: Measurement | None = None
        self._is_frozen = False
        self._wants_peaks = False
        self.quiet = False
        """Whether live views rest so that the training has the machine for itself."""
        self._trainer: Trainer | None = None
        self.is_elsewhere = False
        """A training on another machine is under way, which is not measured."""
        self._sampler: StepSampler | None = None
        self._timer: Handle | None = None
        self._settling: Handle | None = None
        self._running: TaskHandle | None = None
        preferences.changed.connect(self._preference_changed)
        tasks.changed.connect(self._tasks_changed)

    # -- what was measured ----------------------------------------------------------------------

    @property
    def measurement(self) -> Measurement | None:
        """What the views show: the latest, or what was frozen; None before any step."""
        shown = self._frozen if self._is_frozen else self._measured
        return shown if shown is not None and shown.samples else None

    @property
    def bar(self) -> StepBar | None:
        """The step, divided."""
        found = self.measurement
        return None if found is None else found.bar

    @property
    def peaks(self) -> Peaks | None:
        """The device's peaks, once they have been measured."""
        found = self.measurement
        return None if found is None else self.peaks_store.find(found.subject.fingerprint)

    def rows(self, by: Grouping = "kernel and layer") -> tuple[KernelRow, ...]:
        """The kernel table, slowest first, layers by the names the user gave them."""
        found = self.measurement
        return () if found is None else self._named(found.rows(by, self.peaks))

    def times_ms(self, shown: Provenance | None = None) -> Mapping[int, float]:
        """Usual milliseconds by running index of the instruction, for views of that program."""
        found = self.measurement
        return {} if found is None else found.times_ms(shown)

    # -- following a training -------------------------------------------------------------------

    @property
    def is_live(self) -> bool:
        """Whether a training under way is being measured."""
        return self._trainer is not None and self._sampler is not None

    @property
    def is_unwatched(self) -> bool:
        """Whether a training is under way that is not measured, as the user chose."""
        return self._trainer is not None and self._sampler is None and not self._wants_live()

    def follow(self, trainer: Trainer) -> None:
        """Measure a training, from now on; on the window's thread."""
        self.unfollow()
        self._trainer = trainer
        self.unsettle()
        self._attach()
        self.state_changed.emit()

    def unsettle(self) -> None:
        """Panes are opened, or take other places: what that costs once is no part of a step.

        The step bar is made of the steps after it; the kernels' times go on being counted.
        """
        self._take()
        if self._settling is not None:
            self._settling.cancel()
        elif self._measured is not None:
            self._measured.restart()
        self._settling = self._scheduler.call_later(SETTLE_SECONDS, self._settled)

    def train_elsewhere(self, is_elsewhere: bool) -> None:
        """A training on another machine is under way, or is over; it is not measured."""
        if is_elsewhere != self.is_elsewhere:
            self.is_elsewhere = is_elsewhere
            self.state_changed.emit()

    def unfollow(self) -> None:
        """The training has ended, or is no longer of interest."""
        if self._trainer is None:
            return
        self._detach()
        self._trainer = None
        self.state_changed.emit()
        self._measure_missing_peaks()

    def forget(self) -> None:
        """Another project is open: times of the last one are not shown as if they were its."""
        self.unfollow()
        self.cancel_dry_run()
        self.dry_run_seconds = None
        self._measured = self._frozen = None
        self._is_frozen = False
        self.state_changed.emit()
        self.changed.emit()

    def close(self) -> None:
        """Measure nothing any more."""
        if self._settling is not None:
            self._settling.cancel()
        self._detach()
        self._trainer = None

    # -- freezing and quiet ---------------------------------------------------------------------

    @property
    def frozen(self) -> bool:
        """Whether the views keep what they showed when it was switched on."""
        return self._is_frozen

    def set_frozen(self, frozen: bool) -> None:
        """Keep what is shown, or follow the latest again."""
        if frozen == self._is_frozen:
            return
        self._frozen = self._measured.copy() if frozen and self._measured is not None else None
        self._is_frozen = frozen
        self.state_changed.emit()
        self.changed.emit()

    def set_quiet(self, quiet: bool) -> None:
        """Stop all live views, measuring included, or let them go on."""
        if quiet == self.quiet:
            return
        self.quiet = quiet
        self._attach_or_detach()
        self.quiet_changed.emit(quiet)
        self.state_changed.emit()

    @property
    def quiet_gain(self) -> float | None:
        """Share of a step that quiet would save by what was measured; None before that."""
        bar = self.bar
        return None if bar is None or not bar.sees_studio else max(0.0, bar.quiet_gain)

    # -- dry run and peaks ----------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a dry run or a calibration is under way."""
        return self._running is not None

    def why_no_dry_run(self) -> str:
        """Why a step cannot be tried now, in a few words; empty when it can."""
        if self._running is not None:
            return "a measurement is running"
        if self._trainer is not None:
            return "a training is running and measured"
        if self._task() is None:
            return "the graph has problems or no data"
        return ""

    def start_dry_run(self) -> None:
        """Run some steps in the background and show what they took."""
        task = self._task()
        if task is None or self.why_no_dry_run():
            return
        choice, store = self._preferences.text("backend"), self.peaks_store
        self._running = self._tasks.start(
            f"Measure a step of {task.name}",
            lambda handle: dry_run(task, choice, store, handle),
            partial(self._dry_run_done, choice),
            self._not_measured,
        )
        self.state_changed.emit()

    def cancel_dry_run(self) -> None:
        """Stop the dry run under way."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
            self.state_changed.emit()

    def why_no_peaks(self) -> str:
        """Why the device cannot be measured now, in a few words; empty when it can."""
        if self._measured is None:
            return "no step was measured yet"
        if self._trainer is not None:
            return "a training is using the device"
        return "a measurement is running" if self._running is not None else ""

    def want_peaks(self) -> None:
        """Measure the device for the roofline as soon as it is free, unless it is known."""
        self._wants_peaks = True
        self._measure_missing_peaks()

    def _measure_missing_peaks(self) -> None:
        found = self._measured
        known = found is None or self.peaks_store.find(found.subject.fingerprint) is not None
        if self._wants_peaks and not known:
            self.measure_peaks()

    def measure_peaks(self) -> None:
        """Measure the peaks of the device last used, known or not."""
        found = self._measured
        if found is None or self.why_no_peaks():
            return
        subject, store = found.subject, self.peaks_store
        choice = "gl" if subject.runs_apart else "cpu"

        def measure(handle: TaskHandle) -> None:
            with open_backend(choice) as opened:
                handle.check()
                store.measure(opened.backend)

        self._running = self._tasks.start(
            f"Measure the peaks of {subject.device}", measure, self._peaks_done, self._not_measured
        )
        self.state_changed.emit()

    # -- export ---------------------------------------------------------------------------------

    def export_trace(self, path: Path, done: Callable[[Path], object]) -> None:
        """Write the instrumented steps as a Chrome trace, which Perfetto opens."""
        self._export(path, lambda found: found.trace(), done)

    def export_csv(self, path: Path, by: Grouping, done: Callable[[Path], object]) -> None:
        """Write the kernel table with all its columns, exact numbers."""
        rows = self.rows(by)
        self._export(path, lambda _: csv_text(rows), done)

    def _export(
        self, path: Path, text: Callable[[Measurement], str], done: Callable[[Path], object]
    ) -> None:
        if self.measurement is None:
            return
        found = self.measurement.copy()

        def write(handle: TaskHandle) -> Path:
            handle.progress(None, "writing")
            write_atomic(path, text(found).encode("utf-8"))
            return path

        self._tasks.start(f"Write {path.name}", write, done, self._failed, if_left="answer")

    # -- inside ---------------------------------------------------------------------------------

    def _named(self, rows: tuple[KernelRow, ...]) -> tuple[KernelRow, ...]:
        owners = {owner for row in rows for owner in row.owners}
        names = {owner: SYNTHETIC.get(owner) or self._name_of(owner) for owner in owners}
        return tuple(replace(row, owners=tuple(names[o] for o in row.owners)) for row in rows)

    def _wants_live(self) -> bool:
        return not self.quiet and self._preferences.flag("profile_live")

    def _preference_changed(self, name: str) -> None:
        if name == "profile_live":
            self._attach_or_detach()
            self.state_changed.emit()

    def _attach_or_detach(self) -> None:
        if self._wants_live():
            self._attach()
        else:
            self._detach()

    def _attach(self) -> None:
        trainer = self._trainer
        if trainer is None or self._sampler is not None or not self._wants_live():
            return
        # Clocks and program are asked for on the training's thread, which may have to wait.
        trainer.control.call(lambda: self._begin_sampling(trainer))
        self._timer = self._scheduler.call_later(REFRESH_SECONDS, self._refresh)

    def _begin_sampling(self, trainer: Trainer) -> None:
        """On the training's thread, between two steps."""
        backend = trainer.network.backend
        sampler = StepSampler(backend.clocks(), self._interface)
        subject = Subject.of(
            backend,
            trainer.network.program("train"),
            "training",
            sees_studio=sampler.can_see_interface,
        )
        self._scheduler.post(lambda: self._sampling(trainer, sampler, subject))

    def _sampling(self, trainer: Trainer, sampler: StepSampler, subject: Subject) -> None:
        """On the window's thread: what was asked for may have changed meanwhile."""
        if trainer is not self._trainer or self._sampler is not None or not self._wants_live():
            return
        known = self._measured
        if known is None or known.subject.program is not subject.program:
            self._measured = Measurement(subject)
        self._sampler = sampler
        trainer.watch_steps(sampler)
        self.state_changed.emit()

    def _detach(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._trainer is not None:
            self._trainer.watch_steps(None)
        self._take()
        self._sampler = None

    def _refresh(self) -> None:
        self._timer = self._scheduler.call_later(REFRESH_SECONDS, self._refresh)
        self._take()

    def _settled(self) -> None:
        self._take()
        self._settling = None

    def _take(self) -> None:
        if self._sampler is None or self._measured is None:
            return
        unsettled = self._settling is not None
        if not self._measured.add(self._sampler.take(), unsettled=unsettled):
            return
        self._raise_peaks()
        if not self._is_frozen:
            self.changed.emit()

    def _raise_peaks(self) -> None:
        """A kernel that is faster than the peaks shows that they are too low."""
        found = self._measured
        if found is None or found.times is None:
            return
        subject = found.subject
        known = self.peaks_store.find(subject.fingerprint)
        raised = None if known is None else found.times.raise_peaks(known)
        if raised is not None and raised != known:
            self.peaks_store.keep(subject.fingerprint, subject.device, raised)

    def _dry_run_done(self, choice: str, found: DryRun) -> None:
        self._running = None
        self.dry_run_seconds = found.seconds
        self._measured = Measurement(found.subject)
        self._measured.add(found.windows)
        self._raise_peaks()
        self._is_frozen, self._frozen = False, None
        self.device_found.emit(choice, found.subject.target)
        self.state_changed.emit()
        self.changed.emit()

    def _not_measured(self, error: StudioError) -> None:
        self._running = None
        self.state_changed.emit()
        if error.code != "cancelled":
            self._failed(error)

    def _tasks_changed(self) -> None:
        """Notice that the user stopped what runs in the list of tasks."""
        if self._running is not None and self._running.cancelled:
            self._running = None
            self.state_changed.emit()

    def _peaks_done(self, _: None) -> None:
        self._running = None
        self._raise_peaks()
        self.state_changed.emit()
        self.changed.emit()
