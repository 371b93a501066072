"""Brings news from a busy thread to the window's, at most so often."""

from __future__ import annotations

from threading import Lock

from studio.ui.models.scheduling import Scheduler, Throttle, Work


class Relay:
    """Runs work on the window's thread after anybody asked, many times asked for once.

    Args:
        scheduler: the window's thread.
        seconds: shortest time between two runs.
        work: what to run.
    """

    def __init__(self, scheduler: Scheduler, seconds: float, work: Work) -> None:
        self._scheduler = scheduler
        self._throttle = Throttle(scheduler, seconds, work)
        self._lock = Lock()
        self._posted = False
        self._closed = False

    def ask(self) -> None:
        """Run the work soon; from any thread."""
        with self._lock:
            if self._posted or self._closed:
                return
            self._posted = True
        self._scheduler.post(self._hear)

    def close(self) -> None:
        """Run nothing any more."""
        self._closed = True
        self._throttle.cancel()

    def _hear(self) -> None:
        with self._lock:
            self._posted = False
        if not self._closed:
            self._throttle.ask()
