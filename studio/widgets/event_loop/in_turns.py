"""Sliced work: one part in each turn of the event loop, so that the window stays responsive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer


class InTurns(QObject):
    """Does the same parts in order, as often as asked for; made on the window's thread.

    Args:
        parts: what is done; each looks at the models as they are when its turn comes.
        parent: as long as this lives.
    """

    def __init__(self, parts: Sequence[Callable[[], object]], parent: QObject) -> None:
        super().__init__(parent)
        self._parts = tuple(parts)
        self._left: deque[Callable[[], object]] = deque()
        self._again = False
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._next)

    @property
    def is_at_work(self) -> bool:
        """Whether a part is still to be done."""
        return bool(self._left) or self._again

    def begin(self) -> None:
        """Do all parts from the first; if some are left, finish these before.

        Frequent calls would otherwise never reach the last part.
        """
        if self._left:
            self._again = True
            return
        self._left.extend(self._parts)
        self._timer.start()

    def stop(self) -> None:
        """Leave out what is still to be done."""
        self._left.clear()
        self._again = False
        self._timer.stop()

    def _next(self) -> None:
        part = self._left.popleft()
        if not self._left:
            self._timer.stop()
            if self._again:
                self._again = False
                self.begin()
        part()
