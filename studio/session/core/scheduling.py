"""Time and threads as the models see them: run something later, or on the window's thread."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from threading import Lock
from typing import Protocol, TypeAlias

Work: TypeAlias = Callable[[], object]


class Handle(Protocol):
    """Something that will run later."""

    def cancel(self) -> None:
        """Do not run it, if it has not run yet."""
        ...


class Scheduler(Protocol):
    """Runs work on the thread of the window."""

    def call_later(self, seconds: float, work: Work) -> Handle:
        """Run ``work`` once after a while; only to be called on the window's thread."""
        ...

    def post(self, work: Work) -> None:
        """Run ``work`` as soon as the window's thread is free; from any thread, in order."""
        ...


class Debounce:
    """Runs work once things have been quiet for a while.

    Args:
        seconds: how long nothing may have asked.
    """

    def __init__(self, scheduler: Scheduler, seconds: float, work: Work) -> None:
        self._scheduler = scheduler
        self._seconds = seconds
        self._work = work
        self._waiting: Handle | None = None

    @property
    def pending(self) -> bool:
        """Whether work is going to run."""
        return self._waiting is not None

    def ask(self) -> None:
        """Run the work after a while without another request."""
        self.cancel()
        self._waiting = self._scheduler.call_later(self._seconds, self._run)

    def flush(self) -> None:
        """Run what waits at once."""
        if self._waiting is not None:
            self.cancel()
            self._work()

    def cancel(self) -> None:
        """Forget what was asked."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _run(self) -> None:
        self._waiting = None
        self._work()


class Throttle:
    """Runs work at most so often: at once after a rest, else at the end of the interval.

    Args:
        seconds: shortest time between two runs.
    """

    def __init__(self, scheduler: Scheduler, seconds: float, work: Work) -> None:
        self._scheduler = scheduler
        self._seconds = seconds
        self._work = work
        self._resting: Handle | None = None
        self._asked = False

    def ask(self) -> None:
        """Run the work now, or once as soon as the interval allows."""
        if self._resting is None:
            self._rest()
            self._work()
        else:
            self._asked = True

    def set_seconds(self, seconds: float) -> None:
        """Change the shortest time between two runs, from the next on."""
        self._seconds = seconds

    def cancel(self) -> None:
        """Forget what was asked."""
        self._asked = False
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None

    def _rest(self) -> None:
        self._resting = self._scheduler.call_later(self._seconds, self._wake)

    def _wake(self) -> None:
        self._resting = None
        if self._asked:
            self._asked = False
            self.ask()


class _Entry:
    def __init__(self, work: Work) -> None:
        self.work: Work | None = work

    def cancel(self) -> None:
        self.work = None


class ManualScheduler:
    """A scheduler with a clock turned by hand, for tests and scripts without a window."""

    def __init__(self) -> None:
        self.now = 0.0
        self._lock = Lock()
        self._posted: list[Work] = []
        self._later: list[tuple[float, int, _Entry]] = []
        self._count = count()

    def call_later(self, seconds: float, work: Work) -> Handle:
        """Run ``work`` when the clock has been turned that far."""
        entry = _Entry(work)
        heapq.heappush(self._later, (self.now + seconds, next(self._count), entry))
        return entry

    def post(self, work: Work) -> None:
        """Run ``work`` at the next `advance`."""
        with self._lock:
            self._posted.append(work)

    def advance(self, seconds: float = 0.0) -> None:
        """Turn the clock and run everything due, posted work first."""
        end = self.now + seconds
        self._run_posted()
        while self._later and self._later[0][0] <= end:
            self.now, _, entry = heapq.heappop(self._later)
            if entry.work is not None:
                entry.work()
            self._run_posted()
        self.now = end

    def _run_posted(self) -> None:
        while True:
            with self._lock:
                work = self._posted.pop(0) if self._posted else None
            if work is None:
                return
            work()
