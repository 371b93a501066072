"""FLATTEN and its gradient: elements stay in row-major sequence."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import DenseIn, copy_reshaped, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = x in row-major order; nothing where y is a view of x."""
    x, y = ins.ref("x"), ins.ref("y")
    if views.program.storage(x) == views.program.storage(y):
        return nothing
    return copy_reshaped(views, views.any(x), views.any(y))


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy in the shape of x."""
    x, y = ins.ref("x"), ins.ref("y")
    accumulator = views.accumulator(ins, "x")
    if accumulator is None or views.program.storage(x) == views.program.storage(y):
        return nothing
    dx = accumulator.target
    dy = DenseIn(views, views.grad(y), dx.shape)

    def run() -> None:
        dy.load()
        if accumulator.sets:
            np.copyto(dx, dy.array)
        else:
            np.add(dx, dy.array, out=dx)

    return run
