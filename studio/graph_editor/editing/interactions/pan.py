"""Moving the view: by dragging it, or by dragging on the minimap."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt

from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.interaction import DRAG_PIXELS, Gestures, Interaction
from studio.graph_editor.scene.minimap import Minimap


class Pan(Interaction):
    """The graph sticks to the pointer.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
    """

    cursor = Qt.CursorShape.ClosedHandCursor
    scrolls = False

    def __init__(self, gestures: Gestures, at: Pointer) -> None:
        super().__init__(gestures)
        self._last: QPoint = at.view.toPoint()

    def move(self, at: Pointer) -> None:
        now = at.view.toPoint()
        self.context.navigation.pan(now - self._last)
        self._last = now

    def release(self, at: Pointer) -> None:
        self.gestures.end()


class LookAround(Interaction):
    """The canvas looks where the pointer is on the minimap.

    The frame around what is in sight is dragged by the place it was taken at, without a jump; a
    click in the frame looks at what was clicked, as a click beside it does.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
        minimap: what is dragged on.
    """

    cursor = Qt.CursorShape.ClosedHandCursor
    scrolls = False

    def __init__(self, gestures: Gestures, at: Pointer, minimap: Minimap) -> None:
        super().__init__(gestures)
        self._map = minimap
        self._start = at.view
        self._grip = minimap.grip(at.view)
        self._dragged = self._grip.isNull()
        if self._dragged:
            minimap.look(at.view)

    def move(self, at: Pointer) -> None:
        away = at.view - self._start
        self._dragged = self._dragged or away.manhattanLength() >= DRAG_PIXELS
        if self._dragged:
            self._map.look(at.view - self._grip)

    def release(self, at: Pointer) -> None:
        if not self._dragged:
            self._map.look(at.view)
        self.gestures.end()
