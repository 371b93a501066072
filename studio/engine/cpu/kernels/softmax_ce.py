"""SOFTMAX_CE: softmax whose gradient passes through, since the loss behind it took it already."""

from __future__ import annotations

from studio.engine.cpu.kernels import softmax
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import add_or_set
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """As SOFTMAX."""
    return softmax.build(ins, views)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return lambda: None
    return add_or_set(accumulator.target, views.grad(ins.ref("y")), accumulator.sets)
