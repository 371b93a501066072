"""Gives inputs of padded convolutions a zero halo, so that kernels need no bounds test."""

from __future__ import annotations

from studio.engine.compiler.rewriting import pinned
from studio.engine.compiler.target import Target
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Pads, Ref, Tensor
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D, geometry_ends
from studio.engine.isa.program import Program

NONE: Pads = ((0, 0),) * 4


def choose_layout(program: Program, target: Target) -> Program:
    """The program with halos on the activations that padded convolutions read.

    A tensor gets the widest halo any of its convolutions wants, when the target has a use for
    halos and its one writer is in the target's layout table of instructions that can write padded
    storage. Fed and fetched tensors, parameters, views and registers stay dense.
    """
    if not target.pad_convolution_inputs:
        return program
    fixed = pinned(program)
    writers = _writers(program)
    wanted: dict[int, Pads] = {}
    for ins in program:
        if isinstance(ins, Conv2D | DepthwiseConv2D) and not ins.merged(program.type_of):
            halo = _halo(ins)
            if halo != NONE:
                tensor_id = ins.ref("x").id
                wanted[tensor_id] = _wider(wanted.get(tensor_id, NONE), halo)
    chosen = [
        program.tensors[i].replace(pad=halo)
        for i, halo in wanted.items()
        if i not in fixed
        and _can_have_halo(program.tensors[i])
        and writers.get(i) in target.padded_writers
    ]
    return program.with_tensors(program.tensors.update(chosen)) if chosen else program


def _halo(ins: Instruction) -> Pads:
    below, right = geometry_ends(ins)
    return ((0, 0), (ins.value("pad_h"), below), (ins.value("pad_w"), right), (0, 0))


def _wider(a: Pads, b: Pads) -> Pads:
    return tuple((max(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b, strict=True))


def _can_have_halo(tensor: Tensor) -> bool:
    return tensor.dtype is DType.float32 and not (
        tensor.role.persistent or tensor.register or tensor.pad
    )


def _writers(program: Program) -> dict[int, str]:
    """Mnemonic of the one instruction that writes a tensor; none where there are several."""
    found: dict[int, str] = {}
    for ins in program:
        for spec, ref in ins.named_operands():
            if spec.access is Access.WRITE and _writes_data(ins, ref):
                found[ref.id] = "" if ref.id in found else ins.mnemonic
    return found


def _writes_data(ins: Instruction, ref: Ref) -> bool:
    return ref in ins.effects().writes and not ref.grad
