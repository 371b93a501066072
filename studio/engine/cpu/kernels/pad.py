"""PAD and its gradient: a tensor surrounded by a constant."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def _inside(ins: Instruction, array: Anything) -> Anything:
    pads = ins.value("pads")
    pairs = zip(pads[::2], pads[1::2], array.shape, strict=True)
    return array[tuple(slice(before, size - after) for before, after, size in pairs)]


def build(ins: Instruction, views: Views) -> Run:
    """y = fill, with x inside."""
    x, y = views.any(ins.ref("x")), views.any(ins.ref("y"))
    inside, fill = _inside(ins, y), ins.value("fill")

    def run() -> None:
        y.fill(fill)
        np.copyto(inside, x)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = the inside of dy."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    return add_or_set(accumulator.target, _inside(ins, views.grad(ins.ref("y"))), accumulator.sets)
