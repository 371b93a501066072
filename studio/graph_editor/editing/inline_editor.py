"""Editing text in place on the canvas: a layer's name, a note, a frame's heading."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from studio.engine.core.errors import StudioError
from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.text_keys import claim_keys
from studio.graph_editor.items.block_item import AnchorItem, PortItem
from studio.graph_editor.items.items import CommentItem, FrameItem
from studio.graph_editor.items.node_item import NodeItem
from studio.session.document.edits.blocks import rename_block
from studio.session.document.edits.comments import set_text
from studio.session.document.edits.layers import rename

_LEAST_WIDTH, _LEAST_HEIGHT = 160, 26
_CARET = 24
"""Room in a field besides its text."""


class InlineEditor(QObject):
    """A field over the canvas; Enter keeps what was typed, Esc does not.

    In a note Enter begins a new line. Ctrl+Enter keeps the text, and so does Esc, since a text is
    more than a name to type again; it can be undone.

    Attributes:
        field: the open field, if there is one.

    Args:
        context: what it works with; its view is the parent of the field.
    """

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self._context = context
        self._node = ""
        self._keep: Callable[[str], object] | None = None
        self.field: QLineEdit | QPlainTextEdit | None = None

    @property
    def is_open(self) -> bool:
        return self.field is not None

    def edit_selected(self) -> None:
        """Edit the name of the primary layer, or the text of the primary note or frame."""
        primary = self._context.bus.drawn.primary
        if primary is not None:
            self.edit(primary.key)

    def edit(self, node_id: str) -> None:
        """Edit the name of a layer, block or port, or the text of a note or frame."""
        self.close(keep=True)
        # A refused text does not stay open beside another one.
        self.close(keep=False)
        self._node = node_id
        item = self._context.graph.nodes.get(node_id)
        document = self._context.document
        if isinstance(item, NodeItem | AnchorItem | PortItem):

            def keep_name(text: str) -> None:
                if text != item.node.name:
                    edit = rename if item.node.is_layer else rename_block
                    made = edit(document.state, node_id, text)
                    document.apply(f"Rename {item.node.name} to {text.strip()}", made)

            area = item.title_area().adjusted(-4, 0, 20, 4)
            self._open(self._line(item.node.name), area, keep_name)
        elif isinstance(item, CommentItem):

            def keep_text(text: str) -> None:
                made = set_text(document.state, node_id, text)
                document.apply(f"Edit {item.node.kind}", made)

            is_line = isinstance(item, FrameItem)
            field = self._line(item.node.text) if is_line else self._lines(item.node.text)
            self._open(field, item.text_area().translated(item.pos()), keep_text)

    def close(self, *, keep: bool) -> None:
        """Keep the text, or not; when it is refused the field stays open."""
        field, kept = self.field, self._keep
        if field is None:
            return
        text = field.text() if isinstance(field, QLineEdit) else field.toPlainText()
        if keep and kept is not None:
            try:
                kept(text)
            except StudioError as error:
                self._context.studio.fail(error)
                field.setProperty("wrong", True)
                field.style().polish(field)
                field.setToolTip(error.message)
                return
        self.field = self._keep = None
        field.removeEventFilter(self)
        had_focus = field.hasFocus()
        field.hide()
        field.deleteLater()
        if had_focus:
            self._context.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def forget(self, node_ids: Iterable[str]) -> None:
        """Things are gone: drop what was being typed in one of them."""
        if self._node in node_ids:
            self.close(keep=False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self.field:
            return False
        if event.type() == QEvent.Type.FocusOut:
            self.close(keep=True)
            if self.field is not None:
                # A refused text cannot stay open without the focus.
                self.close(keep=False)
        claim_keys(event, self._context.studio.actions)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        return False

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self.close(keep=isinstance(self.field, QPlainTextEdit))
            return True
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if enter and (control or isinstance(self.field, QLineEdit)):
            self.close(keep=True)
            return True
        return False

    def _line(self, text: str) -> QLineEdit:
        field = QLineEdit(text, self._context.view)
        field.setMaxLength(200)
        field.selectAll()
        return field

    def _lines(self, text: str) -> QPlainTextEdit:
        field = QPlainTextEdit(text, self._context.view)
        field.setTabChangesFocus(True)
        return field

    def _open(
        self, field: QLineEdit | QPlainTextEdit, area: QRectF, keep: Callable[[str], object]
    ) -> None:
        """Show a field over an area of the graph."""
        self.field, self._keep = field, keep
        field.setObjectName("inline_text")
        field.setAccessibleName("Text")
        self._fit(field, self._seen(area))
        if isinstance(field, QLineEdit):
            field.textChanged.connect(lambda _text: self._fit(field, field.geometry()))
        field.installEventFilter(self)
        field.show()
        field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit(self, field: QLineEdit | QPlainTextEdit, seen: QRect) -> None:
        """Give a field the place of what it is for, and more where its text needs it."""
        wide = max(seen.width(), _LEAST_WIDTH)
        if isinstance(field, QLineEdit):
            text = field.fontMetrics().horizontalAdvance(field.text())
            wide = max(wide, text + _CARET)
        room = self._context.view.viewport().rect()
        wide = min(wide, max(room.width(), _LEAST_WIDTH))
        left = max(min(seen.x(), room.width() - wide), 0)
        field.setGeometry(left, seen.y(), wide, max(seen.height(), _LEAST_HEIGHT))

    def _seen(self, area: QRectF) -> QRect:
        corner = self._context.view.view_point(area.topLeft())
        zoom = self._context.navigation.zoom
        return QRectF(corner.x(), corner.y(), area.width() * zoom, area.height() * zoom).toRect()
