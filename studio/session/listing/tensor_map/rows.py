"""The tensor map as a table: one row per storage, with place, lifetime and who shares it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.compiler.lifetimes import Span
from studio.engine.compiler.plan_memory import MemoryPlan, storage_bytes
from studio.engine.compiler.target import Target
from studio.engine.core.tensor import Ref, Role, Tensor, shape_text
from studio.engine.isa.program import Storage
from studio.session.listing.rows import ProgramRows

TensorRole: TypeAlias = Literal[
    "input", "target", "parameter", "state", "slot", "activation", "gradient", "constant", "data",
    "step", "metric", "scratch", "partial", "register",
]  # fmt: skip

_ROLES: dict[Role, TensorRole] = {
    Role.INPUT: "input",
    Role.TARGET: "target",
    Role.PARAM: "parameter",
    Role.STATE: "state",
    Role.SLOT: "slot",
    Role.ACTIVATION: "activation",
    Role.CONST: "constant",
    Role.DATA: "data",
    Role.STEP: "step",
    Role.METRIC: "metric",
}

ROLE_NOTES: dict[TensorRole, str] = {
    "input": "written before a run",
    "target": "written before a run, compared with outputs",
    "parameter": "what training changes; kept between runs",
    "state": "running statistics; kept between runs",
    "slot": "memory of the optimiser; kept between runs",
    "activation": "computed in a run",
    "gradient": "derivative of the loss, computed in a run",
    "constant": "constant",
    "data": "samples on the device; kept between runs",
    "step": "counters and learning rates; kept between runs",
    "metric": "numbers of the last steps; kept between runs",
    "scratch": "statistics of the batch, kept for the gradient",
    "partial": "computed in a run as partial sums",
    "register": "not stored: exists only inside a fused kernel",
}
"""What the tensors of a role are for."""


class TensorRow(NamedTuple):
    """One storage of the tensor map, or a tensor without one.

    Attributes:
        ref: its register.
        key: name of the tensor, ``.grad`` appended for its gradient.
        shape: dimensions as printed, ``N`` for the batch.
        dtype: storage type.
        role: what it is for.
        nbytes: bytes it takes on the device, halo included; None for views and registers.
        producer: first instruction that writes it, None where it is fed or kept.
        uses: instructions that touch it by this register.
        lifetime: first and last instruction that need it; None where it is kept between runs.
        offset: first byte in the arena; None outside.
        view_of: register whose bytes it is, None for an owner.
        shares: registers that are given some of the same bytes at another time.
        kept: the session keeps it between runs.
    """

    ref: Ref
    key: str
    shape: str
    dtype: str
    role: TensorRole
    nbytes: int | None
    producer: int | None
    uses: tuple[int, ...]
    lifetime: Span | None
    offset: int | None
    view_of: Ref | None
    shares: tuple[Ref, ...]
    kept: bool


def role_of(tensor: Tensor, grad: bool) -> TensorRole:
    """What a storage is for."""
    if grad:
        # A running statistic has no gradient; in its place lie the statistics of the batch.
        return "scratch" if tensor.role is Role.STATE else "gradient"
    if tensor.register:
        return "register"
    return "partial" if tensor.partial else _ROLES[tensor.role]


def tensor_rows(rows: ProgramRows, plan: MemoryPlan, target: Target) -> tuple[TensorRow, ...]:
    """A row for every tensor, and one more for its gradient where that is touched."""
    program = rows.program
    lanes = _lanes(plan)
    touched = program.gradients()
    found = []
    for tensor in program.tensors.values():
        refs = [tensor.ref, tensor.ref.gradient] if tensor.id in touched else [tensor.ref]
        found += [_row(rows, plan, target, ref, lanes) for ref in refs]
    return tuple(found)


def _row(
    rows: ProgramRows,
    plan: MemoryPlan,
    target: Target,
    ref: Ref,
    lanes: dict[Storage, tuple[Ref, ...]],
) -> TensorRow:
    program = rows.program
    tensor = program.tensors[ref.id]
    storage = program.storage(ref)
    slot = plan.slots.get(storage)
    root = program.tensors[storage.root]
    is_view = storage.root != ref.id
    kept = not ref.grad and root.role.persistent
    nbytes = None
    if not is_view and (slot is not None or kept):
        nbytes = (
            slot.nbytes
            if slot is not None
            else storage_bytes(program, storage, rows.batch, rows.data_rows, target)
        )
    return TensorRow(
        ref,
        rows.origins.key_of_ref(ref),
        shape_text(tensor.shape),
        tensor.dtype.name,
        role_of(tensor, ref.grad),
        nbytes,
        rows.producer(ref),
        tuple(use.row for use in rows.uses(ref)),
        None if slot is None else slot.span,
        None if slot is None else slot.offset,
        Ref(storage.root, ref.grad) if is_view else None,
        lanes.get(storage, ()),
        kept,
    )


def _lanes(plan: MemoryPlan) -> dict[Storage, tuple[Ref, ...]]:
    """For every storage the others that are given some of its bytes, by first need."""
    order = sorted(plan.slots.items(), key=lambda item: item[1].offset)
    found: dict[Storage, list[Storage]] = {storage: [] for storage, _ in order}
    alive: list[tuple[Storage, int]] = []
    for storage, slot in order:
        alive = [(other, end) for other, end in alive if end > slot.offset]
        for other, _ in alive:
            found[storage].append(other)
            found[other].append(storage)
        alive.append((storage, slot.end))
    return {
        storage: tuple(Ref(o.root, o.grad) for o in _by_need(plan, others))
        for storage, others in found.items()
    }


def _by_need(plan: MemoryPlan, storages: Sequence[Storage]) -> list[Storage]:
    return sorted(storages, key=lambda storage: (plan.slots[storage].first, storage))


def bytes_by_role(found: Sequence[TensorRow], *, kept: bool) -> dict[TensorRole, int]:
    """Bytes by role of what is kept between runs, or of what is there during one; largest first."""
    sums: dict[TensorRole, int] = {}
    for row in found:
        if row.kept == kept and row.nbytes is not None:
            sums[row.role] = sums.get(row.role, 0) + row.nbytes
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
