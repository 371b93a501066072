"""A press that is a click until the pointer has moved, then a drag."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QElapsedTimer, QPointF

from studio.graph_editor.editing.context import Pointer
from studio.graph_editor.editing.interactions.interaction import (
    DRAG_MS,
    DRAG_PIXELS,
    Gestures,
    Interaction,
)

_LEAST_PIXELS = 2


class Press(Interaction):
    """Waits to see what a press becomes.

    Args:
        gestures: where it begins and ends.
        at: where the button was pressed.
        click: what to do when it is released in place.
        drag: makes the gesture it becomes when the pointer moves; None for nothing.
    """

    scrolls = False

    def __init__(
        self,
        gestures: Gestures,
        at: Pointer,
        click: Callable[[Pointer], object] | None,
        drag: Callable[[Pointer], Interaction] | None,
    ) -> None:
        super().__init__(gestures)
        self._start = at
        self._click = click
        self._drag = drag
        self._clock = QElapsedTimer()
        self._clock.start()

    def move(self, at: Pointer) -> None:
        """Become a drag when the pointer has gone far enough."""
        away = _size(at.view - self._start.view)
        late = self._clock.elapsed() >= DRAG_MS
        if self._drag is None or away < (_LEAST_PIXELS if late else DRAG_PIXELS):
            return
        gesture = self._drag(self._start)
        self.gestures.take_over(gesture)
        gesture.move(at)

    def release(self, at: Pointer) -> None:
        self.gestures.end()
        if self._click is not None:
            self._click(at)


def _size(by: QPointF) -> float:
    return float((by.x() ** 2 + by.y() ** 2) ** 0.5)
