"""Where the time of running steps goes: every step by the clock, now and then one instrumented.

An instrumented step is a step of the training like any other: the executable runs its second,
instrumented list of the same kernels instead of the plain one, so weights come out the same.
Windows that hold instrumented steps take turns with windows that hold none; the difference between
the two is what measuring costs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.profiler.events import Profile
from studio.engine.profiler.thread_clock import ThreadClock
from studio.engine.runtime.backend import Executable

Part: TypeAlias = Literal["steps", "instrumented", "data", "transfers", "reports", "waiting"]

PARTS: tuple[Part, ...] = get_args(Part)

ROW: tuple[str, ...] = ("count", "total", "busy", "workers", "interface", *PARTS)
"""What stands in the row of a window: its steps, all its time, processor times, and the parts."""

WINDOW_STEPS = 32
WINDOW_SECONDS = 0.5
_LEAST_PLAIN = 2
_PLAIN_BETWEEN = 3
_KEPT = 512


@dataclass(frozen=True)
class InstrumentedStep:
    """One step that ran instrumented.

    Attributes:
        step: number of the step, as the training counts.
        when: the clock (`time.perf_counter`) when it began.
        seconds: how long it took with everything measuring adds.
        profile: what its kernels took.
    """

    step: int
    when: float
    seconds: float
    profile: Profile

    @cached_property
    def kernel_seconds(self) -> npt.NDArray[np.float64]:
        """What each kernel took; summed up with hundreds of other steps again and again."""
        return np.array([event.duration_us for event in self.profile.events]) * 1e-6


@dataclass(frozen=True)
class StepWindow:
    """Some steps of a training in a row, of full batches.

    Attributes:
        steps: plain steps in it.
        seconds: wall time by what was done; sums to the time the window took, ``waiting`` left out.
        busy: processor seconds of the training thread while plain steps ran.
        workers: processor seconds of the device's own threads in the same time.
        interface: processor seconds of the watched other thread in the same time.
        instrumented: the steps that ran instrumented.
    """

    steps: int
    seconds: Mapping[str, float]
    busy: float
    workers: float
    interface: float
    instrumented: tuple[InstrumentedStep, ...] = ()

    @cached_property
    def total(self) -> float:
        """Wall time of the window."""
        return sum(self.seconds.values())

    @cached_property
    def row(self) -> tuple[float, ...]:
        """Its numbers in the order of `ROW`: hundreds of windows are summed up again and again."""
        own = (self.steps, self.total, self.busy, self.workers, self.interface)
        return (*own, *(self.seconds.get(part, 0.0) for part in PARTS))


@dataclass
class _Open:
    """The window being filled."""

    steps: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    busy: float = 0.0
    workers: float = 0.0
    interface: float = 0.0
    instrumented: list[InstrumentedStep] = field(default_factory=list)


@dataclass(frozen=True)
class _Moment:
    """Readings of all clocks."""

    wall: float
    busy: float
    workers: float
    interface: float


class StepSampler:
    """Watches steps from the training thread; finished windows may be taken by any other thread.

    Args:
        workers: clocks of the device's own threads, beside the training thread.
        interface: clock of another thread whose part in the time is wanted, the window's.
        interval: least seconds between two instrumented steps.
        share: most of the time that measuring may take; slow instruments make it rarer.
        told: called on the training thread when a window is finished.
    """

    def __init__(
        self,
        workers: Sequence[ThreadClock] = (),
        interface: ThreadClock | None = None,
        *,
        interval: float = 0.12,
        share: float = 0.005,
        told: Callable[[], object] | None = None,
    ) -> None:
        self.can_see_interface = interface is not None
        self.cost = 0.0
        self.last_seconds = 0.0
        self._workers = tuple(workers)
        self._interface = interface
        self._interval = interval
        self._share = share
        self._told = told
        self._done: deque[StepWindow] = deque(maxlen=_KEPT)
        self._window = _Open()
        self._measures = True
        self._due = 0.0
        self._pace = 0.0
        self._last: _Moment | None = None

    # -- for anybody ----------------------------------------------------------------------------

    def take(self) -> list[StepWindow]:
        """The windows finished since the last call, oldest first."""
        taken = []
        while self._done:
            taken.append(self._done.popleft())
        return taken

    # -- for the training -----------------------------------------------------------------------

    def wants(self) -> bool:
        """Whether the next step should run instrumented."""
        window = self._window
        if not self._measures or self._last is None or time.perf_counter() < self._due:
            return False
        return window.steps >= _PLAIN_BETWEEN * len(window.instrumented)

    def run(self, executable: Executable, step: int) -> int:
        """Run one step instrumented; 1, the steps it ran."""
        # What is still queued belongs to the plain steps before.
        executable.finish()
        self.lap("steps")
        begun = time.perf_counter()
        profile = executable.profile(1, while_busy=True)
        ended = time.perf_counter()
        self._window.instrumented.append(InstrumentedStep(step, begun, ended - begun, profile))
        self.last_seconds = ended - begun
        self.cost = max(0.0, ended - begun - self._pace) if self._pace else 0.0
        self._due = ended + max(self._interval, self.cost / self._share)
        self.lap("instrumented")
        return 1

    def lap(self, part: Part, steps: int = 0) -> None:
        """Count the time since the last lap as ``part``; ``steps`` plain steps ended in it."""
        now, last = self._now(), self._last
        self._last = now
        if last is None or part == "waiting":
            return
        window = self._window
        passed = now.wall - last.wall
        window.seconds[part] = window.seconds.get(part, 0.0) + passed
        if part == "steps":
            window.steps += steps
            window.busy += now.busy - last.busy
            window.workers += now.workers - last.workers
            window.interface += now.interface - last.interface
        elif part == "reports":
            # The last lap of a round of the loop: what a round costs stays in one window.
            self._close_window()

    def _now(self) -> _Moment:
        workers = sum(clock.seconds for clock in self._workers)
        interface = 0.0 if self._interface is None else self._interface.seconds
        return _Moment(time.perf_counter(), time.thread_time(), workers, interface)

    def _close_window(self) -> None:
        """End the window once it is long enough."""
        window = self._window
        long = window.steps + len(window.instrumented) >= WINDOW_STEPS
        slow = sum(window.seconds.values()) >= WINDOW_SECONDS and window.steps >= _LEAST_PLAIN
        if not (long or slow) or window.steps == 0:
            return
        self._pace = window.seconds.get("steps", 0.0) / window.steps
        self._done.append(
            StepWindow(
                window.steps,
                window.seconds,
                window.busy,
                window.workers,
                window.interface,
                tuple(window.instrumented),
            )
        )
        self._window = _Open()
        self._measures = not self._measures
        if self._told is not None:
            self._told()
