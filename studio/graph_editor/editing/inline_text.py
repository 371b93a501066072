"""Writing in place on the canvas: a layer's name, a note, a frame's heading."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from studio.engine.core.errors import StudioError
from studio.graph_editor.editing.context import CanvasContext
from studio.graph_editor.editing.text_keys import claim_keys

_LEAST_WIDTH, _LEAST_HEIGHT = 120, 26


class InlineText(QObject):
    """A field over the canvas; Enter keeps what was written, Esc does not.

    In a field of several lines Enter begins a line, and Ctrl+Enter keeps it.

    Args:
        context: what it works with; its view is the parent.
    """

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self._view = context.view
        self._studio = context.studio
        self._keep: Callable[[str], object] | None = None
        self.field: QLineEdit | QPlainTextEdit | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is being written."""
        return self.field is not None

    def open_line(self, area: QRect, text: str, keep: Callable[[str], object]) -> None:
        """Write one line."""
        field = QLineEdit(text, self._view)
        field.setMaxLength(200)
        field.selectAll()
        self._open(field, area, keep)

    def open_lines(self, area: QRect, text: str, keep: Callable[[str], object]) -> None:
        """Write several lines."""
        field = QPlainTextEdit(text, self._view)
        field.setTabChangesFocus(True)
        self._open(field, area, keep)

    def close_field(self, *, keep: bool) -> None:
        """Keep what was written, or not; a refused text stays open."""
        field, kept = self.field, self._keep
        if field is None:
            return
        text = field.text() if isinstance(field, QLineEdit) else field.toPlainText()
        if keep and kept is not None:
            try:
                kept(text)
            except StudioError as error:
                self._studio.fail(error)
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
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self.field:
            return False
        if event.type() == QEvent.Type.FocusOut:
            self.close_field(keep=True)
            if self.field is not None:
                # A refused text cannot stay open without the focus.
                self.close_field(keep=False)
        claim_keys(event, self._studio.actions)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        return False

    def _key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self.close_field(keep=False)
            return True
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if enter and (control or isinstance(self.field, QLineEdit)):
            self.close_field(keep=True)
            return True
        return False

    def _open(
        self, field: QLineEdit | QPlainTextEdit, area: QRect, keep: Callable[[str], object]
    ) -> None:
        self.close_field(keep=True)
        self.field, self._keep = field, keep
        field.setObjectName("inline_text")
        field.setAccessibleName("Text")
        field.setGeometry(
            area.x(),
            area.y(),
            max(area.width(), _LEAST_WIDTH),
            max(area.height(), _LEAST_HEIGHT),
        )
        field.installEventFilter(self)
        field.show()
        field.setFocus(Qt.FocusReason.OtherFocusReason)
