"""What a kernel is built from: arrays of its operands, working memory, and places for gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Pads, Ref, Shape, TensorType
from studio.engine.cpu.machine.execution_config import NUMPY_ONLY, ExecutionConfig
from studio.engine.cpu.memory.scratch import Scratch
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.kernel_calls import KernelCall

Scalar = TypeVar("Scalar", bound=np.generic)
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int32]
Anything: TypeAlias = npt.NDArray[Any]
Run: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Halo:
    """A whole buffer with the cells round its tensor.

    Attributes:
        cells: the buffer, halo included.
        pads: halo cells (before, after) per dimension.
    """

    cells: Floats
    pads: Pads


class Views:
    """Arrays over the storages of one executable.

    Args:
        program: whose operands are meant.
        batch: what the ``BATCH`` symbol stands for.
        rows: what the ``ROWS`` symbol stands for.
        buffers: the flat array of every storage.
        scratch: working memory shared by all kernels.
        config: what a kernel may use besides NumPy.
    """

    def __init__(
        self,
        program: Program,
        batch: int,
        rows: int,
        buffers: Mapping[Storage, Anything],
        scratch: Scratch,
        config: ExecutionConfig = NUMPY_ONLY,
    ) -> None:
        self.config = config
        self.program = program
        self.batch = batch
        self.rows = rows
        self._buffers = buffers
        self._registers: dict[int, Anything] = {}
        self._lasting: dict[int, Anything] = {}
        self._scratch = scratch
        self._merged: Mapping[int, int] = {}
        self.own_bytes = 0
        """Bytes of memory that single kernels keep for themselves."""
        self.calls: list[KernelCall] = []
        """What the kernels built so far call; see `note` and `note_loop`."""

    def type_of(self, ref: Ref) -> TensorType:
        """Shape and dtype of an operand with symbols bound."""
        found = self.program.type_of(ref).bind(self.batch, self.rows)
        behind = self._merged.get(ref.id)
        return found if behind is None else TensorType(_merged(found.shape, behind), found.dtype)

    @contextmanager
    def seen_by(self, ins: Instruction) -> Iterator[None]:
        """For the kernel that is built meanwhile: merge the dimensions that it merges."""
        before, self._merged = self._merged, ins.merged(self.program.type_of)
        try:
            yield
        finally:
            self._merged = before

    def as_seen(self, ref: Ref, array: Anything) -> Anything:
        """The array of an operand, its leading dimensions merged where the kernel does that."""
        behind = self._merged.get(ref.id)
        if behind is None:
            return array
        found = array.reshape(_merged(array.shape, behind))
        if found.size and not np.may_share_memory(found, array):
            name = self.program.tensors[ref.id].name
            raise BackendError("its leading dimensions have gaps between them", who=name)
        return found

    def shape(self, ref: Ref) -> Shape:
        """Shape of an operand with symbols bound."""
        return self.type_of(ref).shape

    def any(self, ref: Ref) -> Anything:
        """An operand of any dtype: the tensor without its halo."""
        if not ref.grad and ref.id in self._registers:
            return self.as_seen(ref, self._registers[ref.id])
        tensor = self.program.tensors[ref.id]
        storage = self.program.storage(ref)
        if storage not in self._buffers:
            raise BackendError("the tensor has no storage in this program", who=tensor.name)
        array = tensor.descriptor(self.batch, self.rows).view(self._buffers[storage])
        return self.as_seen(ref, array)

    def arena(self, ref: Ref) -> object:
        """The piece of memory an operand's storage lies in, for comparing identities."""
        found: Anything = self._buffers[self.program.storage(ref)]
        while isinstance(found.base, np.ndarray):
            found = found.base
        return found

    def data(self, ref: Ref) -> Floats:
        """A float32 operand."""
        return self.any(ref)

    def ints(self, ref: Ref) -> Ints:
        """An int32 operand."""
        return self.any(ref)

    def grad(self, ref: Ref) -> Floats:
        """The gradient storage of an operand."""
        return self.any(ref.gradient)

    def halo(self, ref: Ref) -> Halo:
        """A float32 operand with its halo, which is zero; no pads where it has none.

        Cells round a gradient hold anything, so they are no halo.
        """
        tensor = self.program.tensors[ref.id]
        if ref.grad or not tensor.pad or ref.id in self._registers:
            array = self.data(ref)
            return Halo(array, ((0, 0),) * array.ndim)
        inner = tensor.descriptor(self.batch, self.rows)
        shape = tuple(
            size + before + after
            for size, (before, after) in zip(inner.shape, tensor.pad, strict=True)
        )
        buffer: Floats = self._buffers[self.program.storage(ref)]
        cells = np.lib.stride_tricks.as_strided(buffer, shape, inner.byte_strides)
        return self.halo_as_seen(ref, Halo(cells, tensor.pad))

    def halo_as_seen(self, ref: Ref, halo: Halo) -> Halo:
        """A halo, its leading dimensions merged where the kernel does that."""
        behind = self._merged.get(ref.id)
        if behind is None:
            return halo
        pads = halo.pads[len(halo.pads) - behind :]
        return Halo(self.as_seen(ref, halo.cells), ((0, 0), *pads))

    def dense(self, ref: Ref) -> Floats | None:
        """The operand as a flat array of its elements, where they touch; else ``None``."""
        array = self.data(ref)
        return array.reshape(-1) if array.flags.c_contiguous else None

    def scratch(self, shape: Shape) -> Floats:
        """Float32 working memory of the kernel being built."""
        return self._scratch.take(shape, np.float32)

    def scratch_of(self, shape: Shape, dtype: type[Scalar]) -> npt.NDArray[Scalar]:
        """Working memory of another dtype."""
        return self._scratch.take(shape, dtype)

    def note(self, name: str, threads: int = 1, shared_by: str = "") -> None:
        """Say that the kernel being built calls NumPy functions, in a step of that name.

        Args:
            name: what the step is called.
            threads: how many threads share it.
            shared_by: what they divide among themselves.
        """
        self.calls.append(_call(name, "NumPy", threads, shared_by))

    def note_loop(self, loop: Callable[..., object], threads: int = 1, shared_by: str = "") -> None:
        """Say that the kernel being built calls a compiled loop; see `note`."""
        made = getattr(loop, "py_func", loop)
        module = str(made.__module__).rpartition(".")[2]
        self.calls.append(_call(f"{module}.{made.__name__}", "compiled", threads, shared_by))

    def next_kernel(self) -> None:
        """Hand the working memory out again."""
        self._scratch.rewind()
        self._registers = dict(self._lasting)

    def back_register(self, ref: Ref, array: Anything) -> None:
        """Give a tensor that lives only inside the present group the memory of ``array``."""
        self._registers[ref.id] = array

    def back_for_good(self, ref: Ref) -> None:
        """Give such a tensor memory of its own for all groups, as running unfused needs it."""
        bound = self.type_of(ref)
        array = np.zeros(bound.shape, _NUMPY[bound.dtype])
        self._lasting[ref.id] = self._registers[ref.id] = array

    def has(self, ref: Ref) -> bool:
        """Whether an operand has memory."""
        if not ref.present or self.is_bare_register(ref):
            return False
        if not ref.grad and ref.id in self._registers:
            return True
        return self.program.storage(ref) in self._buffers

    def scratch_register(self, ref: Ref) -> None:
        """Give such a tensor working memory of its own."""
        bound = self.type_of(ref)
        self._registers[ref.id] = self._scratch.take(bound.shape, _NUMPY[bound.dtype])

    def is_register(self, ref: Ref) -> bool:
        """Whether an operand lives only inside a group."""
        tensors = self.program.tensors
        return not ref.grad and tensors[tensors.root(ref.id)].register

    def is_bare_register(self, ref: Ref) -> bool:
        """Whether an operand lives only inside a group and has no memory yet."""
        return self.is_register(ref) and ref.id not in self._registers

    def numpy_dtype(self, ref: Ref) -> type[np.generic]:
        """The NumPy scalar type of an operand."""
        return _NUMPY[self.program.tensors[ref.id].dtype]

    def accumulator(
        self, grad_ins: GradInstruction, name: str, index: int = 0
    ) -> GradAccumulator | None:
        """Where the gradient of an operand goes, or ``None`` where it is not wanted."""
        ref = grad_ins.refs(name)[index]
        if not ref.present or name in grad_ins.value("skip"):
            return None
        twice = ref in grad_ins.refs(name)[:index]
        return GradAccumulator(self, self.grad(ref), grad_ins.sets(name) and not twice)


def _call(name: str, kind: str, threads: int, shared_by: str) -> KernelCall:
    return KernelCall(name, kind, threads=threads, shared_by=shared_by if threads > 1 else "")


class GradAccumulator:
    """Writes one gradient: overwrites its storage, or adds to it.

    Attributes:
        target: the gradient storage.
        sets: whether it is overwritten.
    """

    def __init__(self, views: Views, target: Floats, sets: bool) -> None:
        self.target = target
        self.sets = sets
        self._views = views
        self._dense: Floats | None = None
        self._own: Floats | None = None

    def into(self) -> Floats:
        """Where a kernel writes the gradient; ``deliver`` then puts it where it belongs."""
        if self.sets:
            return self.target
        if self._own is None:
            self._own = self._views.scratch(self.target.shape)
        return self._own

    def dense(self) -> Floats:
        """As ``into``, but always row-major without gaps, as a matrix product wants it."""
        if self.sets and self.target.flags.c_contiguous:
            return self.target
        if self._own is None:
            self._own = self._views.scratch(self.target.shape)
        return self._own

    def deliver(self) -> None:
        """Add what was written to the gradient, or copy it there if it was written elsewhere."""
        if self._own is None:
            return
        if self.sets:
            np.copyto(self.target, self._own)
        else:
            np.add(self.target, self._own, out=self.target)


def _merged(shape: Shape, behind: int) -> Shape:
    """A shape with one dimension in front of the last ``behind`` ones."""
    count = len(shape) - behind
    return (prod(shape[:count]), *shape[count:])


_NUMPY: dict[DType, type[np.generic]] = {
    DType.float32: np.float32,
    DType.float16: np.float16,
    DType.int32: np.int32,
    DType.uint8: np.uint8,
    DType.int8: np.int8,
    DType.bool: np.bool_,
}
