"""Computes equal things once."""

from __future__ import annotations

from studio.engine.compiler.rewriting import (
    changed_in_place,
    merged_owners,
    pinned,
    substituted,
    with_lines,
    without_tensors,
)
from studio.engine.core.tensor import Ref
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import Program

Key = tuple[object, ...]


def share_common_subexpressions(program: Program) -> Program:
    """The program with every repeated computation replaced by the result of the first one.

    Two instructions are equal when class, attributes and read operands are; the first then also
    belongs to the layers of the second. Random instructions, those that change something in place
    and those that read what changes are never shared. Programs that have a backward section are
    left alone.
    """
    if program.section("backward"):
        return program
    volatile = changed_in_place(program)
    kept = pinned(program)
    first: dict[Key, int] = {}
    lines = list(program)
    changes: dict[int, tuple[Instruction, ...]] = {}
    instead: dict[int, int] = {}
    for index, ins in enumerate(lines):
        if not _is_pure(program, ins, volatile):
            continue
        key = _key(ins, instead)
        earlier = first.setdefault(key, index)
        result = _result(ins)
        if earlier == index or result.id in kept:
            continue
        model = changes.get(earlier, (lines[earlier],))[0]
        changes[earlier] = (model.replace(owners=merged_owners(model, ins)),)
        changes[index] = ()
        instead[result.id] = _result(model).id
    shared = substituted(with_lines(program, changes), instead)
    return without_tensors(shared, instead)


def _is_pure(program: Program, ins: Instruction, volatile: set[int]) -> bool:
    written = [r for s, r in ins.named_operands() if s.access is Access.WRITE and r.present]
    effects = ins.effects()
    return (
        not ins.random
        and len(written) == 1
        and effects.writes == frozenset(written)
        and not any(r.grad for r in ins.operands)
        and not any(program.tensors.root(r.id) in volatile for r in effects.reads)
    )


def _result(ins: Instruction) -> Ref:
    return next(r for s, r in ins.named_operands() if s.access is Access.WRITE and r.present)


def _key(ins: Instruction, instead: dict[int, int]) -> Key:
    read = tuple(
        (spec.name, instead.get(ref.id, ref.id))
        for spec, ref in ins.named_operands()
        if spec.access is not Access.WRITE
    )
    return (ins.code, read, tuple(ins.attrs.items()))
