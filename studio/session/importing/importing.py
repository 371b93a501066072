"""Makes projects of models, and brings weights into the open project, in the background."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.interop.imported import ImportReport
from studio.engine.interop.reading import format_of
from studio.engine.train.importing.matching import MatchTable, match_file
from studio.engine.train.importing.project import ImportedProject, default_project, import_project
from studio.engine.train.importing.report import FILE, saved_report
from studio.engine.train.importing.weights import import_matched, import_weights
from studio.engine.train.project.blocks import nested_of
from studio.engine.train.project.project import SUFFIX
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.data.cache import DatasetCache
from studio.session.document.document import Document
from studio.session.importing.table import MatchingTable

T = TypeVar("T")

FOLDER = "imported"
"""Where projects go whose model lies in a folder that cannot be written, in the user's folder."""


class ImportModel:
    """What is brought in, one thing at a time; used on the window's thread.

    ``made`` is emitted with a new project, ``matched`` when there is a table to be confirmed,
    ``recorded`` with the run that weights have become and the title of their project, ``failed``
    with why nothing was brought in.

    Attributes:
        task: what runs now, None for nothing.
        source: the file it is about, or was about last.
        table: which array is which parameter, while that is to be confirmed.

    Args:
        document: the open one.
        tasks: runs it in the background.
        datasets: opens data.
        home: the user's folder of data.
        imported: runs of the open project that hold what was imported, the newest first.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        tasks: TaskList,
        datasets: DatasetCache,
        home: Path,
        imported: Callable[[], Iterable[RunFolder]],
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.made: Signal[[ImportedProject]] = Signal()
        self.matched: Signal[[MatchingTable]] = Signal()
        self.recorded: Signal[[RunFolder, str]] = Signal()
        self.failed: Signal[[StudioError]] = Signal()
        self.task: TaskHandle | None = None
        self.source: Path | None = None
        self.table: MatchingTable | None = None
        self._document = document
        self._tasks = tasks
        self._datasets = datasets
        self._home = home
        self._imported = imported
        tasks.changed.connect(self._tasks_changed)

    # -- models ---------------------------------------------------------------------------------

    def why_not(self) -> str:
        """Why nothing can be brought in now; empty when something can."""
        return "" if self.task is None else "an import is running"

    def open_model(self, source: Path) -> None:
        """Make a project of a model, beside its file or in the user's folder.

        Raises:
            DataError: an import is running.
        """
        self._require_rest(source)
        target = self.place_for(source)

        def work(handle: TaskHandle) -> ImportedProject:
            if target.parent == self._home / FOLDER:
                _make(target.parent)
            return import_project(source, target, handle.progress)

        self._begin(source, self._tasks.start(
            f"Import {source.name}", work, self._ended(self.made.emit), self._wrong,
            if_left="answer",
        ))  # fmt: skip

    def place_for(self, source: Path) -> Path:
        """Where the project of a model goes: beside it, under a name that is free."""
        beside = source.absolute().parent
        folder = beside if os.access(beside, os.W_OK) else self._home / FOLDER
        first = default_project(source, folder)
        target, count = first, 1
        while _is_taken(target):
            count += 1
            target = first.with_name(f"{first.stem}-{count}{SUFFIX}")
        return target

    def cancel(self) -> None:
        """Stop what runs; nothing is left behind."""
        if self.task is not None:
            self.task.cancel()
            self.task = None
            self.changed.emit()

    # -- weights --------------------------------------------------------------------------------

    def why_not_weights(self) -> str:
        """Why no weights can be brought in now; empty when they can."""
        document = self._document()
        if document.path is None or document.dirty:
            return "save the project before importing weights"
        return self.why_not()

    def read_weights(self, source: Path) -> None:
        """Bring the weights of a file into the open project, as a run of its own.

        Where a name or shape differs, there is a table to be confirmed first.

        Raises:
            DataError: the project is not saved, or an import is running.
        """
        document = self._saved()
        self._require_rest(source)
        project, found = document.project(), format_of(source)
        graph = project.graph
        graph.nested = nested_of(project.blocks)
        if found is None or found.holds != "weights":
            # What is in a checkpoint is stored under our own names, or it is of another network.
            self._record(source, document, None)
            return

        def work(_: TaskHandle) -> MatchTable | None:
            return match_file(graph, source)

        def done(table: MatchTable | None) -> None:
            if table is None:
                self._record(source, document, None)
                return
            self.table = MatchingTable(table)
            self.matched.emit(self.table)
            self.changed.emit()

        self._begin(source, self._tasks.start(
            f"Read {source.name}", work, self._ended(done), self._wrong, if_left="stop"
        ))  # fmt: skip

    def take_matched(self) -> None:
        """Bring in what the table takes.

        Raises:
            DataError: nothing is taken, or the project was changed.
        """
        table, source = self.table, self.source
        if table is None or source is None:
            return
        why = table.why_not()
        if why:
            raise DataError(why, who=source.name)
        document = self._saved()
        self.table = None
        self._record(source, document, table.chosen)

    def leave_table(self) -> None:
        """The table is not confirmed: nothing is brought in."""
        if self.table is not None:
            self.table = None
            self.changed.emit()

    def follow(self) -> None:
        """Another document is open: its network is another than the table is of."""
        self.leave_table()

    # -- reports --------------------------------------------------------------------------------

    def last_report(self) -> ImportReport | None:
        """The report of the newest import of the open project; None where there is none.

        Raises:
            FormatError: it is damaged.
        """
        run = self._reported()
        return None if run is None else saved_report(run)

    def why_no_report(self) -> str:
        """Why there is no report to show; empty when there is one."""
        return "" if self._reported() is not None else "nothing was imported into this project"

    def _reported(self) -> RunFolder | None:
        return next((run for run in self._imported() if (run.path / FILE).is_file()), None)

    # -- inside ---------------------------------------------------------------------------------

    def _saved(self) -> Document:
        document = self._document()
        if document.path is None or document.dirty:
            raise DataError("save the project before importing weights", who=document.title)
        return document

    def _require_rest(self, source: Path) -> None:
        why = self.why_not()
        if why:
            raise DataError(why, who=source.name, hint="wait for it, or cancel it")

    def _record(self, source: Path, document: Document, table: MatchTable | None) -> None:
        path, title, opened = document.path, document.title, self._datasets.open
        if path is None:
            return

        def work(_: TaskHandle) -> RunFolder:
            if table is None:
                return import_weights(source, path, opened)
            return import_matched(source, path, table, opened)

        def done(run: RunFolder) -> None:
            self.recorded.emit(run, "" if self._document() is document else title)

        self._begin(source, self._tasks.start(
            f"Import {source.name}", work, self._ended(done), self._wrong, if_left="answer"
        ))  # fmt: skip

    def _begin(self, source: Path, task: TaskHandle) -> None:
        self.source, self.table, self.task = source, None, task
        self.changed.emit()

    def _ended(self, done: Callable[[T], object]) -> Callable[[T], None]:
        def ended(found: T) -> None:
            self.task = None
            done(found)
            self.changed.emit()

        return ended

    def _wrong(self, error: StudioError) -> None:
        self.task = None
        source = self.source
        if source is not None and error.who.startswith(str(source)):
            # A long path would push out of a notice what is wrong.
            error.who = source.name + error.who.removeprefix(str(source))
            error.origin = error.origin or str(source)
        self.failed.emit(error)
        self.changed.emit()

    def _tasks_changed(self) -> None:
        if self.task is not None and self.task.cancelled:
            self.task = None
            self.changed.emit()


def _is_taken(target: Path) -> bool:
    return target.exists() or target.with_suffix(".runs").exists()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}", who=str(folder)) from error
