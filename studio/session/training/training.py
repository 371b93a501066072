"""The training of the document: start, pause, step, stop, go on, and where it stands."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from studio.engine.core.errors import ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.scale.remote.tickets import remove_ticket, ticket_of
from studio.engine.train.loop.control import HIGHEST_RATE
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import require_free
from studio.session.compile.compilation_result import OpenData, open_data
from studio.session.core.preferences import Preferences
from studio.session.core.scheduling import Debounce, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.training.cluster_session import ClusterPlan, ClusterSession
from studio.session.training.device import ContextFactory, Device
from studio.session.training.place import TrainingPlace
from studio.session.training.session import Plan, Prepared, TrainingSession, runs_folder
from studio.session.training.session_base import EVENT_SECONDS, AnySession, Watched
from studio.session.training.staleness import GraphDifference, Lineage, graph_difference
from studio.session.training.state import BUSY, State, TrainingOutcome

_LOG = logging.getLogger(__name__)

NO_DATA = "no data is chosen"
_COMPARE_SECONDS = 0.15


def _no_context() -> None:
    return None


class TrainingModel(Watched):
    """Trains the network of the document and tells the views; used on the window's thread.

    ``changed`` comes at most ten times a second. ``started`` comes with the trainer before its
    first step, ``ended`` after its last; the network stays open until
    ``closing``.

    Args:
        preferences: ``backend`` says where to train.
        data: folder of the user's data, for runs of projects without a file.
        contexts: makes the provider of an OpenGL context that the window shares.
        dataset: opens data sets, or has them open.
        said: hears sentences for the user, and whether they are warnings.
        place: where trainings are sent.

    ``sent`` comes in place of ``started`` for a training elsewhere, once it has its run.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        scheduler: Scheduler,
        tasks: TaskList,
        preferences: Preferences,
        data: Path,
        *,
        contexts: ContextFactory = _no_context,
        dataset: OpenData = open_data,
        said: Callable[[str, bool], object] | None = None,
        place: TrainingPlace | None = None,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.state_changed: Signal[[State]] = Signal()
        self.started: Signal[[Trainer]] = Signal()
        self.sent: Signal[[RunFolder]] = Signal()
        self.ended: Signal[[TrainingOutcome]] = Signal()
        self.closing: Signal[[Trainer]] = Signal()
        self.staleness_changed: Signal[[]] = Signal()
        self._document = document
        self._scheduler = scheduler
        self._tasks = tasks
        self._preferences = preferences
        self._data = data
        self._contexts = contexts
        self._dataset = dataset
        self._said = said or _log_sentence
        self.place = place or TrainingPlace()
        self._device = Device(scheduler)
        super().__init__()
        self._event_seconds = EVENT_SECONDS
        self.staleness = ""
        """How the trained network differs from the one drawn; empty where it does not."""
        self._difference_found: GraphDifference | None = None
        self.lineage = Lineage()
        self._compare = Debounce(scheduler, _COMPARE_SECONDS, self.check_staleness)

    # -- where it stands ------------------------------------------------------------------------

    @property
    def runs_path(self) -> Path:
        """The folder of the document's runs."""
        document = self._document()
        return runs_folder(document.path, self._data, document.uuid)

    # -- the weights and the canvas -------------------------------------------------------------

    @property
    def is_stale(self) -> bool:
        """Whether the network on the canvas is another than the one that was trained."""
        return bool(self.staleness)

    @property
    def difference(self) -> GraphDifference | None:
        """What differs, layer by layer; None where nothing does, or nothing can be said."""
        return self._difference_found if self.staleness else None

    def document_changed(self, change: Change) -> None:
        """The network on the canvas may be another: compare them once it rests."""
        self.lineage.follow(change)
        if self.trained_project is not None and not change.only_places:
            self._compare.ask()

    def check_staleness(self) -> None:
        """Compare what was trained with the document."""
        found, trained = "", self.trained_project
        if trained is not None:
            now, replaced, busy = self._document(), self.lineage.replaced, self.is_busy
            self._difference_found, found = _difference(trained, now, replaced, is_busy=busy)
        if found != self.staleness:
            self.staleness = found
            self.staleness_changed.emit()

    # -- starting -------------------------------------------------------------------------------

    def why_not_start(self) -> str:
        """Why no training can begin now, in a few words; empty when one can."""
        if self.is_busy:
            return "a training is running"
        report = self._document().report
        if not report.is_valid:
            count = len(report.errors)
            return "the graph has a problem" if count == 1 else f"the graph has {count} problems"
        return "" if self._document().project().data is not None else NO_DATA

    def start(self) -> None:
        """Train the document from fresh weights, or go on after a pause."""
        if self._session is not None and self.is_busy:
            self._session.resume()
        else:
            self._begin()

    def step_batch(self) -> None:
        """Run one step and stand still; begins a training where there is none."""
        if self.is_busy or self._begin():
            self._with_session(lambda session: session.step_batch())

    def step_epoch(self) -> None:
        """Run to the end of the epoch and stand still; begins a training where there is none."""
        if self.is_busy or self._begin():
            self._with_session(lambda session: session.step_epoch())

    def go_on(self, epochs: int | None = None) -> None:
        """Go on with the last training, after it was stopped or has finished.

        Args:
            epochs: epochs in all; as many more as before where they are all done.

        Raises:
            StudioError: the run cannot be read.
        """
        if self.run is not None:
            self.resume_run(self.run, epochs)

    def resume_run(self, run: RunFolder, epochs: int | None = None) -> None:
        """Go on with a recorded run from its last checkpoint, with the network it had.

        Args:
            epochs: epochs in all; as many more as before where they are all done.

        Raises:
            StudioError: its settings cannot be read, nothing is left to train, or another process
                trains it.
        """
        if self.is_busy:
            return
        require_free(run.path)
        project = run.project()
        head, planned = run.last_head(), project.training.epochs
        # Not what was recorded: a full disk may have kept the weights of later epochs away.
        done = 0 if head is None else head.position.epoch
        wanted = epochs or (planned if done < planned else done + planned)
        if wanted <= done:
            raise ParameterError(
                f"{done} epochs are done: choose more than {done}, got {wanted}", who=run.name
            )
        if self.run is None or self.run.path != run.path:
            self.lineage.begin(self._document().state)
        if self.place.address:
            if ticket_of(run) is not None:
                self.connect_again(run)
            else:
                self._send(project.with_training(epochs=wanted), run.path.parent, run)
            return
        # What of it is on a cluster is left there: it goes on here.
        remove_ticket(run.path)
        plan = Plan(project, run.path.parent, self._preferences.text("backend"), None, run, wanted)
        self._open(plan)

    def connect_again(self, run: RunFolder) -> None:
        """Follow a run that trains on a cluster again, where it is.

        Raises:
            StudioError: its settings cannot be read, or another process follows it.
        """
        ticket = ticket_of(run)
        if self.is_busy or ticket is None:
            return
        require_free(run.path)
        if self.run is None or self.run.path != run.path:
            self.lineage.begin(self._document().state)
        self._send(run.project(), run.path.parent, run, ticket.address, is_again=True)

    # -- while it runs --------------------------------------------------------------------------

    def pause(self) -> None:
        """Stand still after the step that runs now."""
        self._with_session(lambda session: session.pause())

    def toggle_pause(self) -> None:
        """Pause, or go on."""
        if self.state in ("pausing", "paused"):
            self._with_session(lambda session: session.resume())
        else:
            self.pause()

    def stop(self) -> None:
        """End after the step that runs now; what was trained is kept."""
        self._with_session(lambda session: session.stop())

    def set_event_seconds(self, seconds: float) -> None:
        """Tell how a training stands no more often than this, so that the window rests."""
        self._event_seconds = seconds
        self._with_session(lambda session: session.set_event_seconds(seconds))

    def run_moved(self, run: RunFolder) -> None:
        """The folder of the last training lies elsewhere now."""
        self._with_session(lambda session: session.run_moved(run))

    def save_again(
        self, done: Callable[[], object], failed: Callable[[StudioError], object]
    ) -> None:
        """Write what of the last training could not be written into its run's folder.

        Args:
            done: hears that everything is there.
            failed: hears why it is not.
        """
        network = self.network
        if network is None:
            return

        def work(_: TaskHandle) -> None:
            error = network.use(lambda _: network.trainer.save_again())
            if error is not None:
                raise error

        def written(_: None) -> None:
            if self._session is not None and self._session.network is network:
                self._session.saved()
            done()

        self._tasks.start("Save the trained weights", work, written, failed, if_left="finish")

    def set_learning_rate(self, rate: float) -> None:
        """Use another learning rate from the next step on.

        Raises:
            ParameterError: it is below 0, or larger than single precision knows.
        """
        if not 0.0 <= rate <= HIGHEST_RATE:
            raise ParameterError(
                f"expected a number from 0 to {HIGHEST_RATE:g}, got {rate:g}", who="learning rate"
            )
        session = self._session
        if session is not None and session.state in BUSY and session.rate_taker is not None:
            session.rate_taker.set_learning_rate(rate)

    def reset(self) -> None:
        """Forget the weights trained last; the run stays where it is recorded."""
        if not self.is_busy:
            self.follow()

    def follow(self) -> None:
        """Another document is open: end what trains and forget its weights."""
        if self._session is None:
            return
        close = self._leave()
        self._close_later("Close the network", close)
        self.state_changed.emit("idle")
        self.check_staleness()
        self.changed.emit()

    def close(self) -> None:
        """End everything and close the device; waits for that."""
        self._compare.cancel()
        self._leave()()
        self._device.close_for_good()

    # -- inside ---------------------------------------------------------------------------------

    def _with_session(self, work: Callable[[AnySession], object]) -> None:
        if self._session is not None:
            work(self._session)

    def _begin(self) -> bool:
        if self.why_not_start():
            return False
        document = self._document()
        self.lineage.begin(document.state)
        if self.place.address:
            self._send(document.project(), self.runs_path)
            return True
        self._open(Plan(document.project(), self.runs_path, self._preferences.text("backend")))
        return True

    def _open(self, plan: Plan) -> None:
        close = self._leave()
        session = self._session = TrainingSession(
            plan, self._scheduler, self._tasks, self._device, self._dataset, self._said
        )
        self._hear(session)
        session.launched.connect(self._launched)
        wants_context = plan.choice != "cpu" and not self._device.is_open(plan.choice)
        session.begin(self._contexts() if wants_context else None, close)
        self._tell_begin()

    def _send(
        self, project: Project, runs: Path, run: RunFolder | None = None, address: str = "", *,
        is_again: bool = False,
    ) -> None:  # fmt: skip
        """Train on a cluster, the one chosen unless told, or follow what trains there again."""
        close = self._leave()
        wanted = ClusterPlan(
            address or self.place.address, project, runs, self._preferences.text("backend"), run,
            is_again,
        )  # fmt: skip
        session = ClusterSession(wanted, self._scheduler, self._tasks, self._said)
        self._session = session
        self._hear(session)
        session.sent.connect(self.sent.emit)
        session.begin(close)
        self._tell_begin()

    def _hear(self, session: AnySession) -> None:
        session.set_event_seconds(self._event_seconds)
        session.changed.connect(self.changed.emit)
        session.state_changed.connect(self.state_changed.emit)
        session.ended.connect(self._ended)

    def _tell_begin(self) -> None:
        self.state_changed.emit("preparing")
        self.check_staleness()
        self.changed.emit()

    def _leave(self) -> Callable[[], None]:
        """Take leave of the last training; what is returned closes it, and waits for that."""
        session, self._session = self._session, None
        if session is None:
            return lambda: None
        if isinstance(session, TrainingSession):
            # One elsewhere goes on.
            session.stop()
        if isinstance(session.begun, Prepared):
            self.closing.emit(session.begun.trainer)
        return session.leave()

    def _launched(self, trainer: Trainer) -> None:
        self.check_staleness()
        self.started.emit(trainer)

    def _ended(self, outcome: TrainingOutcome) -> None:
        is_here = isinstance(self._session, TrainingSession)
        if is_here and outcome.error is not None and outcome.error.code == "backend":
            # The device may be lost: nothing on it is of use any more.
            close = self._leave_network()
            self._close_later("Close the device", close)
        self.check_staleness()
        self.ended.emit(outcome)

    def _close_later(self, title: str, close: Callable[[], None]) -> None:
        self._tasks.start(title, lambda _: close(), _nothing, quiet=True, if_left="finish")

    def _leave_network(self) -> Callable[[], None]:
        session = self._session
        network = None if session is None else session.network
        if session is not None and isinstance(session.begun, Prepared):
            self.closing.emit(session.begun.trainer)

        def close() -> None:
            if network is not None:
                network.close()
            self._device.close()

        return close


def _difference(
    trained: Project, document: Document, replaced: frozenset[str], *, is_busy: bool
) -> tuple[GraphDifference | None, str]:
    """What differs between what was trained and the document, and the same as a sentence."""
    whose = "the weights are of an older graph"
    if is_busy:
        whose = "the graph in training differs from the canvas"
    try:
        found = graph_difference(trained.graph, document.project().graph)
        found = replace(found, replaced=tuple(sorted(replaced)))
    except StudioError:
        return None, f"{whose}: the canvas has problems"
    return found, "" if found.is_empty else f"{whose}: {found.text}"


def _nothing(_: None) -> None:
    """There is nothing to report."""


def _log_sentence(text: str, is_warning: bool) -> None:
    _LOG.log(logging.WARNING if is_warning else logging.INFO, "%s", text)
