"""Placing a layer again: another use of it follows the pointer until it is placed."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.drop_layer import DropLayer
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.session.document.edits.chains import NewLayer


class PlaceAgain(Interaction):
    """Another use of a layer with the same weights; a click, or Enter, places it.

    Args:
        gestures: where it begins and ends.
        node_id: any use of the layer.
    """

    cursor = Qt.CursorShape.CrossCursor
    scrolls = False

    def __init__(self, gestures: Gestures, node_id: str) -> None:
        super().__init__(gestures)
        node = self.context.document.state.node(node_id)
        self._carried = DropLayer(self.context, NewLayer(node.type_name, node.config, node_id))

    def move(self, at: Pointer) -> None:
        """Show where it would go and what it would get."""
        self._carried.move(at)

    def release(self, at: Pointer) -> None:
        """Place it, as one step."""
        self.gestures.end()
        self._carried.drop(at)

    def key(self, key: int, at: Pointer) -> bool:
        """Enter places it where it is shown."""
        if key not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return False
        self.release(at)
        return True
