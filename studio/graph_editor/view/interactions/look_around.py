"""Looking elsewhere by a drag on the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from studio.graph_editor.view.interactions.interaction import Interaction, Pointer

if TYPE_CHECKING:
    from studio.graph_editor.view.canvas import CanvasView


class LookAround(Interaction):
    """The canvas looks where the pointer is on the map.

    Args:
        canvas: whose map it is.
        at: where the button was pressed.
    """

    cursor = Qt.CursorShape.ClosedHandCursor
    scrolls = False

    def __init__(self, canvas: CanvasView, at: Pointer) -> None:
        super().__init__(canvas)
        canvas.chrome.minimap.look(at.view)

    def move(self, at: Pointer) -> None:
        """Follow the pointer."""
        self.canvas.chrome.minimap.look(at.view)

    def release(self, at: Pointer) -> None:
        """Stay there."""
        self.canvas.end_gesture()
