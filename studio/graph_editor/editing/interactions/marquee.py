"""Selecting what a rectangle touches."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt

from studio.graph_editor.editing.context import CANVAS, Pointer
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.graph_editor.items.block_item import PortItem
from studio.graph_editor.items.items import FrameItem
from studio.session.core import entities


class Marquee(Interaction):
    """A rectangle from where the button was pressed; Shift adds, Ctrl takes out.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
    """

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, gestures: Gestures, at: Pointer) -> None:
        super().__init__(gestures)
        self._start = at.scene

    def move(self, at: Pointer) -> None:
        """Show the rectangle and what it touches."""
        area = QRectF(self._start, at.scene).normalized()
        self.context.overlay.show_band(area)
        touched = self._touched(area)
        if at.control and not at.shift:
            self.context.marks.show_caught((), touched)
        else:
            self.context.marks.show_caught(touched)

    def release(self, at: Pointer) -> None:
        touched = self._touched(QRectF(self._start, at.scene).normalized())
        chosen = [entities.node(node_id) for node_id in touched]
        self.gestures.end()
        bus = self.context.bus
        if at.control and not at.shift:
            kept = [e for e in bus.selection.entities if e not in chosen]
            bus.select(kept, source=CANVAS)
        else:
            bus.select(chosen, source=CANVAS, mode="add" if at.shift else "replace")

    def _touched(self, area: QRectF) -> list[str]:
        """Things in the rectangle; a frame only when all of it is inside."""
        scene = self.context.graph
        return [
            node_id
            for node_id, item in scene.nodes.items()
            if not isinstance(item, PortItem)
            and (
                area.contains(item.scene_area)
                if isinstance(item, FrameItem)
                else area.intersects(item.scene_area)
            )
        ]
