"""Opens the export dialog, one at a time, and says what came of an export where none is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtWidgets import QWidget

from studio.session.export.exporting import ExportResult
from studio.session.notices.settling import EXPORT
from studio.session.studio import Studio
from studio.widgets import binding

if TYPE_CHECKING:
    from studio.ui.panes.export.dialog import ExportDialog


class ExportOpener:
    """Opens the dialog.

    Args:
        studio: the models.
        window: the dialog stands in front of it.
    """

    def __init__(self, studio: Studio, window: QWidget) -> None:
        self._studio = studio
        self._window = window
        self._dialog: ExportDialog | None = None
        binding.connect(window, studio.exporting.finished, self._finished)

    def open(self) -> None:
        """Show the dialog, the one that is open already if there is one."""
        # The window opens sooner without it.
        from studio.ui.panes.export.dialog import ExportDialog

        dialog = self._dialog
        if dialog is None or not self._is_open():
            if dialog is not None and shiboken6.isValid(dialog):
                dialog.deleteLater()
            dialog = self._dialog = ExportDialog(self._studio, self._window)
            dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def _is_open(self) -> bool:
        dialog = self._dialog
        return dialog is not None and shiboken6.isValid(dialog) and dialog.isVisible()

    def _finished(self, result: ExportResult) -> None:
        if self._is_open():
            return
        from studio.ui.panes.export.finding_view import finding_of

        said = finding_of(result)
        self._studio.notices.settle(EXPORT)
        sentence = f"{result.path.name}: {said.sentence[:1].lower()}{said.sentence[1:]}"
        self._studio.notify(sentence, said.severity, details=said.details, about=EXPORT)
