"""Snapshots on the device: a ring of buffers with fences, drawn from there or read by kernels.

The engine thread copies the tensor, makes a fence and flushes. Another context that draws the
snapshot waits for that fence on the device, draws, and returns the snapshot with a fence of its
own; the buffer is reused after that fence. Only the engine thread makes and deletes buffers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.readback import PendingRead
from studio.engine.gl.device.transfer import from_device
from studio.engine.gl.live.kernels import Order, elements_of, issue_order
from studio.engine.runtime.live import (
    MOST_SNAPSHOTS,
    After,
    Moment,
    Rendered,
    Snapshot,
    Tap,
)
from studio.engine.runtime.live_sheet import Sheet

if TYPE_CHECKING:
    from studio.engine.core.descriptor import ShapeDescriptor
    from studio.engine.gl.device.buffers import PoolBuffer, Slice
    from studio.engine.gl.device.device import DeviceInfo
    from studio.engine.gl.record.device_work import DeviceWork

SHARED = "shared with the window"
"""How a context was made in which the window's own contexts see buffers; see ``DeviceInfo``."""
_POLL_SECONDS = 0.002

Array = npt.NDArray[Any]


class GlSnapshot(Snapshot):
    """A copy of a tensor in a buffer of its own.

    Args:
        tap: whose it is.
        descriptor: how the elements lie in the buffer.
        moment: when it was captured.
        buffer: lent by the pool.
        fence: behind the copy.
    """

    def __init__(
        self,
        tap: GlTap,
        descriptor: ShapeDescriptor,
        moment: Moment,
        buffer: PoolBuffer,
        fence: int,
    ) -> None:
        super().__init__(tap.name, tap.grad, descriptor.shape, descriptor.dtype, moment)
        self.descriptor = descriptor
        self.buffer = buffer
        self.fence = fence
        self._tap = tap
        self._kept = False
        self._drawn: deque[int] = deque()

    @property
    def device(self) -> DeviceInfo:
        """The device the buffer is on."""
        return self._tap.work.engine.info

    def drawn(self, fence: int) -> None:
        """Register a fence behind drawing commands that read the buffer.

        Called before `release`, with a sync object of a context that shares with the engine's,
        flushed; the engine deletes it.
        """
        self._drawn.append(fence)

    def fences(self) -> list[int]:
        """Fences registered by `drawn` since the last call; for the engine thread."""
        found = list(self._drawn)
        self._drawn.clear()
        return found

    def render(self, sheets: Sequence[Sheet] = (), *, statistics: bool = True) -> Rendered:
        """Statistics and tiles, computed by kernels; waits without stalling the device."""
        order = Order(self.descriptor, tuple(dict.fromkeys(sheets)), statistics)
        if not order.words:
            return Rendered(None, {sheet: order.read(_NOTHING).tiles[sheet] for sheet in sheets})
        work = self._tap.work
        took: list[float] = []

        def begin() -> PendingRead:
            began = time.perf_counter()
            made = issue_order(work, self.buffer.slice(), order)
            try:
                return PendingRead(work.pool, made.slice(0, 4 * order.words))
            finally:
                work.pool.release(made)
                took.append(time.perf_counter() - began)

        found = order.read(self._read(begin))
        return Rendered(found.statistics, found.tiles, sum(took))

    def element(self, index: tuple[int, ...]) -> np.generic:
        """One element; only its word is read."""
        descriptor = self.descriptor
        cell = descriptor.offset + sum(
            at * stride for at, stride in zip(index, descriptor.strides, strict=True)
        )
        size = descriptor.dtype.device_itemsize
        word = cell * size // 4 * 4
        raw = self._read(lambda: PendingRead(self._tap.work.pool, self.buffer.slice(word, 4)))
        shift = (cell * size - word) * 8
        mask = np.uint32((1 << 8 * size) - 1)
        bits = (raw.view(np.uint32) >> np.uint32(shift)) & mask
        value: np.generic = elements_of(descriptor.dtype, bits)[0]
        return value

    def array(self) -> Array:
        """The whole tensor, read back."""
        raw = self._read(lambda: PendingRead(self._tap.work.pool, self.buffer.slice()))
        return from_device(raw, self.descriptor)

    def keep(self) -> None:
        """Hold the buffer for good."""
        if not self._kept:
            self._kept = True
            self._tap.count_off()

    def _recycle(self) -> None:
        self._tap.given_back(self, counted=not self._kept)

    def _read(self, begin: Callable[[], PendingRead]) -> npt.NDArray[np.uint8]:
        """Begin a read on the engine thread and poll until it has arrived."""
        engine = self._tap.work.engine
        pending = engine.call(begin)

        def collect() -> npt.NDArray[np.uint8] | None:
            return pending.result() if pending.ready else None

        while (found := engine.call(collect)) is None:
            engine.stopping.wait(_POLL_SECONDS)
        return found


_NOTHING = np.empty(0, np.uint8)


class GlTap(Tap):
    """A tap whose snapshots lie on the device; see ``runtime.live.Tap``.

    Args:
        work: the device.
        name: of the tensor.
        grad: watch its gradient.
        after: the instruction to look behind.
        ready: called when a snapshot is there.
    """

    def __init__(
        self,
        work: DeviceWork,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(name, grad=grad, after=after, ready=ready)
        self.work = work
        self._returned: deque[GlSnapshot] = deque()
        self._spare: PoolBuffer | None = None
        self._counting = Lock()
        self._in_use = 0
        self._closed_ring = False

    def copy(self, source: Slice, descriptor: ShapeDescriptor, moment: Moment) -> GlSnapshot | None:
        """Copy a storage at this point of the command stream; None if too many copies are in use.

        On the engine thread.

        Raises:
            BackendError: there is no device memory for it.
        """
        self._take_back()
        if self._in_use >= MOST_SNAPSHOTS:
            return None
        buffer, self._spare = self._spare, None
        if buffer is not None and buffer.nbytes != source.nbytes:
            self.work.pool.release(buffer)
            buffer = None
        gl, pool = self.work.gl, self.work.pool
        if buffer is None:
            try:
                buffer = pool.acquire(source.nbytes, f"pictures of {self.name}")
            except BackendError as error:
                raise BackendError(
                    f"not enough device memory for a copy: {error.message}",
                    who=self.name,
                    hint="close other views, or choose a smaller tensor",
                ) from error
        gl.memory_barrier(const.SHADER_STORAGE_BARRIER_BIT | const.BUFFER_UPDATE_BARRIER_BIT)
        pool.copy(source, buffer.slice(0, source.nbytes))
        fence = gl.fence_sync(const.SYNC_GPU_COMMANDS_COMPLETE, 0)
        # Without the flush another context might wait for the fence forever.
        gl.flush()
        if not fence:
            pool.release(buffer)
            raise BackendError("the driver made no fence", who=self.name)
        self._count(1)
        return GlSnapshot(self, descriptor, moment, buffer, fence)

    def given_back(self, snapshot: GlSnapshot, *, counted: bool) -> None:
        """Take back a snapshot that is no longer used; from any thread."""
        self._returned.append(snapshot)
        if counted:
            self._count(-1)
        if self._closed_ring:
            self._free_later()

    def count_off(self) -> None:
        """A snapshot is held for good and counts no longer."""
        self._count(-1)

    def close(self) -> None:
        """Stop capturing, and release unused buffers."""
        super().close()
        self._closed_ring = True
        self._free_later()

    def _count(self, change: int) -> None:
        with self._counting:
            self._in_use += change

    def _free_later(self) -> None:
        if self.work.engine.is_alive:
            self.work.engine.submit(self._free)

    def _free(self) -> None:
        self._take_back()
        if self._spare is not None:
            self.work.pool.release(self._spare)
            self._spare = None

    def _take_back(self) -> None:
        """Make returned buffers reusable, after a device-side wait for drawing commands."""
        gl = self.work.gl
        while self._returned:
            snapshot = self._returned.popleft()
            for fence in snapshot.fences():
                gl.wait_sync(fence, 0, const.TIMEOUT_IGNORED)
                gl.delete_sync(fence)
            gl.delete_sync(snapshot.fence)
            if self._spare is None:
                self._spare = snapshot.buffer
            else:
                self.work.pool.release(snapshot.buffer)
