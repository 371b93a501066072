"""The context menu by keyboard, for those whose keyboard has no menu key."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication


def open_context_menu() -> None:
    """Ask what has the keyboard for its menu, where its caret or current row is."""
    widget = QApplication.focusWidget()
    if widget is None:
        return
    caret = widget.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)
    inside = isinstance(caret, QRect) and widget.rect().contains(caret.center())
    at = caret.center() if inside else widget.rect().center()
    QApplication.sendEvent(
        widget,
        QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, widget.mapToGlobal(at)),
    )
