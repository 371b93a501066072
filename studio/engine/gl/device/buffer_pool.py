"""A recycling pool that owns every device buffer of the engine, with counters and a budget.

Buffers are asked for by size and come back rounded up to a size class, so that one given back
serves the next request of about its size without another word with the driver.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.buffers import (
    Allocation,
    BufferKind,
    PoolBuffer,
    Slice,
    size_class,
)
from studio.engine.gl.device.device import LARGEST_BUFFER_BYTES
from studio.engine.runtime.free_memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from studio.engine.gl.device.entry_points import EntryPoints

# What of a range to clear comes from the host; the rest are copies of it.
_UPLOADED_ZEROS = np.zeros(1 << 20, np.uint8)


@dataclass(slots=True)
class PoolCounters:
    """What the pool did and holds.

    Attributes:
        allocated: buffers the driver holds for us.
        in_use: of these, on loan.
        free: of these, waiting to be taken again.
        bytes_allocated: their capacity in all.
        bytes_in_use: of this, on loan.
        bytes_high_water: the most bytes_allocated ever was.
        hits: requests served from the free ones.
        misses: requests that went to the driver.
        budget_bytes: the most the pool may allocate.
    """

    allocated: int = 0
    in_use: int = 0
    free: int = 0
    bytes_allocated: int = 0
    bytes_in_use: int = 0
    bytes_high_water: int = 0
    hits: int = 0
    misses: int = 0
    budget_bytes: int = 0

    def to_json(self) -> dict[str, int]:
        """The same as JSON-ready plain data."""
        return asdict(self)


@dataclass(slots=True)
class _FreeLists:
    """Free buffers by kind and size; the one used longest ago leaves first."""

    by_key: dict[tuple[BufferKind, int], list[Allocation]] = field(default_factory=dict)
    by_age: OrderedDict[int, Allocation] = field(default_factory=OrderedDict)

    def push(self, allocation: Allocation) -> None:
        """Keep a buffer for later."""
        self.by_key.setdefault((allocation.kind, allocation.capacity), []).append(allocation)
        self.by_age[allocation.name] = allocation

    def pop(self, kind: BufferKind, capacity: int) -> Allocation | None:
        """The buffer of that size given back last, if there is one."""
        candidates = self.by_key.get((kind, capacity))
        if not candidates:
            return None
        allocation = candidates.pop()
        del self.by_age[allocation.name]
        return allocation

    def pop_oldest(self) -> Allocation | None:
        """The free buffer untouched for longest, if there is one."""
        if not self.by_age:
            return None
        _, allocation = self.by_age.popitem(last=False)
        self.by_key[allocation.kind, allocation.capacity].remove(allocation)
        return allocation


class BufferPool:
    """Lends device buffers and takes them back; every method runs on the engine thread.

    Recycling needs no fence: the device works through one stream of commands in order.

    Args:
        gl: entry points of the context.
        budget_bytes: the most the pool may allocate; asking for more is refused beforehand.
        max_buffer_bytes: the most one buffer may hold.
    """

    def __init__(
        self, gl: EntryPoints, *, budget_bytes: int, max_buffer_bytes: int = LARGEST_BUFFER_BYTES
    ) -> None:
        self.gl = gl
        self.max_buffer_bytes = max_buffer_bytes
        self._free = _FreeLists()
        self._lent: dict[int, Allocation] = {}
        self._counters = PoolCounters(budget_bytes=budget_bytes)
        self._copied: set[int] = set()

    def counters(self) -> PoolCounters:
        """A copy of the counters; may be asked for from any thread."""
        current = self._counters
        return PoolCounters(**asdict(current))

    def acquire(
        self, nbytes: int, purpose: str, *, zero: bool = False, kind: BufferKind = "device"
    ) -> PoolBuffer:
        """Lend a buffer of at least ``nbytes``; its contents are undefined unless ``zero``.

        Args:
            nbytes: bytes needed; none counts as one class.
            purpose: what it is for, in words an error message can use.
            zero: fill the whole buffer with zero bits.
            kind: ``device`` for work on the device, ``readback`` for results the host fetches,
                ``exchange`` for what the host fetches and gives back.

        Raises:
            BackendError: larger than one buffer may be, beyond the budget, or refused by the
                driver; names size and purpose.
        """
        self.gl.check_thread()
        if nbytes > self.max_buffer_bytes:
            raise BackendError(
                f"{purpose} needs {format_bytes(nbytes)} in one buffer, the most this device "
                f"takes is {format_bytes(self.max_buffer_bytes)}",
                who="gl",
                hint="use a smaller batch or a smaller layer",
            )
        capacity = self._capacity(nbytes)
        counters = self._counters
        allocation = self._free.pop(kind, capacity)
        if allocation is not None:
            counters.hits += 1
            counters.free -= 1
        else:
            counters.misses += 1
            self._make_room(capacity, nbytes, purpose)
            allocation = self._allocate(capacity, kind, purpose)
        counters.in_use += 1
        counters.bytes_in_use += allocation.capacity
        self._lent[allocation.name] = allocation
        buffer = PoolBuffer(allocation, nbytes, purpose)
        if zero:
            self.clear(buffer.slice(0, allocation.capacity))
        return buffer

    def acquire_all(self, sizes: Sequence[int], purpose: str) -> list[PoolBuffer]:
        """Lend several device buffers for one purpose, or none of them.

        Raises:
            BackendError: as ``acquire`` does; beyond the budget it names the sum of the sizes.
        """
        self.gl.check_thread()
        counters = self._counters
        together = sum(map(self._capacity, sizes))
        if counters.bytes_in_use + together > counters.budget_bytes:
            raise self._beyond_budget(sum(sizes), purpose)
        found: list[PoolBuffer] = []
        try:
            for number, nbytes in enumerate(sizes, 1):
                which = f"part {number} of {len(sizes)} of " if len(sizes) > 1 else ""
                found.append(self.acquire(nbytes, which + purpose))
        except BaseException:
            for buffer in found:
                self.release(buffer)
            raise
        return found

    def release(self, buffer: PoolBuffer) -> None:
        """Take a buffer back; the handle is dead afterwards.

        Raises:
            RuntimeError: it was given back before, a fault of the program.
        """
        self.gl.check_thread()
        allocation = buffer.detach()
        del self._lent[allocation.name]
        self._free.push(allocation)
        counters = self._counters
        counters.in_use -= 1
        counters.free += 1
        counters.bytes_in_use -= allocation.capacity

    def trim(self) -> int:
        """Delete all free buffers; returns the bytes given back to the driver."""
        self.gl.check_thread()
        released = 0
        while (allocation := self._free.pop_oldest()) is not None:
            released += allocation.capacity
            self._counters.free -= 1
            self._delete(allocation)
        return released

    def close(self) -> None:
        """Delete every buffer, those on loan too."""
        self.trim()
        for allocation in self._lent.values():
            self._delete(allocation)
        self._lent.clear()
        self._counters.in_use = 0
        self._counters.bytes_in_use = 0

    def clear(self, target: Slice) -> None:
        """Fill a range with zero bits."""
        if target.nbytes == 0:
            return
        # glClearBufferSubData as a fresh buffer's first use costs NVIDIA (580.159) 0.6 s a GiB.
        buffer, begin = target.buffer, target.offset
        done = min(target.nbytes, _UPLOADED_ZEROS.nbytes)
        self.upload(buffer.slice(begin, done), _UPLOADED_ZEROS[:done])
        while done < target.nbytes:
            more = min(done, target.nbytes - done)
            self.copy(buffer.slice(begin, more), buffer.slice(begin + done, more))
            done += more
        self._settle()

    def upload(self, target: Slice, data: npt.NDArray[np.generic] | bytes | memoryview) -> None:
        """Copy host memory into a range, in one piece and without the interpreter lock.

        Args:
            target: where to; at least as long as the data.
            data: C-contiguous memory of any element type.

        Raises:
            ValueError: the data is longer than the range, a fault of the program.
        """
        self.gl.check_thread()
        source = np.frombuffer(data, dtype=np.uint8)
        if source.nbytes > target.nbytes:
            raise ValueError(
                f"{source.nbytes} bytes do not fit the {target.nbytes} of {target.buffer.purpose}"
            )
        if source.nbytes == 0:
            return
        gl, name = self.gl, target.buffer.name
        # NVIDIA (580.159) carries an upload out before queued copies of its buffer, and one that is
        # no whole words before an earlier upload to a new buffer.
        if name in self._copied or source.nbytes % 4 or target.offset % 4:
            self._settle()
        gl.memory_barrier(const.BUFFER_UPDATE_BARRIER_BIT)
        gl.bind_buffer(const.COPY_WRITE_BUFFER, name)
        gl.buffer_sub_data(
            const.COPY_WRITE_BUFFER, target.offset, source.nbytes, source.ctypes.data
        )
        gl.check(f"uploading {format_bytes(source.nbytes)} to {target.buffer.purpose}")

    def copy(self, source: Slice, target: Slice) -> None:
        """Copy one range into another of the same length on the device.

        Raises:
            ValueError: the lengths differ, a fault of the program.
        """
        self.copy_all([(source, target)])

    def copy_all(self, pairs: Sequence[tuple[Slice, Slice]]) -> None:
        """Copy ranges, each into one of the same length, on the device; as `copy` does."""
        gl = self.gl
        gl.memory_barrier(const.BUFFER_UPDATE_BARRIER_BIT)
        for source, target in pairs:
            if source.nbytes != target.nbytes:
                raise ValueError(f"cannot copy {source.nbytes} bytes onto {target.nbytes}")
            gl.bind_buffer(const.COPY_READ_BUFFER, source.buffer.name)
            gl.bind_buffer(const.COPY_WRITE_BUFFER, target.buffer.name)
            gl.copy_buffer_sub_data(
                const.COPY_READ_BUFFER,
                const.COPY_WRITE_BUFFER,
                source.offset,
                target.offset,
                source.nbytes,
            )
            self._copied.update((source.buffer.name, target.buffer.name))
        source, target = pairs[0]
        gl.check(f"copying {source.buffer.purpose} to {target.buffer.purpose}")

    def _settle(self) -> None:
        """Wait until nothing is queued that an upload could overtake."""
        self.gl.finish()
        self._copied.clear()

    def _capacity(self, nbytes: int) -> int:
        """What a buffer for a request holds."""
        return min(size_class(nbytes), self.max_buffer_bytes)

    def _make_room(self, capacity: int, nbytes: int, purpose: str) -> None:
        """Give free buffers back to the driver until the new one fits the budget."""
        counters = self._counters
        while counters.bytes_allocated + capacity > counters.budget_bytes:
            allocation = self._free.pop_oldest()
            if allocation is None:
                raise self._beyond_budget(nbytes, purpose)
            counters.free -= 1
            self._delete(allocation)

    def _beyond_budget(self, nbytes: int, purpose: str) -> BackendError:
        counters = self._counters
        return BackendError(
            f"{purpose} needs {format_bytes(nbytes)} of device memory, but "
            f"{format_bytes(counters.bytes_in_use)} of the "
            f"{format_bytes(counters.budget_bytes)} allowed are in use",
            who="gl",
            hint="use a smaller batch, or train with --backend cpu",
        )

    def _allocate(self, capacity: int, kind: BufferKind, purpose: str) -> Allocation:
        gl = self.gl
        name = ctypes.c_uint()
        gl.gen_buffers(1, ctypes.byref(name))
        gl.bind_buffer(const.COPY_WRITE_BUFFER, name.value)
        allocation = Allocation(name.value, capacity, kind)
        self._reserve(allocation)
        error = gl.get_error()
        if error != const.NO_ERROR:
            gl.delete_buffers(1, ctypes.byref(name))
            reason = const.ERROR_NAMES.get(error, hex(error))
            raise BackendError(
                f"the driver refused {format_bytes(capacity)} for {purpose} ({reason})",
                who="gl",
                hint="close other programs that use the graphics card, or use a smaller batch",
            )
        counters = self._counters
        counters.allocated += 1
        counters.bytes_allocated += capacity
        counters.bytes_high_water = max(counters.bytes_high_water, counters.bytes_allocated)
        return allocation

    def _reserve(self, allocation: Allocation) -> None:
        """Reserve storage for the buffer bound to the copy-write target."""
        gl, size = self.gl, allocation.capacity
        target = const.COPY_WRITE_BUFFER
        if gl.buffer_storage is None:
            usage = const.STATIC_COPY if allocation.kind == "device" else const.STREAM_READ
            gl.buffer_data(target, size, None, usage)
            return
        # Immutable storage says what it is for, so the driver does not move it between memories
        # according to how it happens to be used.
        if allocation.kind == "device":
            gl.buffer_storage(target, size, None, const.DYNAMIC_STORAGE_BIT)
            return
        access = const.MAP_READ_BIT | const.MAP_PERSISTENT_BIT | const.MAP_COHERENT_BIT
        if allocation.kind == "exchange":
            access |= const.MAP_WRITE_BIT
        gl.buffer_storage(target, size, None, access | const.CLIENT_STORAGE_BIT)
        allocation.mapped = gl.map_buffer_range(target, 0, size, access)

    def _delete(self, allocation: Allocation) -> None:
        gl = self.gl
        if allocation.mapped is not None:
            gl.bind_buffer(const.COPY_WRITE_BUFFER, allocation.name)
            gl.unmap_buffer(const.COPY_WRITE_BUFFER)
        name = ctypes.c_uint(allocation.name)
        gl.delete_buffers(1, ctypes.byref(name))
        self._counters.allocated -= 1
        self._counters.bytes_allocated -= allocation.capacity
