"""Reads that are on their way: issued in order, answered when the device has got there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.gl.device.readback import PendingRead

if TYPE_CHECKING:
    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.buffers import Slice
    from studio.engine.gl.device.engine_thread import EngineThread

Array = npt.NDArray[np.generic]


def read_later(
    engine: EngineThread,
    pool: BufferPool,
    source: Callable[[], Slice],
    convert: Callable[[npt.NDArray[np.uint8]], Array],
) -> Future[Array]:
    """A future of a range's contents as they are behind the work queued before this call.

    The copy is issued in order. The wait for it stands at the end of the engine's queue as it is
    then, so that steps posted in between are issued before anybody waits.

    Args:
        engine: the engine thread.
        pool: lends the staging buffer.
        source: gives the range, on the engine thread.
        convert: makes the array out of the bytes.
    """
    answer: Future[Array] = Future()

    def collect(pending: PendingRead) -> None:
        try:
            answer.set_result(convert(pending.result(engine.stopping)))
        except BaseException as error:
            answer.set_exception(error)

    def begin() -> None:
        try:
            pending = PendingRead(pool, source())
        except BaseException as error:
            answer.set_exception(error)
            return
        _forward_failure(engine.submit(collect, pending), answer)

    _forward_failure(engine.submit(begin), answer)
    return answer


def _forward_failure(job: Future[None], answer: Future[Array]) -> None:
    """Tell the reader when the engine refused the job, so that nobody waits for ever."""

    def look(done: Future[None]) -> None:
        error = done.exception()
        if error is not None and not answer.done():
            answer.set_exception(error)

    job.add_done_callback(look)
