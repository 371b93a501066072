"""Updates and records read a copy of the step block, so that the block may move on beside them."""

from __future__ import annotations

from itertools import count

from studio.engine.compiler.rewriting import with_lines
from studio.engine.compiler.target import Target
from studio.engine.core.tensor import Ref, Tensor
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.update import Begin
from studio.engine.isa.program import Program

NAME = "update/now"


def snapshot_step(program: Program, target: Target) -> Program:
    """The program in which BEGIN_UPDATE keeps a copy of the step block for the lines behind it.

    Lines that read the block read the copy instead, as long as nothing has changed the block since.
    ADVANCE then need not wait for them.
    """
    if not target.snapshots_step:
        return program
    changes: dict[int, list[Instruction]] = {}
    lines = list(program)
    for begin, readers in _readers(program).items():
        step = lines[begin].ref("step")
        block = program.tensor(step)
        now = Tensor(program.next_id(), _free_name(program), block.shape, block.dtype)
        program = program.with_tensors(program.tensors.update([now]))
        changes[begin] = [lines[begin].replace(now=now.ref)]
        for index in readers:
            line = lines[index]
            changes[index] = [line.replace(**dict.fromkeys(_reads(line, step), now.ref))]
    return with_lines(program, changes)


def _readers(program: Program) -> dict[int, list[int]]:
    """By index of a BEGIN_UPDATE, the lines that read the step block as it left it."""
    found: dict[int, list[int]] = {}
    begun: dict[Ref, int] = {}
    for _, index, ins in program.located():
        for step, begin in begun.items():
            if _reads(ins, step):
                found.setdefault(begin, []).append(index)
        changed = program.writes(ins)
        begun = {ref: k for ref, k in begun.items() if program.storage(ref) not in changed}
        if isinstance(ins, Begin) and not ins.now.present:
            begun[ins.step] = index
    return found


def _reads(ins: Instruction, step: Ref) -> list[str]:
    """The operands by which a line only reads the step block; a gradient line goes by another's."""
    if isinstance(ins, GradInstruction):
        return []
    return [s.name for s, ref in ins.named_operands() if ref == step and s.access is Access.READ]


def _free_name(program: Program) -> str:
    names = (NAME if number == 1 else f"{NAME}{number}" for number in count(1))
    return next(name for name in names if not program.tensors.has_name(name))
