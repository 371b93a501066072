"""One training: prepared in the background, run on a thread of its own, followed to its end."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock

from studio.engine.core.errors import DataError, InternalError, StudioError
from studio.engine.core.interruption import interrupted_by
from studio.engine.train.loop.progress import Progress
from studio.engine.train.loop.resuming import ResumePoint, beyond_an_early_stop, point_of
from studio.engine.train.loop.starting import begin_as_set
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.project.project import SUFFIX, Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.marks import Mark
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import StepChunk
from studio.session.compile.compilation_result import OpenData
from studio.session.core.metric_names import named_outputs
from studio.session.core.scheduling import Scheduler
from studio.session.core.tasks import CancelledError, TaskHandle, TaskList
from studio.session.plots.curves import RunCurves, load_curves
from studio.session.training.device import Device, LentContext
from studio.session.training.events import (
    EpochEnded,
    TrainingEvent,
    TrainingEvents,
    TrainingMessage,
    TrainingStarted,
)
from studio.session.training.network import SharedNetwork
from studio.session.training.session_base import AnySession, Begun
from studio.session.training.state import BUSY, Compiling, State, TrainingOutcome

_LOG = logging.getLogger(__name__)

UNTITLED = "untitled"


@dataclass(frozen=True)
class Plan:
    """What is to be trained, where, and recorded where.

    Attributes:
        project: network, data and settings; its folder is where relative data paths start.
        runs: folder that gets the run.
        choice: the device: ``auto``, ``gl`` or ``cpu``.
        context: provider of the OpenGL context, if the window has one to share.
        run: the run to go on with, or None for a new one.
        epochs: epochs in all where that differs from the project's settings.
    """

    project: Project
    runs: Path
    choice: str
    context: LentContext | None = None
    run: RunFolder | None = None
    epochs: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared(Begun):
    """A training that can start here.

    Attributes:
        trainer: what trains.
        events: what it emits, for the window.
    """

    trainer: Trainer
    events: TrainingEvents

    @property
    def trainer_here(self) -> Trainer | None:
        """What trains."""
        return self.trainer


def runs_folder(path: Path | None, data: Path, uuid: str) -> Path:
    """Where the runs of a project are kept.

    Args:
        path: the project's file; without one, its runs are kept with the user's data.
        data: folder of the user's data.
        uuid: names a project without a file.
    """
    if path is not None:
        return path.with_suffix(".runs")
    return data / UNTITLED / uuid / f"{UNTITLED}.runs"


def prepare(
    plan: Plan,
    device: Device,
    dataset: OpenData,
    told: Callable[[], object],
    step: Callable[[str], object],
) -> Prepared:
    """Open data and device, make the run's folder and the trainer.

    Args:
        device: opens the backend.
        dataset: opens data sets, or has them open.
        told: called on the training thread when there is news.
        step: hears what comes next; raises to stop.

    Raises:
        StudioError: what data, graph, device or the folder refuse.
    """
    project = plan.project.with_training(epochs=plan.epochs)
    step("opening the data")
    if project.data is None:
        raise DataError(
            "there is no data to train on", who=project.name, hint="choose data for the project"
        )
    task = Task.of_project(project, dataset(project.data, project.folder))
    point = None if plan.run is None else point_of(plan.run)
    step("opening the device")
    opened = device.open(plan.choice, plan.context)
    step("creating the run")
    run = plan.run or _new_run(project, plan.runs)
    outputs = named_outputs(task.graph)
    curves = RunCurves(run.name, outputs) if plan.run is None else load_curves(run, outputs)
    try:
        trainer = Trainer(task, opened.backend, run=run)
        events = TrainingEvents(trainer, run, told)
        if point is not None:
            _resume(trainer, point, curves.elapsed, project)
        else:
            _begin(trainer, replace(project, path=plan.runs.with_suffix(SUFFIX)))
    except StudioError as error:
        if plan.run is None:
            run.write_summary({"state": "failed", "reason": error.message, "started": run.name})
        raise
    return Prepared(
        trainer=trainer, run=run, curves=curves, events=events, why=opened.why, project=project
    )


def _begin(trainer: Trainer, project: Project) -> None:
    """Begin with the weights that the settings ask for; imported ones lie among the runs."""
    try:
        text = begin_as_set(trainer, project)
    except BaseException:
        trainer.close()
        raise
    if text:
        trainer.said.emit(text)


def _resume(trainer: Trainer, point: ResumePoint, seconds: float, project: Project) -> None:
    """Go on from there; behind an early stop, since more was asked for."""
    try:
        trainer.resume(beyond_an_early_stop(point.checkpoint), seconds, project)
        point.require_newest()
    except BaseException:
        trainer.close()
        raise


def _new_run(project: Project, runs: Path) -> RunFolder:
    # A project that has no file is recorded as if it had one beside its runs.
    try:
        runs.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
        why = "a part of the path is not a folder" if in_the_way else error.strerror
        raise DataError(
            f"runs cannot be recorded here: {why}",
            who=str(runs.parent),
            hint="save the project in a writable folder",
        ) from error
    recorded = replace(project, path=runs.with_suffix(SUFFIX))
    return RunFolder.create(recorded, datetime.now(UTC))


class TrainingSession(AnySession):
    """A training on this machine; used on the window's thread.

    Args:
        device: opens the backend.
        dataset: opens data.
        said: hears sentences for the user, and whether they are warnings.
    """

    def __init__(
        self,
        plan: Plan,
        scheduler: Scheduler,
        tasks: TaskList,
        device: Device,
        dataset: OpenData,
        said: Callable[[str, bool], object],
    ) -> None:
        super().__init__(plan.epochs or plan.project.training.epochs, scheduler, said)
        self.prepared: Prepared | None = None
        self._plan = plan
        self._tasks = tasks
        self._device = device
        self._dataset = dataset
        self._lock = Lock()
        self._entered = False
        self._made: Prepared | None = None
        self._ready = Event()
        self._pause_wanted = False
        self._stop_wanted = False
        self._first: Callable[[], object] | None = None
        self._before: Callable[[], object] = _nothing

    # -- what is wanted -------------------------------------------------------------------------

    def begin(self, context: LentContext | None, before: Callable[[], object]) -> None:
        """Prepare, then train.

        Args:
            context: provider of the OpenGL context, if the window has one to share.
            before: closes what the training before has left; called in the background.
        """
        plan, self._before = replace(self._plan, context=context), before

        def step(text: str) -> None:
            self._scheduler.post(lambda: self._tell_doing(text))

        def check() -> None:
            if self._stop_wanted or self._abandoned:
                raise CancelledError("training was stopped", who="training")

        def work(_: TaskHandle) -> None:
            with self._lock:
                if self._abandoned:
                    return
                self._entered = True
            try:
                before()
                self._before = _nothing
                with interrupted_by(check):
                    self._made = prepare(
                        plan, self._device, self._dataset, self._throttle.ask, step
                    )
            except StudioError:
                # The failure of a training that was left is not reported.
                if not self._abandoned:
                    raise
            finally:
                self._ready.set()

        self._tasks.start(
            f"Prepare the training of {plan.project.name}", work, self._launch, self._failed,
            quiet=True, if_left="finish",
        )  # fmt: skip

    def pause(self) -> None:
        """Stand still after the step that runs now, or before the first."""
        if self.state not in ("preparing", "running"):
            return
        self._pause_wanted = True
        if self.prepared is not None:
            self.prepared.trainer.control.pause()
        if self.state == "running":
            self._enter("pausing")

    def resume(self) -> None:
        """Go on after a pause."""
        self._pause_wanted, self._first = False, None
        if self.prepared is not None and self.state in ("pausing", "paused"):
            self.prepared.trainer.control.resume()

    def stop(self) -> None:
        """End after the step that runs now."""
        if self.state not in BUSY:
            return
        self._stop_wanted = True
        if self.prepared is not None:
            self.prepared.trainer.control.stop()
        self._enter("stopping")

    def step_batch(self) -> None:
        """Run one step and stand still."""
        if self.network is None or self.prepared is None:
            self._pause_wanted, self._first = True, self.step_batch
        else:
            self._pause_wanted = True
            self.prepared.trainer.control.step(1)

    def step_epoch(self) -> None:
        """Run to the end of the epoch and stand still."""
        if self.network is None or self.prepared is None:
            self._pause_wanted, self._first = True, self.step_epoch
            return
        self._pause_wanted = True
        trainer = self.prepared.trainer

        def to_the_end() -> None:
            # On the training thread, which alone knows how many steps are left.
            loop = trainer.loop
            trainer.control.step(loop.feeder.steps - loop.step or loop.feeder.steps)

        trainer.control.call(to_the_end)

    def run_moved(self, run: RunFolder) -> None:
        """The run's folder lies elsewhere now; not while it trains."""
        if self.prepared is not None and self.state not in BUSY:
            self.prepared = replace(self.prepared, run=run)

    # -- closing --------------------------------------------------------------------------------

    def leave(self) -> Callable[[], None]:
        """Hear nothing of it any more; what is returned closes it, and waits for that."""
        self._throttle.close()
        with self._lock:
            self._abandoned = True
        return self._close

    def _close(self) -> None:
        if not self._entered:
            # It was left before its preparation began, which would have closed the last training.
            self._before()
            return
        self._ready.wait()
        prepared = self._made
        if prepared is not None:
            if self.outcome is not None and self.outcome.unsaved is not None:
                # The last chance: there may be room again, or the folder be back.
                prepared.trainer.save_again()
            (self.network or SharedNetwork(prepared.trainer)).close()

    # -- beginning ------------------------------------------------------------------------------

    @property
    def begun(self) -> Begun | None:
        """The run and what was recorded, once it is prepared."""
        return self.prepared

    def _launch(self, _: None) -> None:
        """Everything is there: run."""
        # Not before: what the window shows must not change while it is being shown.
        made = self.prepared = self._made
        if made is None or self._abandoned:
            return
        self.network = SharedNetwork(made.trainer)
        control = self.rate_taker = made.trainer.control
        if self._stop_wanted:
            control.stop()
        if self._pause_wanted:
            control.pause()
        control.changed.connect(self._control_changed)
        future = made.trainer.start()
        future.add_done_callback(self._done)
        self.launched.emit(made.trainer)
        if self._first is not None:
            self._first()
        self.changed.emit()

    # -- hearing, on the training thread --------------------------------------------------------

    def _control_changed(self, _state: str) -> None:
        # Not through the relay, which may be resting: a pause is to be seen at once.
        self._scheduler.post(self._take_events)

    def _done(self, future: Future[TrainingResult]) -> None:
        self._scheduler.post(lambda: self._end(future))

    # -- hearing, on the window's thread --------------------------------------------------------

    def _take_events(self) -> None:
        made = self.prepared
        if made is None or self._abandoned:
            return
        while made.events.queue:
            self._take(made, made.events.queue.popleft())
        self._follow_control(made)
        self.changed.emit()

    def _take(self, made: Prepared, event: TrainingEvent) -> None:
        curves = made.curves
        if isinstance(event, StepChunk):
            curves.add(event)
        elif isinstance(event, Progress):
            self._take_progress(event)
        elif isinstance(event, EpochEnded):
            curves.add_epoch(event.step, event.numbers)
        elif isinstance(event, TrainingStarted):
            header = event.header
            curves.begin_part(header.size, header.metrics, event.step, header.began)
            if self.state == "preparing":
                self._enter("running")
        elif isinstance(event, Mark):
            curves.mark(event)
            if event.kind == "learning_rate":
                # A training that stands still reports nothing else of it.
                rate = made.trainer.learning_rate if math.isnan(event.value) else event.value
                self.status = replace(self.status, learning_rate=rate)
        elif isinstance(event, Compiling):
            self.compiling = event
            self._tell_doing("compiling kernels")
        elif isinstance(event, TrainingMessage):
            self._said(event.text, event.is_warning)

    def _follow_control(self, made: Prepared) -> None:
        """Show the state the training thread is in."""
        if self.state not in BUSY or self.state in ("preparing", "stopping"):
            return
        state = made.trainer.control.state
        if state in ("paused", "stopping"):
            self._enter("paused" if state == "paused" else "stopping")
        elif state == "running" and not (self.state == "pausing" and self._pause_wanted):
            self._enter("running")

    def _end(self, future: Future[TrainingResult]) -> None:
        made = self.prepared
        if made is None or self._abandoned:
            return
        self._take_events()
        error = future.exception()
        if error is not None:
            self._failed(_as_studio_error(error))
            return
        result = future.result()
        state: State = "stopped" if result.outcome == "stopped" else "finished"
        self._finish(
            TrainingOutcome(
                state,
                result.reason,
                None,
                result.last,
                result.total_seconds,
                result.unsaved,
                result.verdict,
            )
        )

    def _failed(self, error: StudioError) -> None:
        if self._abandoned:
            return
        if isinstance(error, CancelledError):
            self._finish(TrainingOutcome("stopped"))
            return
        status = self.status
        self._finish(TrainingOutcome("failed", "", error, status.metrics, status.elapsed))


def _nothing() -> None:
    """Nothing was left to close."""


def _as_studio_error(error: BaseException) -> StudioError:
    if isinstance(error, StudioError):
        return error
    found = InternalError("training failed", error, who="training")
    _LOG.error("%s", found.message, exc_info=error)
    return found
