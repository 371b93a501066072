"""REVERSE and its gradient: dimensions turned round."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = x from the end."""
    x, y = views.any(ins.ref("x")), views.any(ins.ref("y"))
    turned = np.flip(x, ins.value("axes") or None)
    return lambda: np.copyto(y, turned)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dy from the end."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    dy = np.flip(views.grad(ins.ref("y")), ins.value("axes") or None)
    return add_or_set(accumulator.target, dy, accumulator.sets)
