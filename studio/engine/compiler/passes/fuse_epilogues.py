"""Applies activations inside the kernel that produces their input."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from studio.engine.compiler.fusion import Registers, fused, in_groups, is_simple
from studio.engine.compiler.rewriting import with_lines
from studio.engine.core.tensor import Ref
from studio.engine.isa.families import Unary
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.ops.norm import BatchNormBase
from studio.engine.isa.program import SECTIONS, Program

PRODUCERS = (Conv2D, DepthwiseConv2D, Linear, MatMul, BatchNormBase)
LONGEST = 4
"""Instructions behind the producer."""


def fuse_epilogues(program: Program, keep: Collection[int] = ()) -> Program:
    """The program with element-wise functions of a product fused into its producer.

    Behind a convolution, product or normalisation follow the functions of one operand that read its
    result, each the result of the one before, as one group of kind epilogue. What only the group
    reads becomes a register tensor: a gradient that needs just the last result (RELU, SIGMOID …)
    goes on working, one that reads the input of its function keeps that input stored.

    Args:
        program: any program.
        keep: tensors that must stay stored, such as those being viewed.
    """
    taken = in_groups(program)
    changes: dict[int, Sequence[Instruction]] = {}
    found = Registers(program, keep)
    registers: set[int] = set()
    start = 0
    for section in SECTIONS:
        lines = program.section(section)
        for place, ins in enumerate(lines):
            index = start + place
            if index in taken or not isinstance(ins, PRODUCERS):
                continue
            tail = _tail(program, lines, place, start, taken)
            if not tail:
                continue
            parts = [ins, *(lines[p] for p in tail)]
            changes[index] = fused("epilogue", parts)
            changes |= {start + p: () for p in tail}
            taken |= {index, *(start + p for p in tail)}
            registers |= found.of([index, *(start + p for p in tail)])
        start += len(lines)
    made = [program.tensors[i].replace(register=True) for i in registers]
    return with_lines(program.with_tensors(program.tensors.update(made)), changes)


def _tail(
    program: Program, lines: Sequence[Instruction], place: int, start: int, taken: set[int]
) -> list[int]:
    """Places of the functions that can follow the producer, in order."""
    found: list[int] = []
    result: Ref = lines[place].ref("y")
    for later in range(place + 1, len(lines)):
        ins = lines[later]
        if len(found) == LONGEST:
            break
        if (
            isinstance(ins, Unary)
            and is_simple(program, ins)
            and ins.ref("x") == result
            and start + later not in taken
        ):
            found.append(later)
            result = ins.ref("y")
    return found
