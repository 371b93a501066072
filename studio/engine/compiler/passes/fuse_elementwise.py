"""Runs chains of element-wise instructions as one kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from studio.engine.compiler.fusion import (
    Registers,
    fused,
    in_groups,
    is_simple,
    refs_of,
)
from studio.engine.compiler.rewriting import with_lines
from studio.engine.compiler.target import Target
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.program import Program, Storage


def fuse_elementwise(program: Program, target: Target, keep: Collection[int] = ()) -> Program:
    """The program with neighbouring element-wise instructions over one index space fused.

    A chain grows while the next line computes over the same shape and reads something the chain has
    written, forward and backward alike. Gradient lines join only where no operand repeats, since
    repeats are summed. What only the chain reads becomes a register tensor.

    Args:
        program: any program.
        target: says how many storages a kernel may touch.
        keep: tensors that must stay stored.
    """
    taken = in_groups(program)
    changes: dict[int, Sequence[Instruction]] = {}
    found = Registers(program, keep)
    registers: set[int] = set()
    for _, start, lines in program.section_ranges():
        place = 0
        while place < len(lines):
            length = _length(program, lines[place:], target, taken, start + place)
            if length > 1:
                parts = lines[place : place + length]
                members = range(start + place, start + place + length)
                changes[start + place] = fused("chain", parts)
                changes |= dict.fromkeys(members[1:], ())
                registers |= found.of(members)
            place += max(length, 1)
    made = [program.tensors[i].replace(register=True) for i in registers]
    return with_lines(program.with_tensors(program.tensors.update(made)), changes)


def _length(
    program: Program, lines: Sequence[Instruction], target: Target, taken: set[int], start: int
) -> int:
    """How many of the next lines form a chain; 0 or 1 for none."""
    chain = _Chain(program, target)
    for offset, ins in enumerate(lines):
        if start + offset in taken or not chain.take(ins):
            return offset
    return len(lines)


class _Chain:
    """A chain while it grows."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program = program
        self.limit = target.max_fused_storages
        self.shape: Shape | None = None
        self.named: dict[Storage, Ref] = {}
        self.written: set[Storage] = set()

    def take(self, ins: Instruction) -> bool:
        """Add a line if it fits."""
        if not is_simple(self.program, ins):
            return False
        shape = self._space(ins)
        if shape is None or (self.shape is not None and shape != self.shape):
            return False
        refs = {self.program.storage(r): r for r in refs_of(ins)}
        if len(refs) < len(refs_of(ins)) or any(self.named.get(s, r) != r for s, r in refs.items()):
            return False
        if self.named and not self.program.reads(ins) & self.written:
            return False
        if len({**self.named, **refs}) > self.limit or self._repeats_own(refs, shape):
            return False
        self.shape = shape
        self.named |= refs
        self.written |= self.program.writes(ins)
        return True

    def _space(self, ins: Instruction) -> Shape | None:
        """The index space of a line; None for a gradient line that sums over repeats."""
        shape = self.program.tensors[ins.ref("y").id].shape
        if isinstance(ins, GradInstruction) and any(
            self.program.tensors[r.id].shape != shape for r in ins.operands if r.present
        ):
            return None
        return shape

    def _repeats_own(self, refs: dict[Storage, Ref], shape: Shape) -> bool:
        """Whether the line reads, broadcast, something the chain has written."""
        return any(
            s in self.written and self.program.tensors[r.id].shape != shape for s, r in refs.items()
        )
