"""Keeps a GPU busy while the host queues what is to be timed, so that it never waits for the host.

Small kernels end sooner than the next is queued; timed as they come, all of them would take what
the host takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.engine.gl.planned import Planned, TableBinding
from studio.engine.gl.recorder import Recording, issue
from studio.engine.gl.source import assemble, kernel_text
from studio.engine.gl.timers import step_timer

if TYPE_CHECKING:
    from studio.engine.core.tensor import Ref
    from studio.engine.gl.buffers import Slice
    from studio.engine.gl.device_work import DeviceWork

ISSUE_SECONDS = 10e-6
"""What the host takes to queue a dispatch, and some more."""
_MOST_SECONDS = 0.05
_FIRST_STEPS = 50_000
_LOCAL = (1, 1, 1)


class Spinner:
    """A dispatch that lasts as long as is asked for.

    Args:
        work: the device; every method runs on its thread.
    """

    def __init__(self, work: DeviceWork) -> None:
        self._work = work
        self._source = assemble("spin", kernel_text("spin"), [], local=_LOCAL)
        work.compile_all([self._source], None)
        timer = step_timer(work.gl, work.engine.info)
        try:
            # The first run wakes the device up, the second is timed.
            self._spin(_FIRST_STEPS)
            work.gl.finish()
            timer.begin(0)
            self._spin(_FIRST_STEPS)
            timer.mark("spin")
            timer.end()
            work.gl.finish()
            samples = timer.collect()
        finally:
            timer.release()
        seconds = samples[0].seconds[0] if samples else 0.0
        self._step = max(seconds, 1e-6) / _FIRST_STEPS

    def cover(self, dispatches: int) -> None:
        """Keep the device busy for about as long as queueing so many dispatches takes."""
        seconds = min(dispatches * ISSUE_SECONDS, _MOST_SECONDS)
        self._spin(int(seconds / self._step) + 1)
        self._work.gl.flush()

    def _spin(self, steps: int) -> None:
        work = self._work
        planned = Planned(self._source, (TableBinding(bytes(4)),), (1, 1, 1), (steps, 0))
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
