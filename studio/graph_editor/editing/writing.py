"""Opens a field on the canvas to rename a layer or to write in a note or frame."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRect, QRectF

from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.inline_text import InlineText
from studio.graph_editor.items.items import CommentItem, FrameItem
from studio.graph_editor.items.node_item import NodeItem
from studio.session.document.edits.comments import set_text
from studio.session.document.edits.layers import rename


class Writing:
    """The ways to the field.

    Args:
        context: what it works with.
    """

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self.field = InlineText(context)
        self._node = ""

    def rename_selected(self) -> None:
        """Rename the primary layer, or write in the primary note or frame."""
        primary = self._context.bus.drawn.primary
        if primary is not None:
            self.write(primary.key)

    def write(self, node_id: str) -> None:
        """Rename a layer, or write in a note or frame."""
        self.field.close_field(keep=True)
        self._node = node_id
        item = self._context.graph.nodes.get(node_id)
        document = self._context.document
        if isinstance(item, NodeItem):
            area = item.title_area().adjusted(-4, 0, 20, 4)

            def keep_name(text: str) -> None:
                if text != item.node.name:
                    made = rename(document.state, node_id, text)
                    document.apply(f"Rename {item.node.name} to {text.strip()}", made)

            self.field.open_line(self._seen(area), item.node.name, keep_name)
        elif isinstance(item, CommentItem):
            area = item.text_area().translated(item.pos())

            def keep_text(text: str) -> None:
                made = set_text(document.state, node_id, text)
                document.apply(f"Edit {item.node.kind}", made)

            if isinstance(item, FrameItem):
                self.field.open_line(self._seen(area), item.node.text, keep_text)
            else:
                self.field.open_lines(self._seen(area), item.node.text, keep_text)

    def forget(self, node_ids: Iterable[str]) -> None:
        """Things are gone: what was being written in one of them goes with it."""
        if self._node in node_ids:
            self.field.close_field(keep=False)

    def _seen(self, area: QRectF) -> QRect:
        corner = self._context.view.view_point(area.topLeft())
        zoom = self._context.navigation.zoom
        return QRectF(corner.x(), corner.y(), area.width() * zoom, area.height() * zoom).toRect()
