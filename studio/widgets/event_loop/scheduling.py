"""Time and threads on Qt's event loop: the scheduler the models are given in the window."""

from __future__ import annotations

import sys
from collections import deque
from threading import Lock
from time import perf_counter

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from studio.session.core.scheduling import Handle, Work

_BUDGET_SECONDS = 0.008
"""Posted work runs this long at a stretch, then the window gets its turn."""


class _Waker(QObject):
    """Carries a call for attention to the window's thread."""

    called = Signal()

    def __init__(self, answer: Work) -> None:
        super().__init__()
        self._answer = answer
        self.called.connect(self._hear, Qt.ConnectionType.QueuedConnection)

    def _hear(self) -> None:
        self._answer()


class _Clock:
    """A timer that rings for one piece of work after another."""

    def __init__(self, home: QObject) -> None:
        self._timed: _Timed | None = None
        self._timer = QTimer(home)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ring)

    def set(self, seconds: float, timed: _Timed) -> None:
        """Ring for this after so many seconds."""
        self._timed = timed
        self._timer.setTimerType(
            Qt.TimerType.PreciseTimer if seconds < 0.1 else Qt.TimerType.CoarseTimer
        )
        self._timer.start(max(0, round(seconds * 1000)))

    def stop(self) -> None:
        """Do not ring."""
        self._timed = None
        self._timer.stop()

    def _ring(self) -> None:
        timed, self._timed = self._timed, None
        if timed is not None:
            timed.run()


class _Timed:
    """Work that a timer will run once."""

    def __init__(self, owner: QtScheduler, clock: _Clock, work: Work) -> None:
        self.clock = clock
        self._owner = owner
        self._work: Work | None = work

    def cancel(self) -> None:
        """Do not run it, if it has not run yet."""
        if self._work is not None:
            self._work = None
            self.clock.stop()
            self._owner.forget(self)

    def run(self) -> None:
        """Its time has come."""
        work, self._work = self._work, None
        self._owner.forget(self)
        if work is not None:
            _run_guarded(work)


class QtScheduler:
    """Runs work on the thread it was made on, which must have Qt's event loop.

    Work that raises is reported through ``sys.excepthook``; what comes after it runs all the same.

    Attributes:
        home: a Qt object of the window's thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._posted: deque[Work] = deque()
        self._called = False
        self._closed = False
        self._timed: set[_Timed] = set()
        self._idle: list[_Clock] = []
        self._waker = _Waker(self._drain)
        self.home: QObject = self._waker

    def call_later(self, seconds: float, work: Work) -> Handle:
        """Run ``work`` once after a while; only to be called on the window's thread."""
        # Some dozens are asked for each second: timers are reused.
        clock = self._idle.pop() if self._idle else _Clock(self.home)
        timed = _Timed(self, clock, work)
        self._timed.add(timed)
        clock.set(seconds, timed)
        return timed

    def post(self, work: Work) -> None:
        """Run ``work`` as soon as the window's thread is free; from any thread, in order."""
        with self._lock:
            if self._closed:
                return
            self._posted.append(work)
            if self._called:
                return
            self._called = True
            self._waker.called.emit()

    def close(self) -> None:
        """Forget everything that waits and take no more work."""
        with self._lock:
            self._closed = True
            self._posted.clear()
        for timed in tuple(self._timed):
            timed.cancel()

    def forget(self, timed: _Timed) -> None:
        """The timer has run or was stopped, and is free for other work."""
        self._timed.discard(timed)
        self._idle.append(timed.clock)

    def _drain(self) -> None:
        end = perf_counter() + _BUDGET_SECONDS
        while True:
            with self._lock:
                if not self._posted:
                    self._called = False
                    return
                work = self._posted.popleft()
            _run_guarded(work)
            if perf_counter() >= end:
                break
        with self._lock:
            self._called = bool(self._posted)
            if self._called:
                self._waker.called.emit()


def _run_guarded(work: Work) -> None:
    try:
        work()
    except Exception:
        sys.excepthook(*sys.exc_info())
