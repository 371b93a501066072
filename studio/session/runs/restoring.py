"""Brings a recorded run back: into the open project as one step, or as a project beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.train.importing.branching import (
    branch_path,
    branch_run,
    project_of_run,
    take_weights,
)
from studio.engine.train.project.project import SUFFIX
from studio.engine.train.runs.run_lock import holder_of
from studio.engine.train.runs.weights_origin import WeightsChoice
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.document.document import Document
from studio.session.document.edits.sections import set_training
from studio.session.document.files.project_file import Opened, state_of_project
from studio.session.document.state import DocumentState
from studio.session.runs.records import RunRecord
from studio.session.runs.runs import RunList
from studio.session.training.training import TrainingModel

T = TypeVar("T")


class RunRestoring:
    """Restores and branches runs, one at a time; used on the window's thread.

    ``restored`` comes with the run and the weights that were taken on, once the document has its
    graph; ``branched`` with the file of the new project and what the run is called; ``failed`` with
    why nothing was restored.

    Args:
        document: the open one.
        training: nothing is restored while it is busy.
        runs: lists the runs.
        tasks: reads and writes files in the background.
        test: has the weights of a run tested.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        training: TrainingModel,
        runs: RunList,
        tasks: TaskList,
        test: Callable[[str, WeightsChoice | None], object],
    ) -> None:
        self.restored: Signal[[RunRecord, WeightsChoice | None]] = Signal()
        self.branched: Signal[[Path, str]] = Signal()
        self._document = document
        self._training = training
        self._runs = runs
        self._tasks = tasks
        self.failed: Signal[[StudioError]] = Signal()
        self._test = test
        self._task: TaskHandle | None = None

    # -- whether --------------------------------------------------------------------------------

    def why_not(self, name: str, weights: WeightsChoice | None) -> str:
        """Why a run cannot be restored with these weights, or without, in a few words."""
        run = self._runs.run(name)
        if run is None:
            return "the run does not exist"
        if self._training.is_busy:
            return "a training is running"
        if self._task is not None and not (self._task.cancelled or self._task.left):
            return "another run is being restored"
        if run.project is None:
            return f"its settings cannot be read: {run.problem}"
        if not run.project.graph.nodes:
            return "it has no graph"
        holder = holder_of(run.folder.path)
        if holder is not None:
            return f"it is being trained by {holder.text}"
        if weights == "best" and not run.folder.has_best:
            return "it has no best checkpoint"
        return "it has no weights" if weights and not run.has_weights else ""

    def why_not_branch(self, name: str, weights: WeightsChoice | None) -> str:
        """Why a run cannot become a project of its own, in a few words."""
        if self._document().path is None:
            return "save the project first"
        return self.why_not(name, weights)

    # -- into the open project ------------------------------------------------------------------

    def restore(self, name: str, weights: WeightsChoice | None) -> None:
        """Put a run's graph, data and settings into the document, as one step to be undone.

        Args:
            name: the run.
            weights: those the next training begins with; None for graph and settings alone.

        Raises:
            DataError: it cannot be restored, see `why_not`.
        """
        run = self._required(name, self.why_not(name, weights))
        document, runs = self._document(), self._training.runs_path

        def work(_: TaskHandle) -> Opened:
            found = state_of_project(project_of_run(run.folder))
            if weights is not None:
                recorded = run.folder.project()
                recorded.path = runs.with_suffix(SUFFIX)
                take_weights(run.folder, weights, recorded, run.title)
            return found

        def done(opened: Opened) -> None:
            if self._document() is not document:
                return
            document.apply(f"Restore run {run.title}", _restored(document.state, opened, weights))
            if weights is not None:
                # What is in memory is of another graph; views show what training begins with.
                self._training.reset()
                self._test(run.name, weights)
            self._runs.refresh()
            self.restored.emit(run, weights)

        self._start(f"Restore the run {run.title}", work, done)

    # -- as a project ---------------------------------------------------------------------------

    def branch(self, name: str, weights: WeightsChoice | None) -> None:
        """Make a project of a run beside the open one.

        Args:
            name: the run.
            weights: those it goes on with; None for graph and settings alone.

        Raises:
            DataError: it cannot be branched, see `why_not_branch`.
        """
        run = self._required(name, self.why_not_branch(name, weights))
        path = self._document().path
        if path is None:
            return
        target = branch_path(path)

        def work(_: TaskHandle) -> Path:
            branch_run(run.folder, target, weights)
            return target

        self._start(
            f"Branch the run {run.title}", work, lambda made: self.branched.emit(made, run.title)
        )

    # -- inside ---------------------------------------------------------------------------------

    def _required(self, name: str, why: str) -> RunRecord:
        run = self._runs.run(name)
        if run is None or why:
            title = name if run is None else run.title
            raise DataError(why or "the run does not exist", who=title)
        return run

    def _start(
        self, title: str, work: Callable[[TaskHandle], T], done: Callable[[T], object]
    ) -> None:
        def ended(found: T) -> None:
            self._task = None
            try:
                done(found)
            except StudioError as error:
                self.failed.emit(error)

        def failed(error: StudioError) -> None:
            self._task = None
            self.failed.emit(error)

        self._task = self._tasks.start(title, work, ended, failed, if_left="finish")


def _restored(state: DocumentState, opened: Opened, weights: WeightsChoice | None) -> DocumentState:
    """A document with everything of a run but its name and notes."""
    made = opened.state.replaced(name=state.name, notes=state.notes)
    return made if weights is None else set_training(made, {"begin_with": "imported"})
