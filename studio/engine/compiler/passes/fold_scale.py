"""Moves factors into the sums and scales they feed."""

from __future__ import annotations

from studio.engine.compiler.rewriting import (
    Use,
    merged_owners,
    pinned,
    uses_of,
    with_lines,
    without_tensors,
)
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.arithmetic import Add, Scale
from studio.engine.isa.program import Program

SMALLEST, LARGEST = 2.0**-126, 2.0**127
"""Between these float32 keeps all its digits."""

COEFFICIENT = {"x1": "alpha", "x2": "beta"}


def fold_scale(program: Program) -> Program:
    """The program without SCALE instructions that an ADD or another SCALE can take over.

    A SCALE whose result has exactly one consumer disappears: an ADD takes the factor into the
    coefficient of that operand, a SCALE into its own factor. An ADD of a tensor to itself becomes a
    SCALE. Programs that have a backward section are left alone.
    """
    if program.section("backward"):
        return program
    while (smaller := _folded_once(program)) is not program:
        program = smaller
    return program


def _folded_once(program: Program) -> Program:
    uses = uses_of(program)
    kept = pinned(program)
    lines = list(program)
    for index, ins in enumerate(lines):
        if isinstance(ins, Add) and ins.x1 == ins.x2 and abs(ins.alpha + ins.beta) <= LARGEST:
            return with_lines(program, {index: (_doubled(ins),)})
        if not isinstance(ins, Scale) or ins.y.id in kept:
            continue
        consumers = uses.get(ins.y.id, [])
        if len(consumers) != 1:
            continue
        taker = _taken_over(ins, lines[consumers[0].index], consumers[0])
        if taker is not None:
            changed = with_lines(program, {index: (), consumers[0].index: (taker,)})
            return without_tensors(changed, [ins.y.id])
    return program


def _doubled(ins: Add) -> Instruction:
    return Scale(x=ins.x1, y=ins.y, alpha=ins.alpha + ins.beta, owners=ins.owners)


def _taken_over(scale: Scale, consumer: Instruction, use: Use) -> Instruction | None:
    name = COEFFICIENT[use.field] if isinstance(consumer, Add) else "alpha"
    if not isinstance(consumer, Add | Scale) or not _is_kept(scale.alpha, consumer.value(name)):
        return None
    owners = merged_owners(scale, consumer)
    factor = scale.alpha * consumer.value(name)
    return consumer.replace(**{use.field: scale.x, name: factor, "owners": owners})


def _is_kept(a: float, b: float) -> bool:
    """Whether a product of factors is as good in float32 as one after the other."""
    product = abs(a * b)
    return a == 0 or b == 0 or SMALLEST <= product <= LARGEST
