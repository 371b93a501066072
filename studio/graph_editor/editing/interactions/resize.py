"""Changing the size of a note or frame by its corner."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.interaction import Gestures, Interaction
from studio.session.document.edits.comments import resize


class Resize(Interaction):
    """The corner follows the pointer; one step of the history.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
        node_id: the note or frame.
    """

    cursor = Qt.CursorShape.SizeFDiagCursor

    def __init__(self, gestures: Gestures, at: Pointer, node_id: str) -> None:
        super().__init__(gestures)
        node = self.context.document.state.nodes[node_id]
        self._node_id = node_id
        self._start = at.scene
        self._size = node.width, node.height
        self._text = f"Resize {node.kind}"
        self.context.document.begin_gesture(self._text)

    def move(self, at: Pointer) -> None:
        by = at.scene - self._start
        width, height = self._size[0] + by.x(), self._size[1] + by.y()
        node_id = self._node_id
        self.gestures.apply(self._text, lambda state: resize(state, node_id, width, height))

    def release(self, at: Pointer) -> None:
        self.context.document.commit_gesture(self._text)
        self.gestures.end()

    def cancel(self) -> None:
        self.context.document.cancel_gesture()
