"""Where in a step a tensor can be looked at, and plain answers where it cannot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.engine.compiler.lifetimes import inner_gradients, shared_gradients
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry

if TYPE_CHECKING:
    from studio.engine.compiler.plan_memory import MemoryPlan, Slot


class NotStoredError(BackendError):
    """The tensor lives only inside a fused kernel, or another stands in for it.

    A program that keeps it must be compiled.
    """

    code = "not_stored"


class NotThereError(BackendError):
    """The program has no such tensor, or its storage holds something else at that place."""

    code = "not_there"


@dataclass(frozen=True, slots=True)
class CapturePoint:
    """A place in the host list.

    Attributes:
        entry: number of the entry behind which the tensor is looked at.
        index: running index of the last instruction that entry runs.
    """

    entry: int
    index: int


def find_ref(program: Program, name: str, grad: bool) -> Ref:
    """The operand of a tensor's name; NotThereError where the program has none."""
    if not program.tensors.has_name(name):
        raise NotThereError(
            "the program has no tensor of this name",
            who=name,
            hint="the compiler may have removed it as unused",
        )
    return Ref(program.tensors.named(name).id, grad)


def capture_point(
    plan: MemoryPlan,
    entries: Sequence[Entry],
    ref: Ref,
    after: int | None = None,
    pinned: Collection[Storage] = (),
) -> CapturePoint:
    """Behind which entry a tensor's storage holds it.

    Args:
        plan: where the executable's storages are.
        entries: its host list.
        ref: the tensor's data or gradient.
        after: running index of an instruction to look behind; None for the last that writes it.
        pinned: storages that have room of their own although the plan shares it.

    Raises:
        NotStoredError: it lives only inside a fused kernel.
        NotThereError: nothing writes it, or its bytes hold something else there.
    """
    program = plan.program
    storage, tensor = program.storage(ref), program.tensors[ref.id]
    root = program.tensors[storage.root]
    inside = storage not in plan.slots and storage in inner_gradients(program)
    if inside or (not ref.grad and root.register):
        raise NotStoredError(
            "it exists only inside a fused kernel and has no storage",
            who=tensor.name,
            hint="recompile the program so that it keeps this tensor",
        )
    if ref.grad and storage not in plan.slots and storage in shared_gradients(program):
        raise NotStoredError(
            "it has no gradient of its own, the program takes that of the sum behind it",
            who=tensor.name,
            hint="recompile the program so that it keeps this tensor",
        )
    lasting = not ref.grad and root.role.persistent
    fed = {program.storage(Ref(i)) for i in program.inputs}
    what = "gradient" if ref.grad else "data"
    if not entries or (not lasting and storage not in plan.slots):
        raise NotThereError(f"no instruction touches its {what}", who=tensor.name)
    writers = [
        number
        for number, entry in enumerate(entries)
        if any(program.storage(written) == storage for written in entry.writes())
    ]
    if after is None:
        if not writers and not lasting and storage not in fed:
            raise NotThereError(f"no instruction writes its {what}", who=tensor.name)
        entry = writers[-1] if writers else len(entries) - 1
        return CapturePoint(entry, last_index(entries[entry]))
    entry = _entry_of(entries, after)
    point = CapturePoint(entry, last_index(entries[entry]))
    if lasting or storage in pinned:
        return point
    if storage not in fed and (not writers or writers[0] > entry):
        raise NotThereError(
            f"its {what} is not written yet after instruction {after}",
            who=tensor.name,
            hint="choose a later instruction",
        )
    mine = plan.slots[storage]
    if _given_away(plan, mine, point.index):
        raise NotThereError(
            f"its {what} has been overwritten before instruction {after}: the memory plan gave its "
            "bytes to another tensor",
            who=tensor.name,
            hint=f"choose an instruction up to {mine.last}",
        )
    return point


def _given_away(plan: MemoryPlan, mine: Slot, index: int) -> bool:
    """Whether another storage has been given bytes of a slot up to an instruction."""
    return any(
        mine.last < other.first <= index and mine.offset < other.end and other.offset < mine.end
        for other in plan.slots.values()
    )


def last_index(entry: Entry) -> int:
    """Running index of the last instruction an entry runs."""
    return entry.index + len(entry.parts) if entry.kind else entry.index


def _entry_of(entries: Sequence[Entry], index: int) -> int:
    """The entry that runs the instruction of an index, or the last one before it."""
    found = [number for number, entry in enumerate(entries) if entry.index <= index]
    if index < 0 or not found:
        raise NotThereError(f"the program has no instruction {index}", who="watch")
    return found[-1]
