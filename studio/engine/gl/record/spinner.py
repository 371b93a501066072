"""Keeps a GPU busy before and while what is to be timed is queued.

A small kernel ends before the host has queued the next one, so its measured time would be the
host's. And a GPU that idles while kernels compile lowers its clock within a second or two (an H200
from 1980 to 345 MHz) and needs a third of a second of work to raise it again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.timers import step_timer
from studio.engine.gl.record.recorder import Recording, issue
from studio.engine.gl.shader.planned import PlannedDispatch, TableBinding
from studio.engine.gl.shader.source import assemble, kernel_text

if TYPE_CHECKING:
    from studio.engine.core.tensor import Ref
    from studio.engine.gl.device.buffers import Slice
    from studio.engine.gl.record.device_work import DeviceWork

ISSUE_SECONDS = 10e-6
"""Time the host needs to queue a dispatch, rounded up."""
_MOST_SECONDS = 0.05
SETTLED = 1.02
"""The clock counts as risen if a step takes at most this many times its best time."""
AWAKE_SECONDS = 0.6
"""How long the clock may take to rise."""
_TIMING_STEPS = 200_000
"""Steps by which the clock is read: some milliseconds."""
_LEAST_STEP = 1e-10
"""Seconds no step is shorter than, so that a clock that stands still asks for no endless spin."""
_LOCAL = (1, 1, 1)


class Spinner:
    """A dispatch of a given duration.

    Args:
        work: the device; every method runs on its thread.
    """

    def __init__(self, work: DeviceWork) -> None:
        self._work = work
        self._source = assemble("spin", kernel_text("spin"), [], local=_LOCAL)
        work.compile_all([self._source], None)
        self._step = float("inf")
        self._keep_busy(0.0)

    def cover(self, dispatches: int) -> None:
        """Keep the device busy for about as long as queueing so many dispatches takes."""
        seconds = min(dispatches * ISSUE_SECONDS, _MOST_SECONDS)
        self._spin(int(seconds / self._step) + 1)
        self._work.gl.flush()

    def settle(self) -> None:
        """Keep the device busy until its clock is as high as it was at best."""
        best, now = self._step, self._timed_step()
        if now > SETTLED * best:
            self._keep_busy(SETTLED * best)
        else:
            self._step = min(best, now)

    def _keep_busy(self, enough: float) -> None:
        """Spin until a step takes at most ``enough`` seconds; the time reached is the new best.

        So a device that has become too hot for its former clock is not waited for every time.
        """
        begun = time.monotonic()
        self._step = self._timed_step()
        while self._step > enough and time.monotonic() - begun < AWAKE_SECONDS:
            self._step = self._timed_step()

    def _timed_step(self) -> float:
        """Seconds that one step of the spinning kernel takes now.

        Raises:
            BackendError: the driver answered no time.
        """
        work = self._work
        timer = step_timer(work.gl, work.engine.info)
        try:
            timer.begin(0)
            self._spin(_TIMING_STEPS)
            timer.mark("spin")
            timer.end()
            work.gl.finish()
            samples = timer.collect()
        finally:
            timer.release()
        if not samples:
            raise BackendError("the driver answered no time", who="gl")
        return max(samples[0].seconds[0] / _TIMING_STEPS, _LEAST_STEP)

    def _spin(self, steps: int) -> None:
        work = self._work
        planned = PlannedDispatch(self._source, (TableBinding(bytes(4)),), (1, 1, 1), (steps, 0))
        recording = Recording(
            work.pool, work.engine.info, work.compiled, _no_storage, batch=1, rows=1
        )
        try:
            recording.record([planned])
            issue(work.gl, recording.dispatches)
        finally:
            recording.release()


def _no_storage(ref: Ref) -> Slice:
    raise KeyError(ref)
