"""Fetches device data through a staging buffer and a fence, so that no step waits for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.fences import Fence

if TYPE_CHECKING:
    import threading

    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.buffers import Slice
    from studio.engine.gl.device.engine_thread import EngineThread

Array = npt.NDArray[np.generic]


class PendingRead:
    """A copy of a range at this point of the command stream, on its way to the host.

    Later commands may overwrite the range at once; what arrives is its state at this call.

    Args:
        pool: lends the staging buffer; on its thread.
        source: the range to fetch.
    """

    def __init__(self, pool: BufferPool, source: Slice) -> None:
        pool.gl.check_thread()
        self._pool = pool
        self._nbytes = source.nbytes
        self._purpose = source.buffer.purpose
        self._staging = pool.acquire(source.nbytes, f"reading {self._purpose}", kind="readback")
        self._closed = False
        if source.nbytes:
            pool.copy(source, self._staging.slice(0, source.nbytes))
        self._fence = Fence(pool.gl)

    @property
    def ready(self) -> bool:
        """Whether ``result`` would answer without waiting."""
        return self._fence.done

    def result(
        self,
        stopping: threading.Event | None = None,
        out: npt.NDArray[np.uint8] | None = None,
    ) -> npt.NDArray[np.uint8]:
        """The bytes of the range; sleeps without the interpreter lock until they are there.

        The staging buffer goes back to the pool, so this answers once.

        Args:
            stopping: when set, the wait is given up.
            out: where to put them, of the range's length; a new array when None.

        Raises:
            BackendError: the wait was given up because the engine is closing.
            ValueError: ``out`` is not contiguous or has another length, a fault of the program.
        """
        if out is not None and (out.nbytes != self._nbytes or not out.flags.c_contiguous):
            raise ValueError(f"reading {self._purpose} needs room for {self._nbytes} bytes")
        if self._closed:
            raise RuntimeError("a pending read answers once")
        if not self._fence.wait(stopping):
            self.cancel()
            raise BackendError(
                f"reading {self._purpose} was given up: the engine is closing", who="gl"
            )
        data = np.empty(self._nbytes, dtype=np.uint8) if out is None else out
        if self._nbytes:
            self._fetch(data)
        self.cancel()
        return data

    def cancel(self) -> None:
        """Give everything back without waiting for the data."""
        if not self._closed:
            self._closed = True
            self._fence.release()
            self._pool.release(self._staging)

    def _fetch(self, data: npt.NDArray[np.uint8]) -> None:
        mapped = self._staging.allocation.mapped
        if mapped is not None:
            ctypes.memmove(data.ctypes.data, mapped, self._nbytes)
            return
        gl = self._pool.gl
        gl.bind_buffer(const.COPY_READ_BUFFER, self._staging.name)
        gl.get_buffer_sub_data(const.COPY_READ_BUFFER, 0, self._nbytes, data.ctypes.data)
        gl.check(f"reading {self._purpose}")


def read_now(
    pool: BufferPool,
    source: Slice,
    stopping: threading.Event | None = None,
    out: npt.NDArray[np.uint8] | None = None,
) -> npt.NDArray[np.uint8]:
    """Fetch a range and wait for it; the bytes as an array of uint8 (``out`` where given).

    Raises:
        BackendError: the wait was given up because the engine is closing.
    """
    return PendingRead(pool, source).result(stopping, out)


def read_later(
    engine: EngineThread,
    pool: BufferPool,
    source: Callable[[], Slice],
    convert: Callable[[npt.NDArray[np.uint8]], Array],
) -> Future[Array]:
    """A future of a range's contents as they are behind the work queued before this call.

    The copy is issued in order. The wait for it joins the end of the engine's queue afterwards, so
    steps posted in between are issued first.

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
    """Pass on that the engine refused the job, so that the reader does not wait forever."""

    def look(done: Future[None]) -> None:
        error = done.exception()
        if error is not None and not answer.done():
            answer.set_exception(error)

    job.add_done_callback(look)
