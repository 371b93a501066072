"""Storages for trying one entry of a program alone, filled with numbers, and results compared."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.gl.device.buffers import PoolBuffer, Slice
from studio.engine.gl.device.readback import read_now
from studio.engine.gl.device.transfer import padded_to_device, to_device
from studio.engine.gl.record.recorder import Recording, issue
from studio.engine.gl.shader.accessors import Access, Use
from studio.engine.gl.shader.dispatch import groups_for, split_line
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.planned import PlannedDispatch, StorageBinding, TableBinding
from studio.engine.gl.shader.source import KernelSource, assemble, kernel_text

if TYPE_CHECKING:
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.isa.program import Program, Storage

RELATIVE = 2e-5
"""How far an element may be from the default variant's, as a share of itself and, since long sums
in another order differ by what their largest terms round to, of the largest element."""
_BLOCK = 1 << 22
"""Bytes copied at a time into a storage; the block of numbers has twice as many."""
_TURN = 64 * 1021
"""Bytes by which the numbers of a storage begin further on than those of the one before."""
_LOCAL = (64, 1, 1)
_KEPT, _FOUND = Ref(0), Ref(1)
"""What stands for the default variant's result and for the candidate's in the comparison."""


class NumberBlock:
    """Numbers from -1 to 1 on the device, copied from wherever a storage is filled.

    Args:
        work: the device; on its thread.
    """

    def __init__(self, work: DeviceWork) -> None:
        self._pool = work.pool
        numbers = np.random.default_rng(0).uniform(-1.0, 1.0, 2 * _BLOCK // 4)
        self._buffer = work.pool.acquire(2 * _BLOCK, "numbers for trials")
        work.pool.upload(self._buffer.slice(), numbers.astype(np.float32))

    def fill(self, target: Slice, turn: int) -> None:
        """Fill a range; every turn begins elsewhere in the block."""
        begin = turn * _TURN % _BLOCK
        for at in range(0, target.nbytes, _BLOCK):
            length = min(_BLOCK, target.nbytes - at)
            part = target.buffer.slice(target.offset + at, length)
            self._pool.copy(self._buffer.slice(begin, length), part)

    def release(self) -> None:
        """Give the block back."""
        self._pool.release(self._buffer)


class TrialStorages:
    """Room for the storages that an entry touches, each made when it is first asked for.

    Args:
        work: the device; every method runs on its thread.
        program: whose tensors.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        numbers: fills the storages.
    """

    def __init__(
        self, work: DeviceWork, program: Program, batch: int, rows: int, numbers: NumberBlock
    ) -> None:
        self._work = work
        self._program = program
        self._symbols = (batch, rows)
        self._numbers = numbers
        self._held: dict[Storage, PoolBuffer] = {}
        self._kept: dict[Storage, PoolBuffer] = {}
        self._atol: dict[Storage, float] = {}

    def where(self, ref: Ref) -> Slice:
        """The range of an operand's storage."""
        storage = self._program.storage(ref)
        held = self._held.get(storage)
        if held is None:
            root = self._program.tensors[storage.root]
            nbytes = max(root.descriptor(*self._symbols).device_nbytes, 4)
            held = self._work.pool.acquire(nbytes, f"a trial of {root.name}", zero=True)
            self._held[storage] = held
            self._fill(storage, root)
        return held.slice()

    def place(self, ref: Ref) -> tuple[int, int]:
        """The driver's buffer an operand lies in, and its offset there."""
        where = self.where(ref)
        return where.buffer.name, where.offset

    def refill(self, refs: Iterable[Ref]) -> None:
        """Put what was there at first back into the storages of operands."""
        for storage in dict.fromkeys(map(self._program.storage, refs)):
            if storage in self._held:
                self._fill(storage, self._program.tensors[storage.root])

    def keep(self, refs: Iterable[Ref]) -> None:
        """Remember the contents of operands, to compare others with."""
        pool = self._work.pool
        for ref in refs:
            storage = self._program.storage(ref)
            if storage not in self._held:
                continue
            if storage not in self._kept:
                held = self._held[storage]
                self._kept[storage] = pool.acquire(held.nbytes, held.purpose)
            pool.copy(self._held[storage].slice(), self._kept[storage].slice())
            largest, _ = self._compared(ref, storage, 0.0)
            self._atol[storage] = RELATIVE * largest

    def agrees(self, refs: Iterable[Ref]) -> bool:
        """Whether operands hold what was remembered, within the tolerance."""
        known = ((ref, self._program.storage(ref)) for ref in refs)
        return all(
            self._compared(ref, storage, self._atol[storage])[1] == 0
            for ref, storage in known
            if storage in self._kept
        )

    def recorded(self, planned: list[PlannedDispatch]) -> Recording:
        """Dispatches ready to be issued; their programs are compiled if they are new."""
        self._work.compile_all([one.source for one in planned], None)
        recording = self._recording()
        try:
            recording.record(planned)
        except BaseException:
            recording.release()
            raise
        return recording

    def release(self) -> None:
        """Give all room back."""
        for buffer in (*self._held.values(), *self._kept.values()):
            self._work.pool.release(buffer)
        self._held.clear()
        self._kept.clear()

    def _recording(self) -> Recording:
        work = self._work
        return Recording(work.pool, work.engine.info, work.compiled, self.where, *self._symbols)

    def _fill(self, storage: Storage, root: Tensor) -> None:
        """Numbers for floats, zeros (a class, a word, false) for all else; halos stay zero."""
        target = self._held[storage].slice()
        descriptor = root.descriptor(*self._symbols)
        if root.dtype not in (DType.float32, DType.float16):
            self._work.pool.clear(self._held[storage].slice(0, self._held[storage].capacity))
        elif descriptor.padded or root.dtype is DType.float16 or _is_spread(root):
            numbers = np.random.default_rng(storage.root).uniform(-1.0, 1.0, descriptor.shape)
            values = np.abs(numbers) + 0.5 if _is_spread(root) else numbers
            self._work.pool.upload(target, self._cells(root, values.astype(root.dtype.np)))
        else:
            self._numbers.fill(target, 2 * storage.root + storage.grad)

    def _cells(self, root: Tensor, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        descriptor = root.descriptor(*self._symbols)
        padded = descriptor.padded
        data = padded_to_device(values, descriptor) if padded else to_device(values, root.dtype)
        return data.reshape(-1)

    def _compared(self, ref: Ref, storage: Storage, atol: float) -> tuple[float, int]:
        """The largest remembered magnitude, and how many elements are apart."""
        tensor = self._program.tensor(ref)
        layout = Layout.of(tensor, *self._symbols)
        words = np.array([0, 0, ref.id, int(ref.grad)], dtype=np.uint32).tobytes()
        shape = tensor.descriptor(*self._symbols).shape
        launch = np.array([atol, RELATIVE], np.float32).view(np.int32)
        planned = PlannedDispatch(
            _comparison(layout),
            (
                StorageBinding(_KEPT, Use.READ),
                StorageBinding(_FOUND, Use.READ),
                TableBinding(words),
            ),
            split_line(groups_for(prod(shape), _LOCAL[0])),
            (int(launch[0]), int(launch[1])),
        )
        both = {_KEPT: self._kept[storage].slice(), _FOUND: self._held[storage].slice()}
        work = self._work
        work.compile_all([planned.source], None)
        recording = Recording(
            work.pool, work.engine.info, work.compiled, both.__getitem__, *self._symbols
        )
        try:
            recording.record([planned])
            issue(work.gl, recording.dispatches)
            raw = read_now(work.pool, recording.table(words), work.engine.stopping)
        finally:
            recording.release()
        return float(raw.view(np.float32)[0]), int(raw.view(np.uint32)[1])


def _is_spread(root: Tensor) -> bool:
    """Whether a tensor may hold variances or factors, which are no good around zero."""
    return len(root.shape) <= 1 and root.role in (Role.STATE, Role.PARAM)


def _comparison(layout: Layout) -> KernelSource:
    accesses = [Access("x", layout, Use.READ), Access("y", layout, Use.READ)]
    return assemble("count_apart", kernel_text("count_apart"), accesses, local=_LOCAL)
