"""Applies gradients of activations inside the kernel that produces what they start from."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from studio.engine.compiler.fusion import begun_with, fused, in_groups, is_simple
from studio.engine.compiler.rewriting import with_lines
from studio.engine.compiler.target import Target
from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.ops.pool import AvgPool2D, GlobalAvgPool2D, MaxPool2D
from studio.engine.isa.program import Program, Storage

PRODUCERS = (Conv2D, DepthwiseConv2D, Linear, MatMul, AvgPool2D, GlobalAvgPool2D, MaxPool2D)
"""Forward classes whose gradient for x, or a, is stored once, element by element."""
LONGEST = 2
"""Lines behind the producer."""
OWN_STORAGES = 3
"""Storages the producer's kernel touches at most besides its result."""


def fuse_gradients(program: Program, target: Target, keep: Collection[int] = ()) -> Program:
    """The program with gradients of element-wise functions fused into what makes their dY.

    Behind the gradient of a convolution, dense layer or pooling follow, line by line, those of
    functions whose result's gradient is the one just made. A gradient that only such a group
    touches needs no storage.

    Args:
        program: any program.
        target: says whether the device's kernels can do this, and how many storages they may touch.
        keep: tensors whose gradients must stay stored, such as those being viewed.
    """
    if not target.fuses_gradients:
        return program
    taken = in_groups(program)
    room = target.max_fused_storages - OWN_STORAGES
    changes: dict[int, Sequence[Instruction]] = {}
    for section, start, lines in program.section_ranges():
        if section != "backward":
            continue
        place = 0
        while place < len(lines):
            tail = 0
            if start + place not in taken:
                tail = _tail(program, lines[place : place + 1 + LONGEST], room, keep)
            if tail:
                members = range(start + place, start + place + tail + 1)
                changes[members[0]] = fused("epilogue", lines[place : place + tail + 1])
                changes |= dict.fromkeys(members[1:], ())
            place += tail + 1
    return with_lines(program, changes)


def _tail(program: Program, lines: Sequence[Instruction], room: int, keep: Collection[int]) -> int:
    """How many lines behind the first belong to its group."""
    producer = lines[0]
    if not isinstance(producer, GradInstruction) or not issubclass(producer.forward, PRODUCERS):
        return 0
    made = begun_with(producer)
    if not made.present or made.id in keep or producer.merged(program.type_of):
        return 0
    touched: dict[Storage, Ref] = {program.storage(made): made}
    for number, ins in enumerate(lines[1:]):
        following = _following(program, ins, made)
        if following is None or any(touched.get(s, r) != r for s, r in following.items()):
            return number
        touched |= following
        if len(touched) > room:
            return number
        targets = [ref for _, ref in ins.targets()] if isinstance(ins, GradInstruction) else []
        if len(targets) != 1 or targets[0].id in keep:
            return number + 1
        made = targets[0]
    return len(lines) - 1


def _following(program: Program, ins: Instruction, made: Ref) -> dict[Storage, Ref] | None:
    """The storages of a line that can follow in the group; None where it cannot."""
    if not isinstance(ins, GradInstruction) or not is_simple(program, ins):
        return None
    shape = program.tensors[made.id].shape
    if ins.ref("y").gradient != made or not ins.targets():
        return None
    if any(program.tensors[r.id].shape != shape for r in ins.operands if r.present):
        return None
    effects = ins.effects()
    refs = effects.reads | effects.writes
    found = {program.storage(ref): ref for ref in refs}
    return found if len(found) == len(refs) else None
