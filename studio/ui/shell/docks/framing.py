"""Keeps a graph that was just opened whole in sight while the window finds its shape."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

_WAIT_MS = 80
_HANDS = frozenset(
    {QEvent.Type.Wheel, QEvent.Type.MouseButtonPress, QEvent.Type.KeyPress,
     QEvent.Type.NativeGesture, QEvent.Type.DragEnter}
)  # fmt: skip


class Framing(QObject):
    """Frames the graph when the canvas changes its size, until somebody lays hands on it.

    Args:
        canvas: the canvas.
        frame: brings the whole graph into sight.
    """

    def __init__(self, canvas: QWidget, frame: Callable[[], object]) -> None:
        super().__init__(canvas)
        self._frame = frame
        self._is_active = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_WAIT_MS)
        self._timer.timeout.connect(self._due)
        canvas.installEventFilter(self)
        if isinstance(canvas, QAbstractScrollArea):
            canvas.viewport().installEventFilter(self)

    def begin(self) -> None:
        """Another graph was opened."""
        self._is_active = True
        self._timer.start()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if self._is_active:
            if event.type() in _HANDS:
                self._is_active = False
                self._timer.stop()
            elif event.type() is QEvent.Type.Resize:
                self._timer.start()
        return False

    def _due(self) -> None:
        if self._is_active:
            self._frame()
