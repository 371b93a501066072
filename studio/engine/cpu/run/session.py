"""Persistent tensors by name, in memory shared by all executables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.target import CPU, Target
from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.errors import BackendError, quoted
from studio.engine.core.tensor import Shape, Tensor
from studio.engine.cpu.memory.blocks import MemoryCount
from studio.engine.cpu.memory.scratch import ALIGNMENT, aligned_bytes
from studio.engine.cpu.memory.views import Anything
from studio.engine.cpu.run.live import CpuTap
from studio.engine.runtime.free_memory import require_memory
from studio.engine.runtime.live import After
from studio.engine.runtime.requirements import check_ensured, is_held, too_large
from studio.engine.runtime.transfers import Array, checked_rows, checked_values, failed, ready


@dataclass
class Held:
    """One tensor of a session.

    Attributes:
        tensor: as it was asked for.
        layout: where its elements lie in ``flat``.
        flat: its storage.
        arena: the run of bytes the storage lies in.
        offset: byte in the arena where it begins.
    """

    tensor: Tensor
    layout: ShapeDescriptor
    flat: Anything
    arena: npt.NDArray[np.uint8]
    offset: int

    @property
    def array(self) -> Anything:
        """The tensor without its halo."""
        return self.layout.view(self.flat)


class CpuSession:
    """Persistent tensors by name.

    Tensors allocated together are adjacent, so that the updates of all parameters can run as one.

    Args:
        count: where bytes are counted.
        target: says the largest tensor.
    """

    def __init__(self, count: MemoryCount, target: Target = CPU) -> None:
        self._held: dict[str, Held] = {}
        self._count = count
        self._target = target
        self._lock = threading.RLock()
        self._closed = False
        self.generation = 0
        """Grows whenever a storage is replaced; executables then bind again."""

    def ensure(self, tensors: Iterable[Tensor], rows: int = 0) -> None:
        """Allocate what is missing, zero-filled; see ``BackendSession.ensure``."""
        with self._lock:
            self._require_open()
            wanted = [t for t in tensors if self._is_missing(t, rows)]
            sizes = [self._nbytes(t, rows) for t in wanted]
            if not wanted:
                return
            rounded = [-(-n // ALIGNMENT) * ALIGNMENT for n in sizes]
            require_memory(sum(rounded), f"what is kept beside {wanted[0].name}")
            arena = aligned_bytes(sum(rounded))
            offset = 0
            for tensor, nbytes, room in zip(wanted, sizes, rounded, strict=True):
                layout = tensor.descriptor(1, rows)
                flat = arena[offset : offset + nbytes].view(layout.dtype.np)
                if tensor.name in self._held:
                    self._count.persistent(-self._held[tensor.name].flat.nbytes, 0)
                    self.generation += 1
                self._held[tensor.name] = Held(tensor, layout, flat, arena, offset)
                self._count.persistent(nbytes, 0)
                offset += room
            self._count.persistent(0, 1)

    def drop(self, names: Iterable[str]) -> None:
        """Give tensors back; see ``BackendSession.drop``."""
        with self._lock:
            before = {id(held.arena) for held in self._held.values()}
            for name in names:
                held = self._held.pop(name, None)
                if held is not None:
                    self._count.persistent(-held.flat.nbytes, 0)
            after = {id(held.arena) for held in self._held.values()}
            self._count.persistent(0, len(after) - len(before))

    def _nbytes(self, tensor: Tensor, rows: int) -> int:
        check_ensured(tensor, rows)
        layout = tensor.descriptor(1, rows)
        if layout.nbytes > self._target.max_storage_bytes:
            raise too_large(tensor, layout.nbytes, self._target)
        return max(layout.nbytes, layout.dtype.itemsize)

    def _is_missing(self, tensor: Tensor, rows: int) -> bool:
        """Whether storage must be allocated; BackendError if it exists with another shape."""
        held = self._held.get(tensor.name)
        return held is None or not is_held(tensor, rows, held.tensor, held.layout.shape)

    def has(self, name: str) -> bool:
        """Whether a tensor of that name is held."""
        return name in self._held

    def names(self) -> tuple[str, ...]:
        """Names in order of allocation."""
        return tuple(self._held)

    def shape(self, name: str) -> Shape | None:
        """Shape of a tensor with symbols bound, ``None`` where there is none."""
        held = self._held.get(name)
        return None if held is None else held.layout.shape

    def held(self, name: str) -> Held:
        """A tensor's storage; BackendError where there is none."""
        self._require_open()
        found = self._held.get(name)
        if found is None:
            raise BackendError(
                f"the session holds no tensor {quoted(name)}",
                who="session",
                hint="compile the program first, or make room with ensure",
            )
        return found

    def write(self, name: str, values: Array, row: int = 0) -> None:
        """Copy values in, from ``row`` on; see ``BackendSession.write``."""
        with self._lock:
            array = self.held(name).array
            given = checked_rows(name, values, array.shape, self.held(name).tensor.dtype, row)
            if given.shape == array.shape:
                np.copyto(array, given)
            else:
                np.copyto(array[row : row + len(given)], given)

    def write_all(self, values: Iterable[tuple[str, Array]]) -> None:
        """Copy whole tensors in; see ``BackendSession.write_all``."""
        for name, given in values:
            with self._lock:
                held = self.held(name)
                dtype = held.tensor.dtype
                np.copyto(held.array, checked_values(name, given, held.layout.shape, dtype))

    def read(self, name: str) -> Future[Array]:
        """The contents, dense and row-major."""
        with self._lock:
            try:
                return ready(np.array(self.held(name).array, order="C"))
            except BackendError as error:
                return failed(error)

    def tap(
        self,
        name: str,
        *,
        grad: bool = False,
        after: After = None,
        ready: Callable[[], object] | None = None,
    ) -> CpuTap:
        """A tap for executables of this session."""
        return CpuTap(name, grad=grad, after=after, ready=ready)

    def close(self) -> None:
        """Give everything back."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            arenas = {id(h.arena) for h in self._held.values()}
            for held in self._held.values():
                self._count.persistent(-held.flat.nbytes, 0)
            self._count.persistent(0, -len(arenas))
            self._held.clear()

    def _require_open(self) -> None:
        if self._closed:
            raise BackendError("the session is closed", who="session")
