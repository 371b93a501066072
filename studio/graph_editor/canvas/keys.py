"""Keys of the canvas outside the action table: held, tapped, Enter, and Esc."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtGui import QKeyEvent

from studio.graph_editor.canvas.block_commands import primary_block
from studio.graph_editor.canvas.hovering import Hovering
from studio.graph_editor.canvas.lens import Lens
from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.graph_editor.editing.find_bar import FindBar
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.editing.quick_add import QuickAddPopup

TAP_MS = 200
"""A key released sooner than this, with nothing done meanwhile, was tapped."""

_HOLDABLE = (Qt.Key.Key_Space, Qt.Key.Key_K, Qt.Key.Key_Z)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_CURSORS = {
    Qt.Key.Key_Space: Qt.CursorShape.OpenHandCursor,
    Qt.Key.Key_K: Qt.CursorShape.CrossCursor,
}


class CanvasKeys:
    """What a key does while no gesture is going on.

    Held, Space pans, K cuts wires and Z shows the lens; tapped, Space adds a layer.

    Args:
        context: what it works with.
        hovering: what the pointer is over.
        fixes: repairs, of which Enter makes the one that is shown; else it opens a block.
        lens: what Z shows.
        popup: the search that Esc closes.
        find_bar: the bar that Esc closes.
    """

    def __init__(
        self,
        context: CanvasContext,
        hovering: Hovering,
        fixes: FixOffers,
        lens: Lens,
        popup: QuickAddPopup,
        find_bar: FindBar,
    ) -> None:
        self._context = context
        self._hovering = hovering
        self._fixes = fixes
        self._lens = lens
        self._popup = popup
        self._find_bar = find_bar
        self._down: dict[int, QElapsedTimer] = {}
        self._used: set[int] = set()

    @property
    def held(self) -> frozenset[int]:
        """The holdable keys that are down."""
        return frozenset(self._down)

    def press(self, event: QKeyEvent) -> bool:
        """A key was pressed; whether it meant something."""
        key = event.key()
        if event.isAutoRepeat() and key in self._down:
            self._hold(key)
            return True
        if not event.isAutoRepeat() and key in _HOLDABLE:
            self._down[key] = QElapsedTimer()
            self._down[key].start()
            self._used.discard(key)
            self._hold(key)
            return True
        if key == Qt.Key.Key_Escape:
            return self._escape()
        if self.wants(key):
            if self._fixes.hovered is not None:
                self._fixes.apply_hovered()
            else:
                self._context.studio.actions.trigger("graph.enter_block")
            return True
        return False

    def wants(self, key: int) -> bool:
        """Whether a key that is a shortcut otherwise belongs to the canvas now."""
        if key in _ENTER:
            return self._fixes.hovered is not None or primary_block(self._context) is not None
        return key in self._down

    def use(self) -> None:
        """Something was done with the keys that are down, so they are not tapped."""
        self._used.update(self._down)

    def release(self, key: int, *, in_gesture: bool) -> None:
        """A key came up."""
        clock = self._down.pop(key, None)
        tapped = clock is not None and key not in self._used and clock.elapsed() < TAP_MS
        if tapped and key == Qt.Key.Key_Space:
            self._context.studio.actions.trigger("canvas.quick_add")
        if key == Qt.Key.Key_Z:
            self._lens.put_away()
        elif key in _CURSORS and not in_gesture:
            self._context.view.viewport().unsetCursor()

    def release_all(self) -> None:
        """The canvas has lost the focus."""
        self._down.clear()
        self._used.clear()
        self._lens.put_away()

    def pointer_moved(self) -> None:
        """The lens follows the pointer."""
        if Qt.Key.Key_Z in self._down:
            self._hold(Qt.Key.Key_Z)

    def _hold(self, key: int) -> None:
        if key in _CURSORS:
            self._context.view.viewport().setCursor(_CURSORS[Qt.Key(key)])
        elif key == Qt.Key.Key_Z:
            self._lens.show_at(self._hovering.target, self._context.pointer().view)

    def _escape(self) -> bool:
        """Close what is open, the last first; then clear the selection; then leave the block."""
        if self._fixes.hovered is not None:
            self._fixes.hover(None)
        elif self._popup.is_open:
            self._popup.close_search()
        elif self._find_bar.isVisible():
            self._find_bar.close_bar()
        elif self._context.bus.selection.entities:
            self._context.bus.clear(CANVAS)
        elif left := self._context.open_block.leave():
            self._context.select([left])
        else:
            return False
        return True
