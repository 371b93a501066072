"""The one place that decides when tensors are looked at; the window never waits for a picture.

Watched pictures, tensors looked at in turn, and what the window's thread does at the pace of
pictures are requests. One thread serves them. How far apart they lie is up to `LiveBudget`.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Literal, TypeAlias

from studio.engine.core.signal import Signal
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.train.loop.trainer import Trainer
from studio.session.core.scheduling import Handle, Scheduler
from studio.session.live.sources import Source
from studio.session.profiling.profiling import ProfilingModel
from studio.session.training.session_base import EVENT_SECONDS
from studio.session.training.state import State
from studio.session.training.training import TrainingModel

Kind: TypeAlias = Literal["picture", "fact"]
"""What a live refresh draws: a picture, or a line of text that should never be hidden."""

RUNNING: frozenset[State] = frozenset({"running", "pausing", "stopping"})

BUDGET = 0.025
"""Share of one core that the window's thread may take while a training runs."""

SHARE = 0.03
"""Part of the time that the pictures of one tensor may take from a training."""

QUIET_FACT_MS = 1000
MOST_FACT_MS = 500
MOST_LOOK_SECONDS = 1.2
"""Tensors looked at more often than this are never looked at less often for the window's sake."""
RETRY_SECONDS = 0.5
_MEASURE_SECONDS = 0.5
_MOST = 12.0
_CALM = 0.75


class TimeSpent:
    """How much of the last seconds pictures took from a training; from any thread.

    Args:
        window: seconds looked back on.
    """

    def __init__(self, window: float = 2.0, clock: Callable[[], float] = time.perf_counter) -> None:
        self._window = window
        self._clock = clock
        self._lock = Lock()
        self._spent: deque[tuple[float, float]] = deque()

    def add(self, seconds: float) -> None:
        """Count work that has just ended."""
        with self._lock:
            self._spent.append((self._clock(), seconds))
            self._forget()

    @property
    def share(self) -> float:
        """Part of the time, 0 to 1."""
        with self._lock:
            self._forget()
            return min(1.0, sum(seconds for _, seconds in self._spent) / self._window)

    def _forget(self) -> None:
        end = self._clock() - self._window
        while self._spent and self._spent[0][0] < end:
            self._spent.popleft()


class LiveBudget:
    """How far apart live pictures and facts are to lie; settings change on the window's thread.

    NumPy and OpenGL calls of the training wait for the interpreter while the window's thread runs
    Python. Pictures are therefore spaced out until that thread stays within `BUDGET`; where they
    cost little they keep the rate they ask for. Quiet stops pictures and lets facts change once a
    second.

    Attributes:
        quiet_changed: Quiet was switched on or off.
        pictures_go_on: pictures that were stopped may be drawn again.
        spent: what copies and drawing of tensors took from the training.
    """

    def __init__(self) -> None:
        self.quiet_changed: Signal[[bool]] = Signal()
        self.pictures_go_on: Signal[[]] = Signal()
        self.spent = TimeSpent()
        self.runs = False
        self.stretch = 1.0
        self.quiet = False
        self.share = 0.0
        self._clock: ThreadClock | None = None
        self._timer: Handle | None = None
        self._measured = 0.0
        self._used = 0.0
        self._scheduler: weakref.ref[Scheduler] | None = None
        self._training: weakref.ref[TrainingModel] | None = None
        self._profiling: weakref.ref[ProfilingModel] | None = None

    def follow(
        self, training: TrainingModel, profiling: ProfilingModel, scheduler: Scheduler
    ) -> None:
        """Watch the window's thread while this training runs, and hear of Quiet.

        Args:
            training: the one that pictures are not to slow down; the one before is left.
            profiling: says whether it is to be Quiet.
        """
        self._leave()
        self._training, self._profiling = weakref.ref(training), weakref.ref(profiling)
        self._scheduler = weakref.ref(scheduler)
        training.state_changed.connect(self.training_changed)
        profiling.quiet_changed.connect(self.set_quiet)
        self.training_changed(training.state)
        self.set_quiet(profiling.quiet)

    def _leave(self) -> None:
        self._end()
        training = None if self._training is None else self._training()
        if training is not None:
            training.state_changed.disconnect(self.training_changed)
        profiling = None if self._profiling is None else self._profiling()
        if profiling is not None:
            profiling.quiet_changed.disconnect(self.set_quiet)

    def set_quiet(self, quiet: bool) -> None:
        """Stop pictures, or let them go on: of tensors at once, others while a training runs."""
        stopped, changed = self.stops_pictures, quiet != self.quiet
        self.quiet = quiet
        self._turn(stopped)
        if changed:
            self.quiet_changed.emit(quiet)

    @property
    def stops_pictures(self) -> bool:
        """Whether no live picture is to be drawn now."""
        return self.quiet and self.runs

    def training_changed(self, state: State) -> None:
        """A training runs, or does no longer; on the window's thread."""
        stopped = self.stops_pictures
        self.runs = state in RUNNING
        if not self.runs:
            self.stretch = 1.0
        self._turn(stopped)

    def _turn(self, stopped: bool) -> None:
        """Measure while pictures are drawn beside a training, and at no other time."""
        measures = self.runs and not self.quiet
        if measures and self._timer is None:
            self._begin()
        elif not measures and self._timer is not None:
            self._end()
        self._tell_training()
        if stopped and not self.stops_pictures:
            self.pictures_go_on.emit()

    def _tell_training(self) -> None:
        # Reports that are not shown before the next fact need not wake the window.
        training = None if self._training is None else self._training()
        if training is not None:
            wanted = round(1e3 * EVENT_SECONDS)
            training.set_event_seconds(1e-3 * self.fact_interval_ms(wanted))

    def _begin(self) -> None:
        self._clock = ThreadClock.of_this_thread()
        if self._clock is not None:
            self._measured, self._used = time.perf_counter(), self._clock.seconds
            self._measure_later()

    def _measure_later(self) -> None:
        scheduler = None if self._scheduler is None else self._scheduler()
        if scheduler is not None:
            self._timer = scheduler.call_later(_MEASURE_SECONDS, self._measure)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.share = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether pictures of tensors have lately taken all they may."""
        return self.spent.share > SHARE

    def interval_ms(self, kind: Kind, wanted: int) -> int | None:
        """How long a refresh is to wait for the next; None where it is not to come at all.

        Args:
            wanted: milliseconds it would like to wait.
        """
        if kind == "fact":
            return self.fact_interval_ms(wanted)
        return None if self.stops_pictures else round(wanted * self.stretch)

    def fact_interval_ms(self, wanted: int) -> int:
        """How long a fact is to wait for the next, which comes in any case."""
        if self.stops_pictures:
            return max(wanted, QUIET_FACT_MS)
        # Two places that tell the same fact must not be seconds apart.
        return min(round(wanted * self.stretch), max(wanted, MOST_FACT_MS))

    def _measure(self) -> None:
        if self._clock is None:
            return
        now, used = time.perf_counter(), self._clock.seconds
        passed = now - self._measured
        # What comes late saw a window that could not work, not one that had nothing to do.
        if passed < 2 * _MEASURE_SECONDS:
            self.adapt((used - self._used) / max(1e-3, passed))
        self._measured, self._used = now, used
        self._measure_later()

    def adapt(self, share: float) -> None:
        """Take a share that was measured and space refreshes out, or let them come closer."""
        # Half of the past, so that one large paint does not freeze everything.
        self.share = share if self.share == 0.0 else (self.share + share) / 2
        if self.share > BUDGET:
            self.stretch = min(_MOST, self.stretch * min(2.0, self.share / BUDGET))
        elif self.share < _CALM * BUDGET:
            self.stretch = max(1.0, self.stretch * 0.85)
        self._tell_training()


class Pace:
    """When one thing is looked at next; used on one thread.

    Args:
        budget: what all pictures share.
    """

    def __init__(self, budget: LiveBudget) -> None:
        self._budget = budget
        self._due = 0.0

    @property
    def left(self) -> float:
        """Seconds until the next look; 0 where it is due."""
        return max(0.0, self._due - time.perf_counter())

    def rest(self, wanted: float, spent: float = 0.0) -> None:
        """A look was taken: the next comes after as long as wanted, or later.

        Args:
            wanted: seconds.
            spent: seconds the look took from the training.
        """
        self._budget.spent.add(spent)
        spaced = min(wanted * self._budget.stretch, max(wanted, MOST_LOOK_SECONDS))
        wait = max(spaced, spent / SHARE)
        self._due = time.perf_counter() + wait

    def spend(self, seconds: float, *, postpones: bool = True) -> None:
        """The look took more; the next comes that much later, except where nothing is trained."""
        self._budget.spent.add(seconds)
        if postpones:
            self._due += seconds / SHARE

    def retry(self) -> None:
        """Nothing could be seen: try again after a while."""
        self._due = time.perf_counter() + RETRY_SECONDS

    def hurry(self) -> None:
        """Look at once."""
        self._due = 0.0


budget = LiveBudget()
"""The budget of this process's window."""


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
        """Release everything: it is not served any more."""


class LiveScheduler:
    """Serves all requests from one thread, which lives while there are any, and a little longer.

    Args:
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
        self.source = Source()
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

    def use(self, source: Source) -> None:
        """Take tensors from somewhere else."""
        self.source = source
        self.wake()

    def wake(self) -> None:
        """Something has changed; from any thread."""
        with self._condition:
            self._woken = True
            self._condition.notify()

    def close(self) -> None:
        """Release everything and end the thread."""
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
                requests, source = self._requests, self.source
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
        seconds: between two times at least.

    Attributes:
        due: it is time; emitted on the window's thread.
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
