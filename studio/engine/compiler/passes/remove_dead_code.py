"""Drops instructions whose results are not used."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.compiler.rewriting import with_lines, without_tensors
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program, Storage


def remove_dead_code(program: Program) -> Program:
    """The program without instructions that reach no output, and without tensors they leave over.

    Wanted are outputs, everything that changes a persistent tensor (parameters, statistics, metrics
    rings, step blocks), the whole backward section, and in a training program that has none yet the
    loss to be differentiated. Parameters stay in the map even when unused.
    """
    wanted = {program.storage(Ref(i)) for i in program.outputs}
    wanted |= _loss_to_come(program)
    changes: dict[int, tuple[Instruction, ...]] = {}
    for section, index, ins in reversed(list(program.located())):
        if isinstance(ins, Fuse | End) or _is_wanted(program, section, ins, wanted):
            wanted |= program.reads(ins)
        else:
            changes[index] = ()
    smaller = with_lines(program, changes)
    return without_tensors(smaller, _left_over(smaller))


def _is_wanted(program: Program, section: str, ins: Instruction, wanted: set[Storage]) -> bool:
    if section in ("backward", "update"):
        return True
    writes = program.writes(ins)
    if any(program.tensors[s.root].role.persistent and not s.grad for s in writes):
        return True
    return bool(writes & wanted)


def _loss_to_come(program: Program) -> set[Storage]:
    if program.mode != "train" or program.section("backward"):
        return set()
    values = [results[0] for ins in program.section("loss") if (results := ins.results())]
    return {program.storage(ref) for ref in values[-1:]}


def _left_over(program: Program) -> Iterator[int]:
    """Ids of activations and constants that are no operand, port or base of anything."""
    used = {ref.id for ins in program for ref in ins.operands}
    used |= {*program.inputs, *program.outputs}
    for tensor_id in list(used):
        base = program.tensors[tensor_id].view_of if tensor_id in program.tensors else None
        while base is not None:
            used.add(base)
            base = program.tensors[base].view_of
    for tensor in program.tensors.values():
        if tensor.role in (Role.ACTIVATION, Role.CONST) and tensor.id not in used:
            yield tensor.id
