"""TRANSPOSE and its gradient: dimensions permuted."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y takes dimension perm[i] of x as its i-th."""
    x = views.any(ins.ref("x")).transpose(ins.value("perm"))
    y = views.any(ins.ref("y"))
    return lambda: np.copyto(y, x)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx takes the dimensions back."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    return add_or_set(
        accumulator.target.transpose(ins.value("perm")), views.grad(ins.ref("y")), accumulator.sets
    )
