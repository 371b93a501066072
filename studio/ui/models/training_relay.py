"""Brings news from a busy thread to the window's, at most so often."""

from __future__ import annotations

from threading import Lock

from studio.ui.models.scheduling import Handle, Scheduler, Work


class Relay:
    """Runs work on the window's thread after anybody asked, many times asked for once.

    Args:
        scheduler: the window's thread.
        seconds: shortest time between two runs.
        work: what to run.
    """

    def __init__(self, scheduler: Scheduler, seconds: float, work: Work) -> None:
        self._scheduler = scheduler
        self._seconds = seconds
        self._work = work
        self._lock = Lock()
        self._asked = False
        self._closed = False
        self._resting: Handle | None = None

    def set_seconds(self, seconds: float) -> None:
        """Change the shortest time between two runs, from the next on; on the window's thread."""
        self._seconds = seconds

    def ask(self) -> None:
        """Run the work soon; from any thread. The window is woken once, however many ask.

        While it rests it is not woken at all: it looks by itself when the rest is over.
        """
        with self._lock:
            if self._asked or self._closed:
                return
            self._asked = True
            if self._resting is not None:
                return
        self._scheduler.post(self._run)

    def close(self) -> None:
        """Run nothing any more."""
        with self._lock:
            self._closed = True
            resting, self._resting = self._resting, None
        if resting is not None:
            resting.cancel()

    def _rested(self) -> None:
        with self._lock:
            self._resting = None
        self._run()

    def _run(self) -> None:
        with self._lock:
            if not self._asked or self._closed or self._resting is not None:
                return
            # Who asks from here on has something that this run may miss.
            self._asked = False
            self._resting = self._scheduler.call_later(self._seconds, self._rested)
        self._work()
