"""Applies activations inside the kernel that produces their input."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from studio.engine.compiler.fusion import Registers, fused, in_groups, is_simple
from studio.engine.compiler.rewriting import with_lines
from studio.engine.compiler.target import CPU, Target
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.families import Unary
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.ops.norm import BatchNormBase, is_affine
from studio.engine.isa.program import Program, Storage

PRODUCERS = (Conv2D, DepthwiseConv2D, Linear, MatMul, BatchNormBase)
LONGEST = 4
"""Instructions behind the producer."""


def fuse_epilogues(program: Program, keep: Collection[int] = (), target: Target = CPU) -> Program:
    """The program with element-wise functions of a product fused into its producer.

    Behind a convolution, product or normalisation follow the functions of one operand that read its
    result, each the result of the one before, as one group of kind epilogue. What only the group
    reads becomes a register tensor: a gradient that needs just the last result (RELU, SIGMOID …)
    goes on working, one that reads the input of its function keeps that input stored. Where the
    target's kernels take further operands, sums with another tensor or a bias and normalisations
    by running statistics follow too, if those are ready when the producer runs. Of two chains that
    meet in a sum the longer one's producer takes it: where it stands first, its group moves down to
    the sum.

    Args:
        program: any program.
        keep: tensors that must stay stored, such as those being viewed.
        target: says what kernels can do, and how many storages they may touch.
    """
    taken = in_groups(program)
    changes: dict[int, Sequence[Instruction]] = {}
    found = Registers(program, keep)
    tails = _Tails(program, found, target, taken)
    registers: set[int] = set()
    for _, start, lines in program.section_ranges():
        for place, ins in enumerate(lines):
            index = start + place
            if index in taken or not isinstance(ins, PRODUCERS) or ins.merged(program.type_of):
                continue
            tail, home = tails.behind(lines, place, start)
            if not tail:
                continue
            members = [index, *(start + p for p in tail)]
            changes |= dict.fromkeys(members, ())
            changes[start + home] = fused("epilogue", [ins, *(lines[p] for p in tail)])
            tails.moved |= dict.fromkeys(members, start + home)
            taken.update(members)
            registers |= found.of(members)
    made = [program.tensors[i].replace(register=True) for i in registers]
    return with_lines(program.with_tensors(program.tensors.update(made)), changes)


class _Tails:
    """Finds what can follow a producer.

    Args:
        program: where.
        registers: says what a group would keep to itself.
        target: what kernels can do.
        taken: running indices of lines that are in a group; the caller adds to them.

    Attributes:
        moved: where lines of groups that were made stand, by running index; the caller adds to it.
    """

    def __init__(
        self, program: Program, registers: Registers, target: Target, taken: AbstractSet[int]
    ) -> None:
        self._program = program
        self._registers = registers
        self._target = target
        self._taken = taken
        self.moved: dict[int, int] = {}
        self._depths = _depths(program)
        self._writers: dict[Storage, list[int]] = {}
        for _, index, ins in program.located():
            for storage in program.writes(ins):
                self._writers.setdefault(storage, []).append(index)

    def behind(self, lines: Sequence[Instruction], place: int, start: int) -> tuple[list[int], int]:
        """Places of the functions that can follow the producer, in order, and that of the group.

        Args:
            lines: lines of one section that run one after another.
            place: the producer's place there.
            start: running index of the first of them.
        """
        found: list[int] = []
        home = place
        result: Ref = lines[place].ref("y")
        for later in range(place + 1, len(lines)):
            ins = lines[later]
            if len(found) == LONGEST:
                break
            if start + later in self._taken:
                continue
            function = (
                isinstance(ins, Unary) and is_simple(self._program, ins) and ins.ref("x") == result
            )
            if not function:
                others = self._others(ins, result)
                members = [lines[p] for p in (place, *found, later)]
                if not others or not self._fits(
                    members, [start + p for p in (place, *found, later)]
                ):
                    continue
                if not all(self._ready(ref, start + home, start + later) for ref in others):
                    deeper = all(self._depth(result) > self._depth(ref) for ref in others)
                    ready = all(self._ready(ref, start + later, start + later) for ref in others)
                    if (
                        not deeper
                        or not ready
                        or not self._may_wait(lines, place, found, later, start)
                    ):
                        continue
                    home = later
            found.append(later)
            result = ins.ref("y")
        return found, home

    def _depth(self, ref: Ref) -> int:
        return self._depths.get(self._program.storage(ref), 0)

    def _may_wait(
        self,
        lines: Sequence[Instruction],
        place: int,
        found: Sequence[int],
        until: int,
        start: int,
    ) -> bool:
        """Whether a producer and what follows it could run where a later line stands.

        What counts is what runs in between, lines of groups that stand there now among it.
        """
        program = self._program
        own = [lines[p] for p in (place, *found)]
        reads = {s for ins in own for s in program.reads(ins)}
        writes = {s for ins in own for s in program.writes(ins)}
        for other, ins in enumerate(lines):
            runs = self.moved.get(start + other, start + other) - start
            if other in found or not place < runs < until:
                continue
            if writes & {*program.reads(ins), *program.writes(ins)}:
                return False
            if reads & {*program.writes(ins)}:
                return False
        return True

    def _others(self, ins: Instruction, result: Ref) -> list[Ref]:
        """What a sum or a normalisation of the result takes besides; empty for any other line."""
        tensors = self._program.tensors
        if not self._target.fuses_operands or not (isinstance(ins, Add) or is_affine(ins)):
            return []
        reads = [ref for spec, ref in ins.named_operands() if spec.name != "y" and ref.present]
        if reads.count(result) != 1:
            return []
        reads.remove(result)
        if any(tensors[ref.id].dtype is not DType.float32 for ref in (*reads, result)):
            return []
        shape = tensors[result.id].shape
        sums = isinstance(ins, Add) and all(_fits_in(tensors[r.id].shape, shape) for r in reads)
        return reads if sums or (is_affine(ins) and ins.ref("x") == result) else []

    def _ready(self, ref: Ref, index: int, reader: int) -> bool:
        """Whether a tensor is before the instruction of an index what it is for its reader.

        Updates behind the reader change nothing.
        """
        writers = self._writers.get(self._program.storage(ref), [])
        return all(self.moved.get(w, w) < index for w in writers if w < reader)

    def _fits(self, members: Sequence[Instruction], indices: Sequence[int]) -> bool:
        """Whether a kernel can touch all storages of a group."""
        kept = {ref.id for ins in members for ref in ins.operands if ref.present}
        return len(kept - self._registers.of(indices)) <= self._target.max_fused_storages


def _fits_in(shape: Shape, whole: Shape) -> bool:
    """Whether a tensor repeats along the leading dimensions of another at most, as a bias does."""
    return shape == whole[len(whole) - len(shape) :]


def _depths(program: Program) -> dict[Storage, int]:
    """For every storage of the forward section the lines that have to run before it is there."""
    found: dict[Storage, int] = {}
    for ins in program.section("forward"):
        depth = 1 + max((found.get(s, 0) for s in program.reads(ins)), default=0)
        found |= dict.fromkeys(program.writes(ins), depth)
    return found
