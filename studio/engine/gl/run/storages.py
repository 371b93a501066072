"""Where the storages of a program lie: the session's tensors, and an executable's own arena."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.engine.compiler.lifetimes import inner_gradients, transient
from studio.engine.compiler.plan_memory import MemoryPlan, plan_memory
from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.isa.program import Program
from studio.engine.runtime.requirements import require_kept

if TYPE_CHECKING:
    from studio.engine.compiler.target import Target
    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.buffers import PoolBuffer, Slice
    from studio.engine.gl.kernels.partial_sums import RowSplit
    from studio.engine.gl.run.session import GlSession
    from studio.engine.isa.program import Storage


class Storages:
    """The ranges of all storages of one program; made and released on the engine thread.

    Args:
        program: whose storages.
        session: keeps the persistent ones.
        pool: lends the arena; ``make_zero`` is to be called before the first run.
        target: says how long one of its buffers may be.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        keep_all: give every storage room of its own, so that all can be looked at.

    Attributes:
        row_splits: how the rows of partial tensors are split; the planner fills it in.
    """

    def __init__(
        self,
        program: Program,
        session: GlSession,
        pool: BufferPool,
        target: Target,
        batch: int,
        rows: int,
        *,
        keep_all: bool = False,
    ) -> None:
        self.program = program
        self.plan: MemoryPlan = plan_memory(program, batch, rows, target, keep_all=keep_all)
        self.inner = frozenset() if keep_all else inner_gradients(program)
        self.row_splits: dict[Storage, RowSplit] = {}
        self._session = session
        self._pool = pool
        self._symbols = (batch, rows)
        purpose = f"the arena of {program.name} ({program.mode}, batch {batch})"
        self._arena: list[PoolBuffer] = pool.acquire_all(self.plan.buffers, purpose)
        self._is_zero = False
        self._kept: set[Ref] = set()

    @property
    def nbytes(self) -> int:
        """Bytes of the arena."""
        return sum(buffer.capacity for buffer in self._arena)

    def make_zero(self) -> None:
        """Zero the parts that a run may read unwritten, once; zeroing all would take long."""
        if not self._is_zero:
            for number, begin, end in self.plan.to_clear():
                self._pool.clear(self._arena[number].slice(begin, end - begin))
            self._is_zero = True

    def descriptor(self, ref: Ref) -> ShapeDescriptor:
        """Layout of an operand in its storage; a partial tensor has its parts as dimension 1."""
        tensor = self.program.tensor(ref)
        split = self.row_splits.get(self.program.storage(ref))
        if split is None or not tensor.partial:
            return tensor.descriptor(*self._symbols)
        return ShapeDescriptor.plain(
            tensor.dtype, (tensor.shape[0], split.parts, *tensor.shape[1:])
        )

    def where(self, ref: Ref) -> Slice:
        """The range of an operand's storage.

        Raises:
            BackendError: a register, or a storage no instruction touches.
        """
        storage = self.program.storage(ref)
        root = self.program.tensors[storage.root]
        if not transient(self.program, storage) and root.role.persistent:
            return self._session.held(root.name).where
        slot = self.plan.slots.get(storage)
        if slot is None or not self._arena:
            inside = root.register or storage in self.inner
            what = "lives inside a fused kernel only" if inside else "is not used"
            raise BackendError(f"it has no storage: it {what}", who=root.name)
        number, offset = self.plan.place(slot)
        return self._arena[number].slice(offset, slot.nbytes)

    def require_kept(self, ref: Ref) -> None:
        """BackendError unless an operand's contents are still there when a run has ended."""
        if ref not in self._kept:
            require_kept(self.plan, ref)
            self._kept.add(ref)

    def place(self, ref: Ref) -> tuple[int, int]:
        """The driver's buffer an operand lies in, and its offset there."""
        where = self.where(ref)
        return where.buffer.name, where.offset

    def release(self) -> None:
        """Give the arena back."""
        for buffer in self._arena:
            self._pool.release(buffer)
        self._arena.clear()
