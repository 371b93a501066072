"""One training on a cluster: a process follows it into its run's folder, and is heard here."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from studio.engine.core.errors import BackendError, StudioError
from studio.engine.scale.remote import messages
from studio.engine.scale.remote.messages import FollowRequest, Line, Order, event_of
from studio.engine.scale.sweep.connection import require_dask
from studio.engine.scale.sweep.worker_process import WorkerProcess
from studio.engine.train.loop.progress import Progress
from studio.engine.train.project.project import Project
from studio.engine.train.runs.marks import BEGINNINGS, Mark
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import StepChunk
from studio.session.core.metric_names import named_outputs
from studio.session.core.scheduling import Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.plots.curves import RunCurves, Segment, load_curves
from studio.session.training.session_base import AnySession, Begun
from studio.session.training.state import BUSY, Compiling, State, TrainingOutcome

FOLLOWER = "studio.engine.scale.remote.follower"
_STATES: dict[str, State] = {"running": "running", "paused": "paused", "stopping": "stopping"}


@dataclass(frozen=True)
class ClusterPlan:
    """What is to be trained on a cluster, or followed again.

    Attributes:
        address: of the cluster.
        project: network, data and settings, with the epochs wanted.
        runs: folder of the runs.
        choice: device there.
        run: the run to go on with, or to connect to again; None for a new one.
        is_again: whether it is under way there.
    """

    address: str
    project: Project
    runs: Path
    choice: str
    run: RunFolder | None = None
    is_again: bool = False

    @property
    def request(self) -> FollowRequest:
        """The same for the process that follows it."""
        path, name = self.project.path, "" if self.run is None else self.run.name
        order = Order(
            name, self.project.to_json(), None, self.choice,
            resumes=self.run is not None, passes_stop=True,
        )  # fmt: skip
        return FollowRequest(
            self.address, None if self.is_again else order, "" if path is None else str(path),
            str(self.runs), name,
        )  # fmt: skip


class ClusterSession(AnySession):
    """A training on a cluster; used on the window's thread.

    Nothing of it is stopped when it is left: it goes on there.
    """

    def __init__(
        self, wanted: ClusterPlan, scheduler: Scheduler, tasks: TaskList,
        said: Callable[[str, bool], object],
    ) -> None:  # fmt: skip
        super().__init__(wanted.project.training.epochs, scheduler, said)
        self.address, self.is_sent = wanted.address, wanted.is_again
        self.rate_taker = self
        self._wanted = wanted
        self._tasks = tasks
        self._begun: Begun | None = None
        self._lock = Lock()
        self._process: WorkerProcess | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._early: list[tuple[str, float | None]] = []
        self._lines: deque[Line | None] = deque()
        self._is_loading = False
        self._is_left = False
        self._known_steps = self._known_wall = 0.0
        self._why = ""

    @property
    def begun(self) -> Begun | None:
        """The run, once it is there and what was recorded of it is read."""
        return self._begun

    def begin(self, before: Callable[[], object]) -> None:
        """Send it; ``before`` closes what the training before has left, in the background."""
        self._tell_doing(f"connecting to {self.address}")

        def work(_: TaskHandle) -> None:
            before()
            require_dask()
            with self._lock:
                if self._is_left:
                    return
                self._folder = tempfile.TemporaryDirectory(
                    prefix="glassbox-", ignore_cleanup_errors=True
                )
                made = WorkerProcess(1, Path(self._folder.name), self._heard, FOLLOWER)
                made.send(request=self._wanted.request.to_json())
                for do, value in self._early:
                    made.send(do=do, value=value)
                self._process = made

        self._tasks.start(
            f"Send {self._wanted.project.name} to the cluster", work, _nothing, self._failed,
            quiet=True, if_left="finish",
        )  # fmt: skip

    # -- what is wanted -------------------------------------------------------------------------

    def pause(self) -> None:
        """Stand still after the step that runs now there, or before the first."""
        if self.state not in ("preparing", "running"):
            return
        self._tell("pause")
        if self.state == "running":
            self._enter("pausing")

    def resume(self) -> None:
        """Go on after a pause."""
        if self.state in ("pausing", "paused"):
            self._tell("resume")

    def stop(self) -> None:
        """End it there after the step that runs now; what was trained is fetched."""
        if self.state in BUSY:
            self._tell("stop")
            self._enter("stopping")

    def step_batch(self) -> None:
        """Run one step there and stand still."""
        self._tell("step_batch")

    def step_epoch(self) -> None:
        """Run to the end of the epoch there and stand still."""
        self._tell("step_epoch")

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate there from the next step on."""
        self._tell("rate", rate)

    def run_moved(self, run: RunFolder) -> None:
        """The run's folder lies elsewhere now; not while it trains."""
        if self._begun is not None and self.state not in BUSY:
            self._begun = replace(self._begun, run=run)

    def leave(self) -> Callable[[], None]:
        """Hear nothing of it any more; it goes on there."""
        self._throttle.close()
        self._abandoned = True
        return self._close

    def _close(self) -> None:
        with self._lock:
            self._is_left = True
            process, folder = self._process, self._folder
            self._process = self._folder = None
        if process is not None:
            process.close()
        if folder is not None:
            folder.cleanup()

    def _tell(self, do: str, value: float | None = None) -> None:
        """Tell the training there; what is asked before it was sent goes along with it."""
        with self._lock:
            if self._process is None:
                self._early.append((do, value))
            else:
                self._process.send(do=do, value=value)

    # -- hearing --------------------------------------------------------------------------------

    def _heard(self, line: Line | None) -> None:
        """A message of the process, on its reader's thread; None at its end."""
        self._lines.append(line)
        self._throttle.ask()

    def _take_events(self) -> None:
        while self._lines and not self._is_loading and not self._abandoned:
            line = self._lines.popleft()
            if self.state not in BUSY:
                continue
            if line is None:
                why = f"the connection to {self.address} was lost"
                self._lose(f"{why}; the training goes on there")
            elif messages.RUN in line:
                self._read(RunFolder(Path(str(line[messages.RUN]))))
            else:
                self._take(event_of(line))
        if not self._abandoned:
            self.changed.emit()

    def _read(self, run: RunFolder) -> None:
        """Read what was recorded before; what comes meanwhile waits."""
        self._is_loading = self.is_sent = True
        outputs = named_outputs(self._wanted.project.graph)

        def taken(curves: RunCurves) -> None:
            self._is_loading = False
            if self._abandoned:
                return
            if curves.segments:
                # Epochs are written at once, steps a little later: those in between are to come.
                last = curves.segments[-1]
                ends = (series.last_step for series in last.steps.values())
                self._known_steps = max(ends, default=float(last.first))
            self._known_wall = max((mark.wall for mark in curves.marks), default=0.0)
            self._begun = Begun(run=run, curves=curves, why=self._why, project=self._wanted.project)
            self.sent.emit(run)
            self._take_events()

        self._tasks.start(
            f"Read the run {run.name}", lambda _: load_curves(run, outputs), taken, self._failed,
            quiet=True,
        )  # fmt: skip

    def _take(self, event: messages.RemoteEvent | None) -> None:
        begun = self._begun
        if isinstance(event, Progress):
            self._take_progress(event)
        elif isinstance(event, messages.Entered):
            self._follow_state(event.state)
        elif isinstance(event, messages.Compiled):
            self.compiling = Compiling(event.done, event.total)
            self._tell_doing("compiling kernels")
        elif isinstance(event, messages.Said):
            self._said(event.text, event.is_warning)
        elif isinstance(event, messages.Opened):
            self._why = f"{event.why}; on the cluster at {self.address}"
            if begun is not None:
                self._begun = replace(begun, why=self._why)
        elif isinstance(event, messages.Ended):
            self._end(event)
        elif isinstance(event, messages.Failed):
            self._failed(event.error)
        elif isinstance(event, messages.Lost):
            if event.goes_on:
                self._lose(event.why)
            else:
                hint = "continue the run from the last checkpoint that arrived"
                self._failed(BackendError(event.why, who=self.address, hint=hint))
        elif begun is not None and event is not None:
            self._draw(begun.curves, event)

    def _draw(self, curves: RunCurves, event: messages.RemoteEvent) -> None:
        """Add to the curves what they do not have: after connecting again much is said twice."""
        if isinstance(event, messages.Began):
            if self._wanted.is_again and curves.segments:
                return
            header, self._known_steps = event.header, float(event.step)
            curves.begin_part(header.size, header.metrics, event.step, header.began)
            if self.state == "preparing":
                self._enter("running")
        elif isinstance(event, StepChunk):
            missed = round(self._known_steps) - event.first
            if missed >= len(event.values) or not curves.metrics:
                return
            if missed < 0 or not curves.segments:
                curves.segments.append(Segment(event.first))
            curves.add(_behind(event, missed) if missed > 0 else event)
            self._known_steps = float(event.first + len(event.values))
        elif isinstance(event, messages.EpochDone):
            epochs = curves.segments[-1].epochs.values() if curves.segments else ()
            if curves.segments and event.step > max((e.last_step for e in epochs), default=-1.0):
                curves.add_epoch(event.step, event.numbers)
        elif isinstance(event, Mark) and event.wall > self._known_wall:
            if event.kind not in BEGINNINGS:
                curves.mark(event)
            if event.kind == "learning_rate":
                self.status = replace(self.status, learning_rate=event.value)

    def _follow_state(self, state: str) -> None:
        if state == "waiting":
            self._tell_doing("waiting until a worker is free")
        elif state in _STATES and self.state in BUSY and self.state != "stopping":
            self._enter(_STATES[state])

    # -- the end --------------------------------------------------------------------------------

    def _end(self, event: messages.Ended) -> None:
        result = event.result
        state: State = "stopped" if result.outcome == "stopped" else "finished"
        metrics = {} if self.curves is None else self.curves.last_epoch
        self._finish(
            TrainingOutcome(
                state, result.reason, None, metrics, result.total_seconds, result.unsaved,
                result.verdict,
            )
        )  # fmt: skip

    def _lose(self, why: str) -> None:
        status = self.status
        self._finish(
            TrainingOutcome("stopped", why, None, status.metrics, status.elapsed, is_lost=True)
        )

    def _failed(self, error: StudioError) -> None:
        self._is_loading = False
        if error.who == "--cluster":
            # Said in the words of the command, which has an option for it.
            hint = error.hint.replace("leave --cluster out", "train on this computer")
            error = BackendError(error.message, who="cluster", hint=hint)
        if not self._abandoned and self.state in BUSY:
            status = self.status
            self._finish(TrainingOutcome("failed", "", error, status.metrics, status.elapsed))


def _behind(chunk: StepChunk, missed: int) -> StepChunk:
    """A chunk without its first steps."""
    share = missed / len(chunk.values)
    began, ended = chunk.wall
    first, last = chunk.relative
    return StepChunk(
        chunk.first + missed, chunk.values[missed:], (began + share * (ended - began), ended),
        (first + share * (last - first), last),
    )  # fmt: skip


def _nothing(_: None) -> None:
    """The process speaks for itself."""
