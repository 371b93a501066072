"""Persistent tensors on the device, by name: parameters, slots, statistics, data, step blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Role, Tensor
from studio.engine.gl.device.readback import read_later
from studio.engine.gl.device.transfer import from_device, to_device
from studio.engine.gl.live.live import GlTap
from studio.engine.gl.plan.persistent_buffers import BufferGroup, persistent_buffers
from studio.engine.runtime.live import After
from studio.engine.runtime.requirements import check_ensured, is_held, too_large
from studio.engine.runtime.transfers import checked_rows, checked_values, failed

if TYPE_CHECKING:
    from studio.engine.core.descriptor import ShapeDescriptor
    from studio.engine.core.tensor import Shape
    from studio.engine.gl.device.buffers import PoolBuffer, Slice
    from studio.engine.gl.record.device_work import DeviceWork

Array = npt.NDArray[np.generic]

_UNDERWAY = 4
"""Uploads that may be in flight."""


@dataclass(frozen=True)
class Held:
    """A persistent tensor and where it is.

    Attributes:
        tensor: as a program declared it.
        descriptor: its layout, symbols bound.
        where: its range.
    """

    tensor: Tensor
    descriptor: ShapeDescriptor
    where: Slice


class GlSession:
    """Keeps tensors between runs; see ``runtime.backend.BackendSession``.

    Args:
        work: the device.
    """

    def __init__(self, work: DeviceWork) -> None:
        self._work = work
        self._engine = work.engine
        self._pool = work.pool
        self._held: dict[str, Held] = {}
        self._shared: list[PoolBuffer] = []
        self._closed = False
        self.generation = 0
        """Counts replaced tensors; an executable re-records when it has changed."""

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers lent to this session."""
        alone = {h.where.buffer for h in self._held.values()} - set(self._shared)
        return sum(b.capacity for b in (*self._shared, *alone))

    def ensure(self, tensors: Iterable[Tensor], rows: int = 0) -> None:
        """Allocate persistent tensors that are not there yet, zero-filled.

        Raises:
            BackendError: a tensor is there with another shape or dtype, or is too large.
        """
        self._engine.call(self._ensure, tuple(tensors), rows)

    def drop(self, names: Iterable[str]) -> None:
        """Give tensors back; see ``BackendSession.drop``."""
        self._engine.call(self._drop, frozenset(names))

    def has(self, name: str) -> bool:
        """Whether a tensor of that name is held."""
        return name in self._held

    def names(self) -> tuple[str, ...]:
        """Names of all tensors held, in order of allocation."""
        return tuple(self._held)

    def shape(self, name: str) -> Shape | None:
        """Bound shape of a held tensor, ``None`` where there is none."""
        held = self._held.get(name)
        return None if held is None else held.descriptor.shape

    def held(self, name: str) -> Held:
        """A tensor and its place.

        Raises:
            BackendError: the session has no tensor of that name.
        """
        found = self._held.get(name)
        if found is None:
            raise BackendError(f"the session holds no tensor {name!r}", who="gl session")
        return found

    def write(self, name: str, values: Array, row: int = 0) -> None:
        """Copy values in, from row ``row`` on; dtype and row shape must fit.

        Raises:
            BackendError: no such tensor, or the values do not fit.
        """
        held = self.held(name)
        dtype, shape = held.tensor.dtype, held.descriptor.shape
        data = to_device(checked_rows(name, values, shape, dtype, row), dtype)
        per_row = data.itemsize * int(np.prod(shape[1:], dtype=np.int64)) if row else 0
        self._engine.call(self._upload, name, data, row * per_row)

    def write_all(self, values: Iterable[tuple[str, Array]]) -> None:
        """Copy whole tensors in, each while the next are made; see ``BackendSession.write_all``.

        Raises:
            BackendError: no such tensor, or the values do not fit.
        """
        underway: deque[Future[None]] = deque()
        for name, given in values:
            held = self.held(name)
            dtype = held.tensor.dtype
            data = to_device(checked_values(name, given, held.descriptor.shape, dtype), dtype)
            underway.append(self._engine.submit(self._upload, name, data, 0))
            if len(underway) > _UNDERWAY:
                underway.popleft().result()
        for upload in underway:
            upload.result()

    def write_constants(self, tensors: Iterable[Tensor]) -> None:
        """Write the values of constant tensors; other tensors are skipped."""
        for tensor in tensors:
            if tensor.role is Role.CONST and tensor.value is not None:
                values = np.asarray(tensor.value, dtype=np.float64).reshape(tensor.shape)
                self.write(tensor.name, values.astype(tensor.dtype.np))

    def read(self, name: str) -> Future[Array]:
        """The contents, dense and row-major, once the device has finished preceding work."""
        try:
            held = self.held(name)
        except BackendError as error:
            return failed(error)
        return read_later(
            self._engine,
            self._pool,
            lambda: held.where,
            lambda raw: from_device(raw, held.descriptor),
        )

    def tap(
        self,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> GlTap:
        """A tap for executables of this session."""
        return GlTap(self._work, name, grad=grad, after=after, ready=ready)

    def close(self) -> None:
        """Give everything back; more than once does nothing."""
        if not self._closed:
            self._closed = True
            if self._engine.is_alive:
                self._engine.call(self._release)

    def _release(self) -> None:
        buffers = {h.where.buffer for h in self._held.values()} | set(self._shared)
        for buffer in buffers:
            self._pool.release(buffer)
        self._held.clear()
        self._shared.clear()

    def _upload(self, name: str, data: Array, offset: int) -> None:
        where = self.held(name).where
        self._pool.upload(where.buffer.slice(where.offset + offset, data.nbytes), data.reshape(-1))

    def _ensure(self, tensors: tuple[Tensor, ...], rows: int) -> None:
        missing = [t for t in tensors if not self._fits(t, rows)]
        wanted = [(t, t.descriptor(1, rows)) for t in missing]
        for tensor, descriptor in wanted:
            if descriptor.device_nbytes > self._work.target.max_storage_bytes:
                raise too_large(tensor, descriptor.device_nbytes, self._work.target)
        for group, nbytes in persistent_buffers(wanted):
            self._place(group, nbytes)

    def _fits(self, tensor: Tensor, rows: int) -> bool:
        """Whether the tensor is there as wanted; data of another length is given back first."""
        held = self._held.get(tensor.name)
        if held is not None and is_held(tensor, rows, held.tensor, held.descriptor.shape):
            return True
        check_ensured(tensor, rows)
        if held is None:
            return False
        del self._held[tensor.name]
        self._pool.release(held.where.buffer)
        self.generation += 1
        return False

    def _drop(self, names: frozenset[str]) -> None:
        gone = {self._held.pop(name).where.buffer for name in names & self._held.keys()}
        # A buffer that others share stays until the last of them goes.
        for buffer in gone - {held.where.buffer for held in self._held.values()}:
            if buffer in self._shared:
                self._shared.remove(buffer)
            self._pool.release(buffer)

    def _place(self, group: BufferGroup, nbytes: int) -> None:
        names = group[0][0].name if len(group) == 1 else f"{len(group)} persistent tensors"
        buffer = self._pool.acquire(nbytes, names, zero=True)
        if len(group) > 1 or group[0][0].role is not Role.DATA:
            self._shared.append(buffer)
        for tensor, descriptor, offset in group:
            length = max(descriptor.device_nbytes, 4)
            self._held[tensor.name] = Held(tensor, descriptor, buffer.slice(offset, length))
