"""A dry run: some steps of a training, only to measure them; its weights are thrown away."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from studio.engine.profiler.steady_work import SteadyWork
from studio.engine.profiler.totals import Peaks
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.peaks import is_gpu
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.step_sampling import StepSampler, StepWindow
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from studio.engine.train.settings import MAX_EPOCHS
from studio.session.core.tasks import TaskHandle
from studio.session.profiling.measurement import RISES_IN, Subject
from studio.session.profiling.peaks import PeakStore

_ENOUGH_WINDOWS = 8
_FEW_WINDOWS = 2
_LONG_SECONDS = 3.0
_COMPILING_SHARE = 0.4


@dataclass(frozen=True)
class DryRun:
    """What a dry run gave.

    Attributes:
        subject: what was measured.
        windows: its steps, those of the warm-up left out.
        peaks: the device's peaks.
        seconds: how long it took in all.
    """

    subject: Subject
    windows: tuple[StepWindow, ...]
    peaks: Peaks
    seconds: float


def dry_run(task: Task, choice: str, store: PeakStore, handle: TaskHandle) -> DryRun:
    """Train for a moment on the task's data, watched; settings and files stay untouched.

    Args:
        task: what would be trained.
        choice: ``auto``, ``gl`` or ``cpu``.
        store: where the device's peaks are kept; measured here when they are not.

    Raises:
        CancelledError: the user stopped it.
        StudioError: what data, compiler or backend refuse.
    """
    begun = time.perf_counter()
    handle.progress(0.0, "opening the device")
    with open_backend(choice) as opened:
        backend = opened.backend
        subject, windows = _watched_steps(_unrecorded(task), backend, handle)
        handle.progress(0.9, "measuring the device's peaks")
        peaks = store.find(backend.fingerprint) or store.measure(backend)
    return DryRun(subject, windows, peaks, time.perf_counter() - begun)


def _unrecorded(task: Task) -> Task:
    """The task without anything that writes, measures between epochs or ends early."""
    settings = task.settings.replace(
        epochs=MAX_EPOCHS, early_stopping=None, callbacks=(), stop_on_nan=False
    )
    return replace(task, settings=settings, validation=None)


def _watched_steps(
    task: Task, backend: Backend, handle: TaskHandle
) -> tuple[Subject, tuple[StepWindow, ...]]:
    with Trainer(task, backend) as trainer:
        compiling = _compiling(handle)
        trainer.compiling.connect(compiling)
        ending = _StopWhenMeasured(trainer, handle, RISES_IN if is_gpu(backend) else 0.0)
        sampler = StepSampler(backend.clocks(), interval=0.01, share=0.25, told=ending.window_ended)
        trainer.watch_steps(sampler)
        trainer.run()
        handle.check()
        found = sampler.take()
        windows = found[max(0, len(found) - ending.windows) :]
        program = trainer.network.program("train")
    return Subject.of(backend, program, "dry run", sees_studio=False), tuple(windows)


class _StopWhenMeasured:
    """Ends a dry run when it has seen enough; called on the training thread.

    Args:
        rises_in: seconds of steps that do not count.

    Attributes:
        windows: how many count, the last ones.
    """

    def __init__(self, trainer: Trainer, handle: TaskHandle, rises_in: float) -> None:
        self._trainer = trainer
        self._handle = handle
        self._rises_in = rises_in
        self.windows = 0
        self._work = SteadyWork()
        self._first: float | None = None
        self._last = 0.0

    def window_ended(self) -> None:
        """Count a window."""
        now = time.perf_counter()
        if self._first is None:
            # The first window holds the first step ever, in which drivers finish their compiling.
            self._first = now
        else:
            self._work.add(now, now - self._last)
            # Once some count, all that follow do: they are the last ones.
            if self.windows or self._work.seconds >= self._rises_in:
                self.windows += 1
        self._last = now
        long = now - self._first >= _LONG_SECONDS and self.windows >= _FEW_WINDOWS
        if self._handle.cancelled or long or self.windows >= _ENOUGH_WINDOWS:
            self._trainer.control.stop()
            return
        done = self.windows / _ENOUGH_WINDOWS
        self._handle.progress(_COMPILING_SHARE + done * (0.9 - _COMPILING_SHARE), "running steps")


def _compiling(handle: TaskHandle) -> Callable[[int, int], None]:
    def compiling(done: int, total: int) -> None:
        handle.progress(_COMPILING_SHARE * done / max(1, total), "compiling kernels")

    return compiling
