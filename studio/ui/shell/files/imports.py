"""Files of other programs in the window: what opens as a project, and weights for the open one.

Dialogs are imported when they are first needed, so that the window opens sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtWidgets import QFileDialog, QMainWindow

from studio.engine.core.errors import StudioError
from studio.engine.interop.imported import ImportReport
from studio.engine.interop.reading import holds_model, import_endings, main_file, model_names
from studio.engine.train.importing.project import ImportedProject
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.importing.table import MatchingTable
from studio.session.notices.settling import OPEN
from studio.session.studio import Studio
from studio.widgets import binding
from studio.widgets.file_dialogs import file_dialog

if TYPE_CHECKING:
    from studio.ui.panes.importing.report_dialog import ImportDialog


def model_in(paths: list[Path]) -> Path | None:
    """The model among files that belong together, such as one with its shards; None for none."""
    return next((main_file(path) for path in paths if holds_model(path)), None)


def model_filter() -> str:
    """The filter of file dialogs for models."""
    return f"Models ({model_patterns()})"


def model_patterns() -> str:
    """Patterns of the names of models, for file dialogs."""
    return " ".join(f"*{name}" if name.startswith(".") else name for name in model_names())


class Imports:
    """What the window does with models and weights of other programs.

    Args:
        studio: the models.
        window: asks and shows dialogs.
        open_project: opens a project, after asking about unsaved work.
        folder: where file dialogs begin.
    """

    def __init__(
        self,
        studio: Studio,
        window: QMainWindow,
        open_project: Callable[[Path], object],
        folder: Callable[[], Path],
    ) -> None:
        self._studio = studio
        self._window = window
        self._open_project = open_project
        self._folder = folder
        self._dialog: ImportDialog | None = None
        self._waiting: ImportedProject | None = None
        model = studio.importing
        binding.connect(window, model.made, self._made)
        binding.connect(window, model.matched, self._matched)
        binding.connect(window, model.recorded, self._recorded)
        binding.connect(window, model.failed, self._failed)
        binding.connect(window, studio.document_replaced, self._replaced)

    # -- models ---------------------------------------------------------------------------------

    def open_model(self, path: Path) -> None:
        """Make a project of a model, show how far it is, and open it."""
        try:
            self._studio.importing.open_model(path)
        except StudioError as error:
            self._studio.fail(error, OPEN)
            return
        dialog = self._shown()
        dialog.show_import(path.name)
        self._raise(dialog)

    def show_report(self) -> None:
        """Show what became of the file that was imported last into the open project."""
        try:
            report = self._studio.importing.last_report()
        except StudioError as error:
            self._studio.fail(error)
            return
        if report is not None:
            self._show(report)

    def _made(self, made: ImportedProject) -> None:
        path = made.project.path
        if path is None:
            return
        if self._dialog is not None and shiboken6.isValid(self._dialog):
            self._dialog.hide()
        self._waiting = made
        self._studio.notices.settle(OPEN)
        self._open_project(path)
        # It waits where unsaved work is asked about; who cancels that finds the project here.
        is_open = self._studio.document.path == path
        again = None if is_open else ("Open it", lambda: self._open_project(path))
        text = f"Imported {made.report.source} as {path.name}"
        self._studio.notify(text, "ok", again, f"It is in {path.parent}.")

    def _replaced(self, _document: object) -> None:
        made, self._waiting = self._waiting, None
        if made is not None and self._studio.document.path == made.project.path:
            self._show(made.report)

    # -- weights --------------------------------------------------------------------------------

    def choose_weights(self) -> None:
        """Let the user choose a file of weights and bring it in."""
        name, begin = "import_dialog", self._folder()
        dialog = file_dialog(self._window, name, "Import weights", "weights", begin=begin)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        endings = " ".join(f"*{ending}" for ending in import_endings())
        dialog.setNameFilters([f"Weights ({endings})", "All files (*)"])
        dialog.fileSelected.connect(lambda chosen: self.take_weights(Path(chosen)))
        dialog.open()

    def take_weights(self, source: Path) -> None:
        """Bring the weights of a file into the project, as a run of its own."""
        document = self._studio.document
        if document.path is None or document.dirty:
            first = "Open" if self._studio.welcome_state.why_no_project() else "Save"
            self._studio.notify(f"{first} the project before importing weights", "warning")
            return
        try:
            self._studio.importing.read_weights(source)
        except StudioError as error:
            self._studio.fail(error)

    def _matched(self, table: MatchingTable) -> None:
        from studio.ui.panes.importing.match_dialog import MatchDialog

        dialog = MatchDialog(self._studio, table, self._window)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _recorded(self, run: RunFolder, title: str) -> None:
        source = self._studio.importing.source
        name = "weights" if source is None else source.name
        of = f" of {title}" if title else ""
        self._studio.notify(f"Imported {name} as run {run.name}{of}", "ok")
        if not title:
            self._studio.runs.refresh()

    def _failed(self, error: StudioError) -> None:
        self._studio.fail(error, OPEN)

    # -- inside ---------------------------------------------------------------------------------

    def _show(self, report: ImportReport) -> None:
        dialog = self._shown()
        dialog.show_report(report)
        self._raise(dialog)

    def _raise(self, dialog: ImportDialog) -> None:
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def _shown(self) -> ImportDialog:
        from studio.ui.panes.importing.report_dialog import ImportDialog

        if self._dialog is None or not shiboken6.isValid(self._dialog):
            self._dialog = ImportDialog(self._studio, self._window)
        return self._dialog
