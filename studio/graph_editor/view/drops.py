"""Takes what is dragged onto the canvas: layers of the palette; files go on to the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent

from studio.graph_editor.view.interactions.drop_layer import DropLayer
from studio.graph_editor.view.layer_data import layer_in

if TYPE_CHECKING:
    from studio.graph_editor.view.canvas import CanvasView


class Drops:
    """Handles the drag events of a canvas.

    Args:
        canvas: where things are dropped.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self._canvas = canvas
        self._carried: DropLayer | None = None

    def enter(self, event: QDragEnterEvent) -> None:
        """Something is carried onto the canvas; what is ignored here the window may take."""
        layer = layer_in(event.mimeData())
        if layer is None:
            event.ignore()
            return
        self._carried = DropLayer(self._canvas, layer)
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def move(self, event: QDragMoveEvent) -> None:
        """It is carried about."""
        if self._carried is None:
            event.ignore()
            return
        self._carried.move(self._canvas.pointer_at(event.position(), event.modifiers()))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def leave(self, event: QDragLeaveEvent) -> None:
        """It is carried away."""
        carried, self._carried = self._carried, None
        if carried is not None:
            carried.leave()
        event.accept()

    def drop(self, event: QDropEvent) -> None:
        """It is let go."""
        carried, self._carried = self._carried, None
        if carried is None:
            event.ignore()
            return
        carried.drop(self._canvas.pointer_at(event.position(), event.modifiers()))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
