"""Counts what Qt has a widget paint."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget


class Painted(QObject):
    """The parts of a widget that are painted from now on, and how often it is."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.parts: list[QRect] = []
        self.times = 0
        self._widget = widget
        self.settle()
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if isinstance(event, QPaintEvent):
            self.parts += list(event.region())
            self.times += 1
        return False

    def take(self) -> list[QRect]:
        """What was painted since the last call, everything that was asked for included."""
        self.settle()
        found, self.parts = self.parts, []
        return found

    def settle(self) -> None:
        """Have everything laid out and painted that waits for the next picture of the screen."""
        for _ in range(3):
            QApplication.processEvents()
            QApplication.sendPostedEvents()
            # Painting waits for the screen, which is not waited for.
            QApplication.sendEvent(self._widget.window(), QEvent(QEvent.Type.UpdateRequest))
