"""Scrolls what has something new to say into sight."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QScrollArea, QWidget


def bring_into_sight(widget: QWidget) -> bool:
    """Scroll every area around a widget until it is seen; whether any of it can be."""
    around = widget.parentWidget()
    while around is not None and not around.isWindow():
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget, 0, 4)
        around = around.parentWidget()
    return not widget.visibleRegion().isEmpty()


def bring_into_sight_soon(widget: QWidget) -> None:
    """Do so once a widget that was just shown has been given its place."""
    QTimer.singleShot(0, widget, lambda: bring_into_sight(widget))
