"""Looking elsewhere by a drag on the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from studio.graph_editor.editing.interactions.interaction import DRAG_PIXELS, Interaction, Pointer

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView


class LookAround(Interaction):
    """The canvas looks where the pointer is on the map.

    Who takes hold of the frame around what is in sight drags it by that place, without a leap; a
    click in the frame looks at what was clicked, as one beside it does.

    Args:
        canvas: whose map it is.
        at: where the button was pressed.
    """

    cursor = Qt.CursorShape.ClosedHandCursor
    scrolls = False

    def __init__(self, canvas: CanvasView, at: Pointer) -> None:
        super().__init__(canvas)
        self._map = canvas.chrome.minimap
        self._start = at.view
        self._grip = self._map.grip(at.view)
        self._dragged = self._grip.isNull()
        if self._dragged:
            self._map.look(at.view)

    def move(self, at: Pointer) -> None:
        """Follow the pointer."""
        away = at.view - self._start
        self._dragged = self._dragged or away.manhattanLength() >= DRAG_PIXELS
        if self._dragged:
            self._map.look(at.view - self._grip)

    def release(self, at: Pointer) -> None:
        """Stay there."""
        if not self._dragged:
            self._map.look(at.view)
        self.canvas.end_gesture()
