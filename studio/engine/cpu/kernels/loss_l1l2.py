"""LOSS_L1L2 and its gradient: a penalty on weights."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = l1·Σ|w| + l2·Σw²."""
    weights, y = views.data(ins.ref("w")), views.data(ins.ref("y"))
    room = views.scratch(weights.shape)
    first, second = ins.value("l1"), ins.value("l2")

    def run() -> None:
        total = 0.0
        if first:
            np.absolute(weights, out=room)
            total += first * float(np.add.reduce(room, axis=None, dtype=np.float64))
        if second:
            np.multiply(weights, weights, out=room)
            total += second * float(np.add.reduce(room, axis=None, dtype=np.float64))
        y.fill(total)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dw = dy·(l1·sign w + 2·l2·w)."""
    accumulator = views.accumulator(ins, "w")
    if accumulator is None:
        return nothing
    weights, dy = views.data(ins.ref("w")), views.grad(ins.ref("y"))
    out, room = accumulator.into(), views.scratch(weights.shape)
    first, second = ins.value("l1"), 2.0 * ins.value("l2")

    def run() -> None:
        np.multiply(weights, second, out=out)
        if first:
            np.sign(weights, out=room)
            np.multiply(room, first, out=room)
            np.add(out, room, out=out)
        np.multiply(out, dy, out=out)
        accumulator.deliver()

    return run
