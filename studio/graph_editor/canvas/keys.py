"""Keys of the canvas that are no actions: held, tapped, and Esc."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView


_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class CanvasKeys:
    """What a key does while no gesture is going on.

    Args:
        canvas: where it is pressed.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self._canvas = canvas

    def key(self, event: QKeyEvent) -> bool:
        """A key was pressed; whether it meant something."""
        key = event.key()
        if key == Qt.Key.Key_Escape:
            return self._escape()
        if self.wants(key):
            self._canvas.fixes.apply_hovered()
            return True
        tab = key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
        if tab and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            # Plain Tab adds a layer, so this is how the keyboard leaves the canvas.
            backward = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            return self._canvas.leave_by_keys(backward=bool(backward))
        return False

    def wants(self, key: int) -> bool:
        """Whether a key that is a shortcut otherwise belongs to the canvas now."""
        return key in _ENTER and self._canvas.fixes.hovered is not None

    def held(self, key: int) -> None:
        """A key is held down."""
        shapes = {
            Qt.Key.Key_Space: Qt.CursorShape.OpenHandCursor,
            Qt.Key.Key_K: Qt.CursorShape.CrossCursor,
        }
        if key in shapes:
            self._canvas.viewport().setCursor(shapes[Qt.Key(key)])
        elif key == Qt.Key.Key_Z:
            self._canvas.lens.show_at(self._canvas.hovering.target, self._canvas.pointer().view)

    def released(self, key: int) -> None:
        """A key came up."""
        if key == Qt.Key.Key_Z:
            self._canvas.lens.put_away()
        elif key in (Qt.Key.Key_Space, Qt.Key.Key_K) and self._canvas.gesture is None:
            self._canvas.viewport().unsetCursor()

    def tapped(self, key: int) -> None:
        """A key was pressed and released at once."""
        if key == Qt.Key.Key_Space:
            self._canvas.studio.actions.trigger("canvas.quick_add")

    def _escape(self) -> bool:
        """Pop-up first, then the selection; a gesture has had it before."""
        canvas = self._canvas
        if canvas.fixes.hovered is not None:
            canvas.fixes.hover(None)
        elif canvas.searches.popup.is_open:
            canvas.searches.popup.close_search()
        elif canvas.chrome.find_bar.isVisible():
            canvas.chrome.find_bar.close_bar()
        elif canvas.bus.selection.entities:
            canvas.bus.clear(canvas.source)
        else:
            return False
        return True
