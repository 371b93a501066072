"""Applies activations inside the kernel that produces their input."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from studio.engine.compiler.fusion import Registers, fused, in_groups, is_simple
from studio.engine.compiler.rewriting import with_lines
from studio.engine.core.tensor import Ref
from studio.engine.isa.families import Unary
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.ops.norm import BatchNormBase
from studio.engine.isa.program import SECTIONS, Program, Storage

PRODUCERS = (Conv2D, DepthwiseConv2D, Linear, MatMul, BatchNormBase)
LONGEST = 4
"""Instructions behind the producer."""
MOST_SUMS = 1
"""Sums among them: each brings a storage, of which a kernel may touch few."""


def fuse_epilogues(program: Program, keep: Collection[int] = (), *, sums: bool = False) -> Program:
    """The program with element-wise functions of a product fused into its producer.

    Behind a convolution, product or normalisation follow the functions of one operand that read its
    result, each the result of the one before, as one group of kind epilogue. What only the group
    reads becomes a register tensor: a gradient that needs just the last result (RELU, SIGMOID …)
    goes on working, one that reads the input of its function keeps that input stored.

    Args:
        program: any program.
        keep: tensors that must stay stored, such as those being viewed.
        sums: whether a sum of the result and another tensor, ready when the producer runs, may
            follow too.
    """
    taken = in_groups(program)
    ready = _Ready(program) if sums else None
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
            tail = _tail(program, lines, place, start, taken, ready)
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


class _Ready:
    """Knows what is written once, and when: such a tensor may be read by any later line."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._writers: dict[Storage, list[int]] = {}
        for _, index, ins in program.located():
            for storage in program.writes(ins):
                self._writers.setdefault(storage, []).append(index)

    def at(self, ref: Ref, index: int) -> bool:
        """Whether a tensor has its only value before the instruction of an index runs."""
        writers = self._writers.get(self._program.storage(ref), [])
        return not writers or (len(writers) == 1 and writers[0] < index)


def _tail(
    program: Program,
    lines: Sequence[Instruction],
    place: int,
    start: int,
    taken: set[int],
    ready: _Ready | None,
) -> list[int]:
    """Places of the functions and sums that can follow the producer, in order."""
    found: list[int] = []
    result: Ref = lines[place].ref("y")
    added = 0
    for later in range(place + 1, len(lines)):
        ins = lines[later]
        if len(found) == LONGEST:
            break
        if start + later in taken or not is_simple(program, ins):
            continue
        if isinstance(ins, Unary) and ins.ref("x") == result:
            found.append(later)
            result = ins.ref("y")
        elif isinstance(ins, Add) and ready is not None and added < MOST_SUMS:
            other = _added(program, ins, result)
            if other is not None and ready.at(other, start + place):
                found.append(later)
                result = ins.ref("y")
                added += 1
    return found


def _added(program: Program, ins: Instruction, result: Ref) -> Ref | None:
    """What a sum adds to a result; None where it is another sum, or one operand repeats."""
    operands = [ins.ref("x1"), ins.ref("x2")]
    if operands.count(result) != 1:
        return None
    operands.remove(result)
    shapes = {program.tensors[ref.id].shape for ref in (*operands, result)}
    return operands[0] if len(shapes) == 1 else None
