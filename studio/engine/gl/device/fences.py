"""Waits for the device without holding the interpreter lock, and keeps few steps in flight."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const

if TYPE_CHECKING:
    import threading

    from studio.engine.gl.device.entry_points import EntryPoints

# One sleep in the driver: short enough that a stop is heard, long enough to cost nothing.
WAIT_SLICE_NS = 25_000_000


AHEAD = 0.004
"""Seconds of work that may be queued, in steps beyond the fewest."""
JUDGED = 8
"""Stretches between fences by which the length of a step is judged."""
LARGEST = 64
"""Steps queued at most."""
FENCES = 2
"""Fences that stand for the steps queued; each takes an H200 ten microseconds."""


class Fence:
    """A point in the device's command stream that can be waited for.

    The commands before it are flushed, so they will finish without further calls.

    Args:
        gl: entry points of the context, on its thread.

    Raises:
        BackendError: the driver made no fence.
    """

    def __init__(self, gl: EntryPoints) -> None:
        self._gl = gl
        handle = gl.fence_sync(const.SYNC_GPU_COMMANDS_COMPLETE, 0)
        if not handle:
            gl.check("making a fence")
            raise BackendError("the driver made no fence", who="gl")
        self._handle: int | None = handle
        gl.flush()

    @property
    def done(self) -> bool:
        """Whether the device has passed the fence; does not wait."""
        return self._poll(0)

    def wait(self, stopping: threading.Event | None = None, timeout: float | None = None) -> bool:
        """Sleep until the device passes the fence.

        Args:
            stopping: when set, the wait is given up within a slice.
            timeout: seconds after which the wait is given up; None waits for ever.

        Returns:
            True when the device has passed; False when the wait was given up.

        Raises:
            BackendError: the driver refused to wait.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._poll(WAIT_SLICE_NS):
            if stopping is not None and stopping.is_set():
                return False
            if deadline is not None and time.monotonic() >= deadline:
                return False
        return True

    def _poll(self, nanoseconds: int) -> bool:
        if self._handle is None:
            return True
        gl = self._gl
        answer = gl.client_wait_sync(self._handle, const.SYNC_FLUSH_COMMANDS_BIT, nanoseconds)
        if answer == const.TIMEOUT_EXPIRED:
            return False
        if answer == const.WAIT_FAILED:
            gl.check("waiting for the device")
            raise BackendError("the driver refused to wait for the device", who="gl")
        self.release()
        return True

    def release(self) -> None:
        """Give the fence back without waiting; it then counts as passed."""
        if self._handle is not None:
            self._gl.delete_sync(self._handle)
            self._handle = None


class StepThrottle:
    """Lets the host run a few steps ahead of the device, and further where steps are short.

    A short step ends before the host wakes up behind its fence, and the device would then wait for
    the host. So as many steps may be queued as the device passes in ``AHEAD``
    seconds, judged by those it has passed last. What is known of their length outlives a break.

    Args:
        gl: entry points of the context, on its thread.
        max_in_flight: steps that may be queued at once, however long they are.
        clock: seconds, for tests.
    """

    def __init__(
        self,
        gl: EntryPoints,
        max_in_flight: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_in_flight < 1:
            raise ValueError("at least one step has to be in flight")
        self._gl = gl
        self._max_in_flight = max_in_flight
        self._fences: deque[tuple[Fence, int]] = deque()
        self._open = 0
        self._clock = clock
        self._passed: deque[tuple[float, int]] = deque(maxlen=JUDGED)
        self._last_passed: float | None = None

    @property
    def in_flight(self) -> int:
        """Steps queued and not known to be finished."""
        return sum(steps for _, steps in self._fences) + self._open

    def step_issued(self, stopping: threading.Event | None = None, *, more: bool = False) -> bool:
        """Mark the end of a step's commands; waits for the oldest if too many are queued.

        Args:
            stopping: when set, the wait is given up.
            more: whether another step follows at once, which may then share a fence with this one.

        Returns:
            False when the wait was given up because ``stopping`` was set.
        """
        self._open += 1
        most = self.most
        if more and self._open * FENCES < most:
            return True
        self.settle()
        while self.in_flight > most:
            fence, steps = self._fences[0]
            if not fence.wait(stopping):
                return False
            self._fences.popleft()
            self._judge(steps)
            most = self.most
        return True

    def _judge(self, steps: int) -> None:
        """Note how long it is since the fence before this one, unless the device rested."""
        now = self._clock()
        if self._last_passed is not None:
            self._passed.append((now - self._last_passed, steps))
        self._last_passed = now

    def settle(self) -> None:
        """Put a fence behind steps that have none yet; the device then finishes them by itself."""
        if self._open:
            self._fences.append((Fence(self._gl), self._open))
            self._open = 0

    @property
    def most(self) -> int:
        """Steps that may be queued now."""
        if len(self._passed) < JUDGED:
            return self._max_in_flight
        seconds, steps = map(sum, zip(*self._passed, strict=True))
        each = seconds / steps
        affordable = LARGEST if each * LARGEST <= AHEAD else int(AHEAD / each)
        return max(self._max_in_flight, affordable)

    def drain(self, stopping: threading.Event | None = None) -> bool:
        """Wait for every step in flight; False when given up."""
        self._last_passed = None
        self.settle()
        while self._fences:
            if not self._fences[0][0].wait(stopping):
                return False
            self._fences.popleft()
        return True

    def release(self) -> None:
        """Forget all steps without waiting."""
        self._open = 0
        while self._fences:
            self._fences.popleft()[0].release()
