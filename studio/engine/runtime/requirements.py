"""What a program asks of a session and a device before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from studio.engine.compiler.lifetimes import inner_gradients, shared_gradients
from studio.engine.compiler.plan_memory import storage_bytes
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import ROWS, Role, Tensor, bind_shape, shape_text
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.transfers import known_tensor

if TYPE_CHECKING:
    from studio.engine.compiler.plan_memory import MemoryPlan
    from studio.engine.compiler.target import Target
    from studio.engine.core.tensor import Ref, Shape


_ASKED_FIRST = (
    frozenset({Role.PARAM, Role.STATE, Role.SLOT}),
    frozenset({Role.DATA, Role.STEP}),
)


def persistent_tensors(program: Program) -> tuple[Tensor, ...]:
    """Tensors whose data a session keeps, in id order."""
    return tuple(
        t
        for t in program.tensors.values()
        if t.role.persistent and t.view_of is None and not t.register
    )


def asked_in_turn(program: Program) -> Iterator[tuple[Tensor, ...]]:
    """Persistent tensors as a session is asked for them: weights first, then data, then the rest.

    Those asked for at the same time may share a buffer.
    """
    left = persistent_tensors(program)
    for roles in _ASKED_FIRST:
        yield tuple(t for t in left if t.role in roles)
        left = tuple(t for t in left if t.role not in roles)
    yield left


def bound_rows(program: Program, held: Callable[[str], Shape | None]) -> int:
    """Rows the ``ROWS`` symbol of a program stands for: those of the data a session holds.

    Args:
        program: what is to be compiled.
        held: shape of the session's tensor of a name, ``None`` where it holds none.

    Returns 0 for a program without the symbol. Raises BackendError where the session holds none of
    these tensors, or where they disagree.
    """
    wanted = [t for t in persistent_tensors(program) if t.shape[:1] == (ROWS,)]
    found = {t.name: shape for t in wanted if (shape := held(t.name)) is not None}
    if not wanted:
        return 0
    if not found:
        raise BackendError(
            f"the rows of {shape_text(wanted[0].shape)} are not known: the session holds no such "
            "tensor yet",
            who=wanted[0].name,
            hint="make room for the data first: session.ensure([...], rows=count)",
        )
    counts = {shape[0] for shape in found.values()}
    if len(counts) > 1:
        listed = ", ".join(f"{name} {shape_text(shape)}" for name, shape in found.items())
        raise BackendError(
            f"data and order must have equally many rows: got {listed}", who=program.name
        )
    return counts.pop()


def check_ensured(tensor: Tensor, rows: int) -> None:
    """BackendError unless a session can make room for the tensor with this many rows of data."""
    if tensor.shape[:1] == (ROWS,) and rows < 1:
        raise BackendError(
            f"the rows of {shape_text(tensor.shape)} must be given: got {rows}",
            who=tensor.name,
            hint="pass rows= to ensure",
        )
    if any(size < 0 for size in bind_shape(tensor.shape, -1, rows)):
        raise BackendError("a persistent tensor has no batch dimension", who=tensor.name)


def is_held(wanted: Tensor, rows: int, held: Tensor, shape: Shape) -> bool:
    """Whether a session holds the tensor as it is wanted.

    Args:
        wanted: what a program declares.
        rows: rows of the resident data set, 0 for as many as are held.
        held: the tensor of that name the session has.
        shape: its shape, symbols bound.

    Returns False for data of another form, which makes way; raises BackendError for anything else.
    """
    asked = wanted.shape
    if asked[:1] == (ROWS,):
        asked = bind_shape(asked, 1, rows or (shape[0] if shape else 0))
    if shape == asked and held.dtype is wanted.dtype:
        return True
    if held.role is wanted.role is Role.DATA:
        return False
    raise BackendError(
        f"the session holds {held.dtype.name}{shape_text(shape)}: expected "
        f"{wanted.dtype.name}{shape_text(asked)}",
        who=wanted.name,
        hint="use a session of its own for another model",
    )


def require_kept(plan: MemoryPlan, ref: Ref, pinned: Collection[Storage] = ()) -> None:
    """BackendError unless the contents of an operand are still there when a run has ended.

    Args:
        plan: where the executable's storages are.
        ref: the operand.
        pinned: storages that have room of their own although the plan shares it.
    """
    program = plan.program
    known_tensor(program, ref.id)
    tensor, storage = program.tensors[ref.id], program.storage(ref)
    root = program.tensors[storage.root]
    if not ref.grad and root.register:
        raise BackendError(
            "the tensor exists only inside a fused kernel and has no storage",
            who=tensor.name,
            hint="make it an output of the program, or compile without fusion",
        )
    if not ref.grad and root.role.persistent:
        return
    if storage not in plan.slots:
        if storage in inner_gradients(program):
            raise BackendError(
                "the gradient exists only inside a fused kernel and has no storage",
                who=tensor.name,
                hint="compile without fusion",
            )
        if ref.grad and storage in shared_gradients(program):
            raise BackendError(
                "it has no gradient of its own, the program takes that of the sum behind it",
                who=tensor.name,
                hint="compile without share_gradients",
            )
        what = "gradient" if ref.grad else "data"
        raise BackendError(f"no instruction touches its {what}", who=tensor.name)
    if storage not in pinned and not plan.kept_at_end(storage):
        raise BackendError(
            "the memory plan gave its storage to another tensor before the end of the run",
            who=tensor.name,
            hint="make it an output of the program",
        )


def refuse_oversized(program: Program, batch: int, rows: int, target: Target) -> None:
    """BackendError naming the first tensor whose storage is above the device's limit."""
    for tensor in program.tensors.values():
        if tensor.view_of is not None or (tensor.register and not tensor.role.persistent):
            continue
        nbytes = storage_bytes(program, Storage(tensor.id, False), batch, rows, target)
        if nbytes > target.max_storage_bytes:
            raise too_large(tensor, nbytes, target)


def too_large(tensor: Tensor, nbytes: int, target: Target) -> BackendError:
    """The error that refuses a tensor above the device's limit."""
    data = tensor.role is Role.DATA
    return BackendError(
        f"a tensor may take at most {target.max_storage_bytes} bytes on {target.name}: "
        f"{shape_text(tensor.shape)} {tensor.dtype.name} needs {nbytes}",
        who=tensor.name,
        hint="stream the data in shards" if data else "use a smaller batch or a smaller layer",
    )


def check_batch(program: Program, batch: int) -> None:
    """BackendError unless the batch length is a positive whole number."""
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise BackendError(
            f"a batch has at least one row: expected a whole number from 1 up, got {batch!r}",
            who=program.name,
        )
