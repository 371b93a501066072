"""Start, pause, step, resume and stop a training from any thread, at the granularity of a step."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Literal, TypeAlias, TypeVar, cast

from studio.engine.core.errors import ParameterError
from studio.engine.core.signal import Signal

State: TypeAlias = Literal["idle", "running", "paused", "stopping", "finished"]

T = TypeVar("T")

UNLIMITED = 1 << 30
"""How many steps `Control.gate` allows without a limit."""
HIGHEST_RATE = 3e38
"""The largest learning rate: devices count in single precision."""

RateUser: TypeAlias = Callable[[float | None], object]


class Control:
    """What a window's buttons do to a training that runs on another thread.

    The methods of the first group may be called from any thread, those of the second by the
    training alone. ``changed`` is emitted with the new state on the thread that changes it.
    """

    def __init__(self) -> None:
        self.changed: Signal[[State]] = Signal()
        self._condition = threading.Condition()
        self._state: State = "idle"
        self._pausing = False
        self._allowed = 0
        self._stopping = False
        self._rate: float | None = None
        self._rate_is_new = False
        self._calls: deque[tuple[Callable[[], object], Future[object]]] = deque()

    # -- for any thread -------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Where the training stands."""
        return self._state

    @property
    def stop_wanted(self) -> bool:
        """Whether the end was asked for."""
        return self._stopping

    def pause(self) -> None:
        """Halt after the step that runs now; before the start, halt before the first step."""
        with self._condition:
            self._pausing, self._allowed = True, 0
            self._condition.notify_all()

    def step(self, count: int = 1) -> None:
        """Run ``count`` steps more and halt again."""
        if count < 1:
            raise ParameterError(f"expected at least one step, got {count}", who="training")
        with self._condition:
            self._pausing = True
            self._allowed += count
            self._condition.notify_all()

    def resume(self) -> None:
        """Go on after a pause."""
        with self._condition:
            self._pausing, self._allowed = False, 0
            self._condition.notify_all()

    def stop(self) -> None:
        """End after the step that runs now; a paused training ends too."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    @property
    def learning_rate(self) -> float | None:
        """The rate that was set, or None for the optimiser's own."""
        return self._rate

    def set_learning_rate(self, rate: float | None) -> None:
        """Use a fixed rate from the next step on; None goes back to the optimiser's own.

        The training takes it at its next gate, paused or not, and emits ``rate_changed``.

        Raises:
            ParameterError: it is below 0, or larger than single precision knows.
        """
        if rate is not None and not 0.0 <= rate <= HIGHEST_RATE:
            raise ParameterError(
                f"expected a number from 0 to {HIGHEST_RATE:g}, got {rate:g}", who="learning rate"
            )
        with self._condition:
            if rate != self._rate:
                self._rate, self._rate_is_new = rate, True
                self._condition.notify_all()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Run ``function`` on the training thread between two steps, paused or not.

        A training that is over runs it at once, on the caller's thread.
        """
        future: Future[T] = Future()
        with self._condition:
            queued = self._state != "finished"
            if queued:
                self._calls.append((function, cast("Future[object]", future)))
                self._condition.notify_all()
        if not queued:
            _settle(function, cast("Future[object]", future))
        return future

    def wait(self, states: Collection[State], timeout: float | None = None) -> bool:
        """Wait until the training is in one of ``states``; False when ``timeout`` seconds pass."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._condition:
            while self._state not in states:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._condition.wait(left)
        return True

    # -- for the training -----------------------------------------------------------------------

    def begin(self) -> None:
        """Enter ``running``; what was asked for before stays wanted, except by an earlier run."""
        if self._state == "finished":
            self._stopping = False
        # What trains now may know of no rate that an earlier run took.
        self._rate_is_new |= self._rate is not None
        self._enter("running")

    def end(self) -> None:
        """Enter ``finished`` and answer the calls still waiting."""
        self._enter("finished")
        self._run_calls()

    def interrupts(self) -> bool:
        """Whether the steps queued so far should be the last before the next `gate`."""
        return self._pausing or self._stopping or self._rate_is_new or bool(self._calls)

    def gate(self, use_rate: RateUser | None = None) -> int:
        """Wait while paused; how many steps may run now, 0 to end the training.

        Args:
            use_rate: called with a rate that was set since the last gate.
        """
        while True:
            self.take_rate(use_rate)
            with self._condition:
                if self._stopping:
                    break
                if not self._pausing or self._allowed:
                    allowed = self._allowed if self._pausing else UNLIMITED
                    break
            self._enter("paused")
            with self._condition:
                while not (
                    self._calls or self._rate_is_new or self._stopping
                    or not self._pausing or self._allowed
                ):  # fmt: skip
                    self._condition.wait()
        if self._stopping:
            self._enter("stopping")
            return 0
        self._enter("running")
        return allowed

    def take_rate(self, use_rate: RateUser | None = None) -> None:
        """Run what waits for the training thread, and use a rate that was set."""
        self._run_calls()
        if self._rate_is_new:
            # Another that is set from here on is seen the next time round.
            self._rate_is_new = False
            if use_rate is not None:
                use_rate(self._rate)

    def spend(self, steps: int) -> None:
        """Count steps that ran against those allowed."""
        with self._condition:
            self._allowed = max(0, self._allowed - steps) if self._pausing else 0

    def _enter(self, state: State) -> None:
        with self._condition:
            if self._state == state:
                return
            self._state = state
            self._condition.notify_all()
        self.changed.emit(state)

    def _run_calls(self) -> None:
        while True:
            with self._condition:
                if not self._calls:
                    return
                function, future = self._calls.popleft()
            _settle(function, future)


def _settle(function: Callable[[], object], future: Future[object]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
