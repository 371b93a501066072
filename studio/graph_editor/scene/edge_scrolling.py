"""Scrolls the canvas while something is dragged to its edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QPointF, QTimer

if TYPE_CHECKING:
    from studio.graph_editor.canvas.view import CanvasView

_EDGE = 20
_PERIOD_MS = 25
_FASTEST = 24


class EdgeScrolling:
    """Pans step by step while the pointer of a gesture is at or beyond the edge.

    Args:
        canvas: what scrolls.
    """

    def __init__(self, canvas: CanvasView) -> None:
        self._canvas = canvas
        self._by = QPoint()
        self._timer = QTimer(canvas)
        self._timer.setInterval(_PERIOD_MS)
        self._timer.timeout.connect(self._step)

    def follow(self, at: QPointF) -> None:
        """The pointer of a gesture is here."""
        room = self._canvas.viewport().rect()
        self._by = QPoint(_speed(at.x(), room.width()), _speed(at.y(), room.height()))
        if self._by.isNull():
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def stop(self) -> None:
        """The gesture ended."""
        self._timer.stop()

    def _step(self) -> None:
        self._canvas.navigation.pan(self._by)
        self._canvas.repeat_move()


def _speed(at: float, room: int) -> int:
    """How far to pan in one step: the further out, the faster."""
    if at < _EDGE:
        return min(_FASTEST, round((_EDGE - at) / 2))
    if at > room - _EDGE:
        return -min(_FASTEST, round((at - room + _EDGE) / 2))
    return 0
