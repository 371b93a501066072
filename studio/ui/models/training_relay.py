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
        self._work = work
        self._throttle = Throttle(scheduler, seconds, self._run)
        self._lock = Lock()
        self._posted = False
        self._closed = False

    def set_seconds(self, seconds: float) -> None:
        """Change the shortest time between two runs; on the window's thread."""
        self._throttle.set_seconds(seconds)

    def ask(self) -> None:
        """Run the work soon; from any thread. The window is woken once, however many ask."""
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
        if not self._closed:
            self._throttle.ask()

    def _run(self) -> None:
        # Who asks from here on has something that this run may miss.
        with self._lock:
            self._posted = False
        if not self._closed:
            self._work()
