"""What passes need to know before they change a program, and how they put changes in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from studio.engine.core.tensor import Ref
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import Program, Storage


@dataclass(frozen=True)
class Use:
    """One operand through which an instruction takes a tensor in."""

    index: int
    field: str


def uses_of(program: Program) -> dict[int, list[Use]]:
    """For every tensor the operands it stands in other than as a result, gradients included."""
    found: dict[int, list[Use]] = defaultdict(list)
    for _, index, ins in program.located():
        for spec, ref in ins.named_operands():
            if ref.present and (spec.access is not Access.WRITE or ref.grad):
                found[ref.id].append(Use(index, spec.name))
    return found


def readers_of(program: Program) -> dict[Storage, set[int]]:
    """For every storage the running indices of the instructions that read what is in it."""
    found: dict[Storage, set[int]] = defaultdict(set)
    for _, index, ins in program.located():
        for storage in program.reads(ins):
            found[storage].add(index)
    return found


def pinned(program: Program) -> set[int]:
    """Tensors no pass may take away: fed and fetched ones, and all that belong to a view class."""
    views = [t for t in program.tensors.values() if t.view_of is not None]
    members = {t.id for t in views} | {program.tensors.root(t.id) for t in views}
    return {*program.inputs, *program.outputs, *members}


def changed_in_place(program: Program) -> set[int]:
    """Roots of persistent tensors that some instruction changes."""
    return {
        storage.root
        for ins in program
        for storage in program.writes(ins)
        if not storage.grad and program.tensors[storage.root].role.persistent
    }


def merged_owners(*lines: Instruction) -> tuple[str, ...]:
    """The owners of all lines, each once, in order."""
    return tuple(dict.fromkeys(owner for ins in lines for owner in ins.owners))


def with_lines(program: Program, changes: Mapping[int, Sequence[Instruction]]) -> Program:
    """The program with lines, given by running index, replaced by any number of others.

    New lines are of the section of the line they replace. Sections that lose all their lines are
    left out, as text and binary form have it.
    """
    if not changes:
        return program
    return program.with_lines(
        (section, new)
        for section, index, ins in program.located()
        for new in changes.get(index, (ins,))
    )


def substituted(program: Program, instead: Mapping[int, int]) -> Program:
    """The program with tensors replaced by others wherever they are an operand."""
    if not instead:
        return program

    def settle(ref: Ref) -> Ref:
        tensor_id = ref.id
        while tensor_id in instead:
            tensor_id = instead[tensor_id]
        return Ref(tensor_id, ref.grad)

    return program.map_instructions(lambda ins: ins.map_refs(settle))


def without_tensors(program: Program, ids: Iterable[int]) -> Program:
    """The program without tensors that nothing refers to any more."""
    gone = set(ids)
    return program.with_tensors(program.tensors.without(gone)) if gone else program
