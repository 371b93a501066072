"""The root of the studio's models: makes and connects them, opens and closes documents.

Views reach every model through `Studio`; it knows no views and no Qt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.discovery import import_modules
from studio.engine.core.errors import InternalError, MemoryShortageError, NumericError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.task import Task
from studio.engine.train.project.trusted_data import FILE as TRUSTED_DATA
from studio.engine.train.project.trusted_data import TrustedData
from studio.engine.train.runs.run_folder import RunFolder, latest_run
from studio.session.compile.annotations import AnnotationModel
from studio.session.compile.compilation import Compilation
from studio.session.compile.problems import ProblemItem, ProblemList, Repair, of_error
from studio.session.compile.selection import SelectionBus
from studio.session.core import entities
from studio.session.core.action_table import ActionRegistry, ActionTable, AnyAction
from studio.session.core.preferences import Preferences
from studio.session.core.recent import RecentFiles
from studio.session.core.scheduling import Scheduler
from studio.session.core.tasks import TaskList
from studio.session.core.theme import Theme
from studio.session.core.user_keys import UserKeys
from studio.session.data.cache import DatasetCache
from studio.session.data.data import DataModel
from studio.session.document.adding.connection_history import ConnectionHistory
from studio.session.document.adding.palette import load_palette, save_palette
from studio.session.document.adding.published_blocks import PublishedBlocks
from studio.session.document.adding.quick_add import QuickAdd
from studio.session.document.document import Change, Document
from studio.session.evaluation.evaluation import EvaluationModel
from studio.session.export.exporting import ExportModel
from studio.session.importing.importing import ImportModel
from studio.session.live.culprit import Culprit, FailedStep
from studio.session.live.imported import ImportedFiles
from studio.session.live.scheduler import budget
from studio.session.live.sources import NetworkAtRest
from studio.session.live.tensors import LiveTensors
from studio.session.notices.connecting import Reconnect
from studio.session.notices.logbook import Logbook, LogEvents
from studio.session.notices.notices import Notice, NoticeAction, Notices, Severity
from studio.session.notices.remedies import Remedies
from studio.session.notices.settling import DOCUMENT, SAVE, TRAINING, WEIGHTS, NoticeSettling
from studio.session.preview.preview import NodePreviews
from studio.session.profiling.profiling import ProfilingModel
from studio.session.runs.curves_display import CurvesDisplay
from studio.session.runs.restoring import RunRestoring
from studio.session.runs.runs import RunList
from studio.session.safety.recovery import Recovery
from studio.session.sweeps.sweeps import SweepModel
from studio.session.tensor_view.pointing import LinkedCursor
from studio.session.training.device import ContextFactory
from studio.session.training.place import TrainingPlace
from studio.session.training.state import State, TrainingOutcome
from studio.session.training.training import TrainingModel

NO_PROJECT = "no project is open"
COVERED = "the welcome page is shown"

_LOG = logging.getLogger(__name__)


def _tables() -> list[ActionTable[Studio]]:
    """The action tables, one in each module of `studio.session.actions`."""
    names = import_modules("studio.session.actions")
    return [import_module(name).ACTIONS for name in names]


def _no_context() -> None:
    return None


class _Devices:
    """Which kind of device each choice of a backend opens; OpenGL is a GPU until it is known.

    Args:
        changed: called when a device is known.
    """

    def __init__(self, changed: Callable[[], object]) -> None:
        self._known = {"gl": GL}
        self._changed = changed

    def found(self, choice: str, target: Target) -> None:
        """Note which kind of device was opened for a choice."""
        if target.name != CPU.name:
            self._known["gl"] = target
        if choice == "auto":
            self._known[choice] = target
        self._changed()

    def of(self, choice: str) -> Target:
        """The kind of device a choice opens, as far as it is known."""
        return self._known.get(choice, CPU)


class WelcomeState:
    """Whether the window shows the project or the welcome page; says why actions must wait.

    There is always a document. Behind the welcome page, a document without a file and without
    changes does not count as an open project; any other does.
    """

    def __init__(self, document: Callable[[], Document]) -> None:
        self.changed: Signal[[]] = Signal()
        self._document = document
        self.is_welcoming = False

    def set_welcoming(self, on: bool) -> None:
        """The window shows the welcome page, or the project."""
        if on != self.is_welcoming:
            self.is_welcoming = on
            self.changed.emit()

    def why_no_project(self) -> str:
        """Why there is no project to do anything with; empty when there is."""
        document = self._document()
        untouched = document.path is None and not document.dirty
        return NO_PROJECT if self.is_welcoming and untouched else ""

    def why_out_of_sight(self) -> str:
        """Why the project cannot be seen; empty when it can."""
        return self.why_no_project() or (COVERED if self.is_welcoming else "")

    def why_not(self, action: AnyAction) -> str:
        """Why an action cannot be done with the project as it stands; empty when it can."""
        if action.needs == "sight" or action.context != "window":
            return self.why_out_of_sight()
        return self.why_no_project() if action.needs == "project" else ""


class Studio:
    """Everything one window works on.

    Args:
        scheduler: the window's thread.
        dirs: the user's folders.
        contexts: makes the provider of an OpenGL context that the window shares.
    """

    def __init__(
        self, scheduler: Scheduler, dirs: AppDirs, contexts: ContextFactory = _no_context
    ) -> None:
        self.document_replaced: Signal[[Document]] = Signal()
        self.pane_wanted: Signal[[str]] = Signal()  # the id of one the user asked to work in
        self.scheduler = scheduler
        self.dirs = dirs
        self.notices = Notices()
        self.log = Logbook(scheduler)
        self.preferences = Preferences(dirs.config / "preferences.json")
        self.theme = Theme()
        self.tasks = TaskList(scheduler, self.fail)
        self.welcome_state = WelcomeState(self._document)
        self.actions = ActionRegistry(self.fail, self.welcome_state.why_not, UserKeys(dirs.config))
        self.bus = SelectionBus()
        self.document = Document.new()
        self.recent = RecentFiles(dirs.state / "recent.json", dirs.cache / "thumbnails")
        self.recovery = Recovery(dirs.state, scheduler, self.tasks, self._fail_to_keep)
        self._make_models(contexts)
        self._join()
        self._follow(self.document)

    def _make_models(self, contexts: ContextFactory) -> None:
        scheduler, tasks, preferences = self.scheduler, self.tasks, self.preferences
        document = self._document
        datasets = DatasetCache(TrustedData(self.dirs.config / TRUSTED_DATA, (self.dirs.data,)))
        self.data = DataModel(document, tasks, datasets)
        self.quick_add = QuickAdd(ConnectionHistory(self.dirs.state / "connections.json"))
        self.palette = load_palette(
            self.dirs.state / "palette.json", PublishedBlocks(self.dirs.config / "blocks")
        )
        self._devices = _Devices(lambda: self.compilation.retarget())
        self.compilation = Compilation(scheduler, tasks, self._target, datasets.open)
        self.training = TrainingModel(
            document, scheduler, tasks, preferences, self.dirs.data, contexts=contexts,
            dataset=datasets.open, said=self._training_said,
            place=TrainingPlace(self.dirs.state / "cluster.json"),
        )  # fmt: skip
        self.culprit = Culprit(document, self.training)
        self.remedies = Remedies(document, self.training, self.notices)
        self.runs = RunList(self.training, scheduler, tasks, self.fail)
        self.sweeps = SweepModel(
            document, scheduler, tasks, preferences, datasets.open, self.fail, self._training_said,
        )  # fmt: skip
        self.evaluation = EvaluationModel(
            self.training, self.runs, tasks, preferences, datasets.open
        )
        test = self.evaluation.test_run
        self.restoring = RunRestoring(document, self.training, self.runs, tasks, test)
        self.plots = CurvesDisplay(self.training, self.runs)
        self.problems = ProblemList(self.bus)
        self.annotations = AnnotationModel(
            lambda: self.compilation.provenance, lambda: self.compilation.provenances
        )
        self.profiling = ProfilingModel(
            scheduler, tasks, preferences, self.dirs.cache, self._task, self.fail, self._name_of,
        )  # fmt: skip
        self.live = LiveTensors(scheduler, tasks, budget)
        self._imported = ImportedFiles(document)
        self.linked_cursor = LinkedCursor()
        self.previews = NodePreviews(scheduler, tasks, self.compilation, self.live)
        memory = self.dirs.state / "exports.json"
        self.exporting = ExportModel(document, tasks, self._run, datasets, memory)
        self.importing = ImportModel(document, tasks, datasets, self.dirs.data, self.runs.imported)

    def _join(self) -> None:
        self.log.follow_notices(self.notices)
        self.log.follow_logging()
        self._log_events = LogEvents(self.log, self.compilation, self.training)
        for table in _tables():
            self.actions.attach(table, self)
        self.welcome_state.changed.connect(self.actions.refresh)
        self._settling = NoticeSettling(self.notices, self.actions, self.data, self.training)
        self._remote = Reconnect(self.notices, self.training, self.tasks, self.live, self.profiling)
        self.compilation.changed.connect(self._compiled)
        self.data.read_again.connect(self._data_read_again)
        self.training.started.connect(self._training_started)
        self.training.ended.connect(self._training_ended)
        self.training.closing.connect(self._network_closing)
        self.training.state_changed.connect(self._training_state_changed)
        self.sweeps.runs_changed.connect(self.runs.refresh)
        budget.follow(self.training, self.profiling, self.scheduler)
        self.profiling.device_found.connect(self._devices.found)
        self.live.kept_changed.connect(self.compilation.keep)
        self.culprit.changed.connect(self._culprit_changed)
        self.problems.tensor_wanted.connect(self._open_tensor_view)
        self.preferences.changed.connect(self._preference_changed)
        self.importing.recorded.connect(self._rest)
        self.restoring.restored.connect(self._rest)

    # -- telling the user -----------------------------------------------------------------------

    def notify(
        self,
        text: str,
        severity: Severity = "info",
        action: NoticeAction | None = None,
        details: str = "",
        *,
        about: str = "",
    ) -> Notice:
        """Tell the user something, without standing in the way.

        Args:
            text: one sentence.
            action: a word for a button and what it does.
            details: what to do about it, or more about it.
            about: what settles it, see `Notices.settle`. What is about ``document`` or a part of
                it is settled when another project is opened.
        """
        return self.notices.add(text, severity, action, details, about=about)

    def _fail_to_keep(self, error: StudioError) -> None:
        """Report that unsaved work could not be written to the journal; saving settles it."""
        self.fail(error, SAVE)

    def fail_unexpectedly(self, error: BaseException) -> None:
        """Tell the user that a part of the studio is broken; the log must have the traceback."""
        what = InternalError("", error).message
        self.notices.add(
            "An internal error occurred; your work is not lost",
            "error", self._show_in_log(what), what, in_log=True,
        )  # fmt: skip

    def fail(self, error: StudioError, about: str = "") -> None:
        """Tell the user what went wrong.

        Args:
            about: what settles it; by default that the action under way is done after all.
        """
        about = about or self._settling.refused()
        if isinstance(error, InternalError):
            self.notices.add_error(error, self._show_in_log(error.message), about)
        elif error.code != "cancelled":
            self.notices.add_error(error, about=about)

    def _show_in_log(self, text: str) -> NoticeAction:
        return ("Show the log", lambda: self.log.point_at(text))

    # -- documents ------------------------------------------------------------------------------

    def open(self, path: Path | str) -> Document:
        """Open a project in place of the one open now; StudioError when it cannot be read."""
        document = Document.open(path)
        self.replace(document)
        self.recent.add(Path(path), document.title)
        return document

    def new(self) -> Document:
        """Begin an empty project in place of the one open now."""
        document = Document.new()
        self.replace(document)
        return document

    def replace(self, document: Document) -> None:
        """Work on another document; the caller has asked about unsaved work."""
        self.bus.leave_document()
        self.training.follow()
        self.live.rest_on(None)
        self.profiling.forget()
        self.evaluation.follow()
        self.exporting.follow()
        self.importing.follow()
        self.tasks.leave_document()
        self.live.leave_document()
        self.document.changed.disconnect(self._document_changed)
        self.document.saved.disconnect(self._document_saved)
        self.document = document
        self._follow(document)
        self.runs.follow()
        self._remote.follow()
        self.document_replaced.emit(document)
        for warning in document.warnings:
            self.notify(warning, "warning", about=DOCUMENT)

    def close(self) -> None:
        """End everything that runs; the models cannot be used after this."""
        tensors = (self.profiling, self.previews, self.live)
        for model in (*tensors, self.evaluation, self.runs, self.sweeps, self.training):
            model.close()
        self.compilation.follow(None)
        self.recovery.close()
        self.tasks.close()
        try:
            save_palette(self.palette, self.dirs.state / "palette.json")
            self.quick_add.history.save()
        except StudioError as error:
            _LOG.warning("what was used last is not kept: %s", error)
        self.log.close()

    # -- joints ---------------------------------------------------------------------------------

    def _document(self) -> Document:
        return self.document

    def _follow(self, document: Document) -> None:
        document.changed.connect(self._document_changed)
        document.saved.connect(self._document_saved)
        self._settling.follow(document)
        self.problems.follow(document)
        self.annotations.follow(document)
        self.data.follow(document)
        self.sweeps.follow(document)
        self.compilation.follow(document)
        self.previews.follow(document)
        for holder in self.recovery.follow(document):
            self.notify(
                f"This project is open in another window (process {holder.process.pid})", "warning",
                about=DOCUMENT,
            )  # fmt: skip

    def _document_changed(self, change: Change) -> None:
        self.bus.forget(entities.node(gone) for gone in change.removed)
        self.training.document_changed(change)

    def _document_saved(self) -> None:
        self.runs.document_saved()

    def _data_read_again(self) -> None:
        """Compile again: the files have changed, though the document has not."""
        self.problems.provide_error("data", self.data.error, self._ids())
        self.compilation.compile_now()

    def _compiled(self) -> None:
        self.bus.use(self.compilation.provenance)
        # What the checks of the graph say stands in the list already.
        error = self.compilation.error if self.document.report.is_valid else None
        source = "data" if error is not None and error.code == "data" else "compiler"
        ids, stop = self._ids(), self.compilation.stop
        if stop is not None and stop.node:
            ids[stop.error.who] = stop.node
        for each in ("data", "compiler"):
            self.problems.provide_error(each, error if each == source else None, ids)
        self._rest()

    def _rest(self, *_brought: object) -> None:
        """Show the step a training broke at, else initial weights where nothing was trained."""
        task, step = self._task(), self.culprit.shown
        if step is not None:
            self.live.rest_on(step)
        elif task is not None and not self.training.has_weights:
            self.live.rest_on(self._imported.beginning(task))

    def _culprit_changed(self) -> None:
        self._rest()
        self._tell_problem()

    def _training_started(self, trainer: Trainer) -> None:
        self.problems.provide_error("training", None, self._ids())
        self.live.started(trainer)
        self.profiling.follow(trainer)

    def _training_state_changed(self, state: State) -> None:
        """The device has made its kernels once steps run: the views show them."""
        self.live.expect(state == "preparing" and self.live.trainer is None)
        trainer = self.training.trainer
        if trainer is None or state not in ("running", "paused"):
            return
        self._devices.found(self.preferences.text("backend"), trainer.network.backend.target)
        self.compilation.use_executables(trainer.network.live.executables)

    def _preference_changed(self, name: str) -> None:
        if name == "backend":
            self.compilation.compile_now()

    def _training_ended(self, outcome: TrainingOutcome) -> None:
        trainer, run = self.training.trainer, self.training.run
        self.profiling.unfollow()
        resting = None
        if trainer is not None and self.training.has_weights:
            label = "trained weights" if run is None else f"weights of run {run.name}"
            steps = self.training.status.steps
            resting = NetworkAtRest(
                trainer.network, label, steps, lambda: self.training.lineage.replaced
            )
        self.live.ended(resting)
        self._tell_problem()
        if (
            isinstance(outcome.error, NumericError)
            and outcome.error.tensors
            and trainer is not None
        ):
            found = of_error("training", outcome.error, self._ids()).entity
            node_id = "" if found is None else found.key
            self.culprit.keep(FailedStep(outcome.error, trainer.network, node_id))
        if outcome.error is not None:
            self._tell_failure(outcome.error)
        elif outcome.unsaved is not None:
            self._tell_unsaved(outcome.unsaved)
        told = outcome.verdict
        if told is not None:
            self._settling.failed_in()
            again = self.remedies.learning_rate(told.suggested_rate)
            self.notify(told.headline, "warning", again, told.evidence, about=TRAINING)

    def _tell_problem(self) -> None:
        """List why the last training failed, unless that was in a network that is another now."""
        error, kept, shown = self.training.error, self.culprit.kept, self.culprit.shown
        error = None if kept is not None and shown is None else error
        tensor = None if shown is None else shown.entity
        self.problems.provide_error("training", error, self._ids(), tensor)
        verdict = self.training.verdict
        if verdict is not None:
            text, again = self.remedies.learning_rate(verdict.suggested_rate)
            repair = Repair(text, "from initial weights", again)
            item = ProblemItem(
                "training:verdict", "warning", "training", verdict.text,
                place=self.document.title, find_repairs=lambda: (repair,),
            )  # fmt: skip
            self.problems.provide("training", (item,))

    def _tell_failure(self, error: StudioError) -> None:
        """Why the training failed, with a way to the layer it failed in."""
        found = (item for item in self.problems.items if item.source == "training")
        culprit = next((item for item in found if item.entity is not None), None)
        self._settling.failed_in()
        if isinstance(error, MemoryShortageError) and error.fitting:
            self._settling.failed_in(fitting=error.fitting)
            self.notices.add_error(error, self.remedies.batch_size(error.fitting), TRAINING)
        elif culprit is None or culprit.entity is None:
            self.fail(error, TRAINING)
        elif error.code != "cancelled":
            self._settling.failed_in(culprit.entity.key)
            show = partial(self._show_culprit, self.culprit.kept, culprit)
            self.notices.add_error(error, ("Show culprit", show), TRAINING)

    def _show_culprit(self, step: FailedStep | None, item: ProblemItem) -> None:
        """Lead to the layer a training failed in, and to the tensor where one was kept."""
        if step is not self.culprit.kept or (step is None and item not in self.problems.items):
            self.notify(
                "Another training or project was opened: that step is no longer available",
                "warning",
            )
        elif step is not None and step is not self.culprit.shown:
            text = "The network changed since that training: undo the changes to see the step"
            self.notify(text, "warning")
        else:
            self.problems.go_to(item)

    def _open_tensor_view(self) -> None:
        if "pane.tensor_view" in self.actions and not self.actions.is_checked("pane.tensor_view"):
            self.actions.trigger("pane.tensor_view")

    def _training_said(self, text: str, is_warning: bool) -> None:
        self.notify(f"{text[:1].upper()}{text[1:]}", "warning" if is_warning else "info")

    def _tell_unsaved(self, error: StudioError) -> None:
        """The weights are in this window only: say so, and let it be tried again."""

        def again() -> None:
            self.training.save_again(self._saved, self._tell_unsaved)

        text = f"The trained weights could not be saved: {error.message}"
        self.notify(text, "error", ("Save again", again), error.hint, about=WEIGHTS)

    def _saved(self) -> None:
        self.notices.settle(WEIGHTS)
        self.notify("The trained weights were saved", "ok")
        self.runs.refresh()

    def _network_closing(self, _trainer: Trainer) -> None:
        self.profiling.unfollow()
        self.live.ended()
        self.compilation.use_executables(())
        self.culprit.keep(None)
        self.live.rest_on(self._imported.beginning(self._task()))

    def _target(self) -> Target:
        """The kind of device programs are shown for: the one trained on last, or the wish."""
        trainer = self.training.trainer
        if trainer is not None:
            return trainer.network.backend.target
        return self._devices.of(self.preferences.text("backend"))

    def _run(self) -> RunFolder | None:
        last = self.training.run
        if last is not None and last.path.is_dir():
            return last
        return None if self.document.path is None else latest_run(self.document.project())

    def _name_of(self, node_id: str) -> str:
        node = self.document.state.nodes.get(node_id)
        return node_id if node is None else node.name

    def _ids(self) -> dict[str, str]:
        """Ids of the layers by the names the user gave them."""
        return {node.name: node_id for node_id, node in self.document.state.nodes.items()}

    def _task(self) -> Task | None:
        result = self.compilation.result
        return None if result is None else result.task
