"""The one place that decides when tensors are looked at; the window never waits for a picture.

Watched pictures, tensors looked at in turn, and what the window's thread does at the pace of
pictures are requests. One thread serves them. How far apart they lie is up to `LiveBudget`.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from studio.engine.core.signal import Signal
from studio.engine.train.trainer import Trainer
from studio.ui.models.live_budget import RETRY_SECONDS, LiveBudget, Pace
from studio.ui.models.live_resting import Source
from studio.ui.models.scheduling import Scheduler

_LOG = logging.getLogger(__name__)
_LINGER_SECONDS = 1.0
"""How long the thread waits for the next request before it ends."""


class Request(ABC):
    """Something looked at again and again; served on the scheduler's thread."""

    @abstractmethod
    def serve(self, source: Source) -> float:
        """Do what is due; seconds until something may be due again."""

    @abstractmethod
    def drop(self) -> None:
        """Let everything go: it is not served any more."""


class LiveScheduler:
    """Serves all requests from one thread, which lives while there are any, and a little longer.

    Args:
        window: the window's thread.
        budget: says how far apart pictures lie, and whether it is Quiet: then nothing is served.
        keep: asked, on the scheduler's thread, that a fused tensor of a training be kept by a
            recompile.
    """

    def __init__(
        self, window: Scheduler, budget: LiveBudget, keep: Callable[[str, Trainer], None]
    ) -> None:
        self.post = window.post
        self.budget = budget
        self.keep = keep
        self._condition = threading.Condition()
        self._requests: tuple[Request, ...] = ()
        self._gone: tuple[Request, ...] = ()
        self._source = Source()
        self._woken = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def add(self, request: Request) -> None:
        """Serve a request from now on."""
        with self._condition:
            self._requests = (*self._requests, request)
            self._closing = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="glassbox-live", daemon=True)
                self._thread.start()
        self.wake()

    def remove(self, request: Request) -> None:
        """Serve it no longer; what it holds is let go on the scheduler's thread."""
        with self._condition:
            self._requests = tuple(each for each in self._requests if each is not request)
            self._gone = (*self._gone, request)
        self.wake()

    @property
    def source(self) -> Source:
        """Where tensors come from at the moment."""
        return self._source

    def use(self, source: Source) -> None:
        """Take tensors from somewhere else."""
        self._source = source
        self.wake()

    def wake(self) -> None:
        """Something has changed; from any thread."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def close(self) -> None:
        """Let everything go and end the thread."""
        with self._condition:
            self._gone, self._requests = (*self._gone, *self._requests), ()
            self._closing = True
        self.wake()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        delay = 0.0
        while True:
            with self._condition:
                if not self._woken and not self._waited(delay):
                    self._thread = None
                    return
                self._woken = False
                gone, self._gone = self._gone, ()
                requests, source = self._requests, self._source
            for request in gone:
                request.drop()
            delay = RETRY_SECONDS
            for request in () if self.budget.quiet else requests:
                delay = min(delay, self._served(request, source))

    def _waited(self, delay: float) -> bool:
        """Wait until something is due, the lock held; whether the thread is still needed."""
        if self._requests:
            if delay > 0:
                self._condition.wait(delay)
            return True
        if not self._closing and not self._gone:
            self._condition.wait(_LINGER_SECONDS)
        # What came while the lock was not held counts, also where the wait was over just before.
        return self._woken or bool(self._requests or self._gone)

    def _served(self, request: Request, source: Source) -> float:
        try:
            return request.serve(source)
        except Exception:
            # A picture that fails must not take the others with it.
            _LOG.exception("a picture failed")
            return RETRY_SECONDS


class Repeated(Request):
    """Says on the window's thread, at the pace of pictures, that something is due.

    Used on the window's thread.

    Args:
        scheduler: decides when.
        seconds: between two times at least.

    Attributes:
        due: it is time; told on the window's thread.
    """

    def __init__(self, scheduler: LiveScheduler, seconds: float) -> None:
        self.due: Signal[[]] = Signal()
        self._scheduler = scheduler
        self._seconds = seconds
        self._pace = Pace(scheduler.budget)
        self._on = False
        self._posted = False

    @property
    def is_on(self) -> bool:
        """Whether it is due again and again."""
        return self._on

    def set_on(self, on: bool) -> None:
        """Begin, with the first time after ``seconds``, or end."""
        if on == self._on:
            return
        self._on = on
        if on:
            self._pace.rest(self._seconds)
            self._scheduler.add(self)
        else:
            self._scheduler.remove(self)

    def took(self, seconds: float) -> None:
        """What was begun has ended; it is due again later where that took long."""
        self._pace.rest(self._seconds, seconds)

    def serve(self, source: Source) -> float:
        """Tell the window's thread, unless that is still to hear of the last time."""
        rest = self._pace.left
        if not rest and not self._posted:
            self._posted = True
            self._scheduler.post(self._tell)
        return rest or RETRY_SECONDS

    def drop(self) -> None:
        """There is nothing to let go."""

    def _tell(self) -> None:
        self._posted = False
        self._pace.rest(self._seconds)
        if self._on:
            self.due.emit()
