"""Joins the export dialog to the window, and lends it pictures of the graph.

Dialog and drawing are loaded when they are first wanted, so that the window opens sooner.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.session.studio import Studio
from studio.ui.panes.export.opening import ExportOpener


class Exports:
    """The dialog and the pictures it may write.

    Args:
        studio: the models.
        window: the dialog stands in front of it.
        canvas: the view that has the previews of layers; None while there is none.
    """

    def __init__(
        self, studio: Studio, window: QWidget, canvas: Callable[[], QWidget | None]
    ) -> None:
        self._studio = studio
        self._canvas = canvas
        self._opener = ExportOpener(studio, window)
        studio.exporting.pictures = {"svg": self._svg, "png": self._png}

    def open(self) -> None:
        """Show the dialog."""
        self._opener.open()

    def _svg(self) -> bytes:
        from studio.ui.shell.files import graph_file

        return graph_file.svg(self._studio, self._canvas())

    def _png(self) -> bytes:
        from studio.ui.shell.files import graph_file

        return graph_file.png(self._studio, self._canvas())
