"""What a program asks of a session and a device before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from studio.engine.compiler.plan_memory import storage_bytes
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import ROWS, Role, Tensor, shape_text
from studio.engine.isa.program import Program, Storage

if TYPE_CHECKING:
    from studio.engine.compiler.target import Target
    from studio.engine.core.tensor import Shape


def persistent_tensors(program: Program) -> tuple[Tensor, ...]:
    """Tensors whose data a session keeps, in id order."""
    return tuple(
        t
        for t in program.tensors.values()
        if t.role.persistent and t.view_of is None and not t.register
    )


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
