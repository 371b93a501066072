"""Moving the view by dragging it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt

from studio.graph_editor.editing.interactions.interaction import Interaction, Pointer

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView


class Pan(Interaction):
    """The graph sticks to the pointer.

    Args:
        canvas: where it happens.
        at: where the button was pressed.
    """

    cursor = Qt.CursorShape.ClosedHandCursor
    scrolls = False

    def __init__(self, canvas: CanvasView, at: Pointer) -> None:
        super().__init__(canvas)
        self._last: QPoint = at.view.toPoint()

    def move(self, at: Pointer) -> None:
        """Follow the pointer."""
        now = at.view.toPoint()
        self.canvas.navigation.pan(now - self._last)
        self._last = now

    def release(self, at: Pointer) -> None:
        """Stay where it is now."""
        self.canvas.end_gesture()
