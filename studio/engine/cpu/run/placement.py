"""Memory of an executable: the planned arena, and gradients laid out like their parameters."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.compiler.plan_memory import MemoryPlan
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.cpu.memory.scratch import ALIGNMENT, aligned_bytes
from studio.engine.cpu.memory.views import Anything
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import entries
from studio.engine.runtime.free_memory import require_memory
from studio.engine.runtime.requirements import persistent_tensors

_TABLES = frozenset({"step", "rates"})


@dataclass(frozen=True)
class Placement:
    """Where the storages of an executable are.

    Attributes:
        buffers: flat storage of every storage, those of the session among them.
        nbytes: bytes the executable owns.
        pinned: storages that keep their contents to the end of a run, whatever the plan says.
    """

    buffers: dict[Storage, Anything]
    nbytes: int
    pinned: frozenset[Storage]


def _update_columns(program: Program) -> list[list[Ref]]:
    """For every fused update group, its operands field by field: all w, all g, all slots."""
    columns: list[list[Ref]] = []
    for entry in entries(program):
        if entry.kind != "update":
            continue
        fields: dict[str, list[Ref]] = {}
        for part in entry.parts:
            for spec, ref in part.named_operands():
                if ref.present and spec.name not in _TABLES:
                    fields.setdefault(spec.name, []).append(ref)
        columns += fields.values()
    return columns


def allocation_order(program: Program) -> tuple[Tensor, ...]:
    """Persistent tensors in an order that makes the operands of one update kernel adjacent."""
    tensors = persistent_tensors(program)
    rank: dict[int, int] = {}
    for column in _update_columns(program):
        for ref in column:
            if not ref.grad:
                rank.setdefault(program.tensors.root(ref.id), len(rank))
    parameters = [t for t in tensors if t.role is Role.PARAM]
    others = [t for t in tensors if t.role is not Role.PARAM]
    others.sort(key=lambda t: rank.get(t.id, len(rank)))
    return (*parameters, *others)


def place(plan: MemoryPlan, session: CpuSession, batch: int, rows: int) -> Placement:
    """Allocate the planned arena and combine it with the session's storages."""
    program = plan.program
    buffers: dict[Storage, Anything] = {}
    for tensor in persistent_tensors(program):
        buffers[Storage(tensor.id, False)] = session.held(tensor.name).flat
    require_memory(plan.total_bytes, f"a step of {program.name}")
    arena = aligned_bytes(plan.total_bytes)
    for storage, slot in plan.slots.items():
        layout = program.tensors[storage.root].descriptor(batch, rows)
        part = arena[slot.offset : slot.offset + layout.nbytes]
        buffers[storage] = part.view(layout.dtype.np)
    pinned = _pinned(program, plan)
    sizes = {s: -(-buffers[s].nbytes // ALIGNMENT) * ALIGNMENT for s in pinned}
    apart = aligned_bytes(sum(sizes.values()))
    offset = 0
    for storage in pinned:
        flat = buffers[storage]
        buffers[storage] = apart[offset : offset + flat.nbytes].view(flat.dtype)
        offset += sizes[storage]
    return Placement(buffers, arena.nbytes + apart.nbytes, frozenset(pinned))


def _pinned(program: Program, plan: MemoryPlan) -> list[Storage]:
    found: dict[Storage, None] = {}
    for column in _update_columns(program):
        for ref in column:
            storage = program.storage(ref)
            if ref.grad and storage in plan.slots and not program.tensors[storage.root].pad:
                found[storage] = None
    return list(found)
