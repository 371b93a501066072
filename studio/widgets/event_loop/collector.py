"""Collects Python's garbage on the window's thread, and nowhere else.

Python collects on whichever thread allocates most, which is the training's. A window, a timer or a
drawing that is garbage would then be destroyed on that thread, where Qt cannot let go of what
belongs to the other: the process ends with the next timer.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

from studio.session.live.scheduler import budget

INTERVAL_MS = 250
"""Collecting stops the training for a moment, so it is done rarely."""


class Collector(QObject):
    """Does what Python would do by itself; made on the window's thread.

    Args:
        parent: as long as this lives.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._has_settled = False
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def settle(self) -> None:
        """Leave everything made so far out of later collections."""
        gc.collect()
        gc.freeze()
        self._has_settled = True

    def close(self) -> None:
        """Collect no more.

        It is not left to Python again: the window has yet to be put away, and an object of Qt that
        is collected while Qt destroys another waits for a lock that is held until then.
        """
        self._timer.stop()
        # What others have left out of collections stays out.
        if self._has_settled:
            gc.unfreeze()

    def _look(self) -> None:
        interval = budget.fact_interval_ms(INTERVAL_MS)
        if interval != self._timer.interval():
            self._timer.setInterval(interval)
        due = [
            generation
            for generation, (count, most) in enumerate(
                zip(gc.get_count(), gc.get_threshold(), strict=True)
            )
            if count > most > 0
        ]
        # A generation is collected with those before it, as Python does, and never without them.
        if 0 in due:
            gc.collect(max(due))
