"""Opens the export dialog, draws the graph for it, and reports an export that ends without it.

Dialog and drawing are imported when they are first needed, so that the window opens sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtWidgets import QWidget

from studio.session.export.exporting import ExportResult
from studio.session.notices.settling import EXPORT
from studio.session.studio import Studio
from studio.widgets import binding

if TYPE_CHECKING:
    from studio.ui.panes.export.dialog import ExportDialog


class Exports:
    """The export dialog of a window; there is at most one.

    Args:
        studio: the models.
        window: parent of the dialog.
        canvas: returns the view whose previews stand in pictures of the graph; None without one.
    """

    def __init__(
        self, studio: Studio, window: QWidget, canvas: Callable[[], QWidget | None]
    ) -> None:
        self._studio = studio
        self._window = window
        self._canvas = canvas
        self._dialog: ExportDialog | None = None
        studio.exporting.pictures = {"svg": self._svg, "png": self._png}
        binding.connect(window, studio.exporting.finished, self._finished)

    def open(self) -> None:
        """Show the dialog; one that is open comes to the front."""
        from studio.ui.panes.export.dialog import ExportDialog

        dialog = self._dialog
        if dialog is None or not self._is_open():
            if dialog is not None and shiboken6.isValid(dialog):
                dialog.deleteLater()
            dialog = self._dialog = ExportDialog(self._studio, self._window)
            dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def _svg(self) -> bytes:
        from studio.ui.panes.export import graph_file

        return graph_file.svg(self._studio, self._canvas())

    def _png(self) -> bytes:
        from studio.ui.panes.export import graph_file

        return graph_file.png(self._studio, self._canvas())

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
