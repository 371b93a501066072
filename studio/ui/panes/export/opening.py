"""Opens the export dialog, one at a time."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QWidget

from studio.ui.models.studio import Studio
from studio.ui.panes.export.dialog import ExportDialog


class ExportOpener:
    """Carries out the action that opens the dialog; the registry keeps it.

    Args:
        studio: the models.
        window: the dialog stands in front of it.
    """

    def __init__(self, studio: Studio, window: QWidget) -> None:
        self._studio = studio
        self._window = window
        self._dialog: ExportDialog | None = None
        studio.actions.bind("export.dialog", self.open)

    def open(self) -> None:
        """Show the dialog, the one that is open already if there is one."""
        dialog = self._dialog
        if dialog is None or not shiboken6.isValid(dialog) or not dialog.isVisible():
            if dialog is not None and shiboken6.isValid(dialog):
                dialog.deleteLater()
            dialog = self._dialog = ExportDialog(self._studio, self._window)
            dialog.show()
        dialog.raise_()
        dialog.activateWindow()
