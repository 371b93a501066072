"""GLOBAL_AVGPOOL2D and its gradient: the mean over rows and columns."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y[n,c] = Σ x[n,i,j,c] / (H·W)."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    wide = views.scratch_of(y.shape, np.float64)
    count = x.shape[1] * x.shape[2]

    def run() -> None:
        np.add.reduce(x, axis=(1, 2), dtype=np.float64, out=wide)
        np.divide(wide, count, out=wide)
        np.copyto(y, wide, casting="same_kind")

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy / (H·W) everywhere."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    dx, dy = accumulator.target, views.grad(ins.ref("y"))
    share = views.scratch(dy.shape)
    count = dx.shape[1] * dx.shape[2]
    deliver = add_or_set(dx, np.broadcast_to(share[:, None, None, :], dx.shape), accumulator.sets)

    def run() -> None:
        np.divide(dy, count, out=share)
        deliver()

    return run
