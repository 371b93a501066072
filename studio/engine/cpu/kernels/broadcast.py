"""BROADCAST and its gradient: repeats along dimensions of length 1, summed on the way back."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.dense import nothing
from studio.engine.cpu.sums import sum_to
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """y = x repeated."""
    x, y = views.any(ins.ref("x")), views.any(ins.ref("y"))
    return lambda: np.copyto(y, x)


def build_grads(ins: Twin, views: Views) -> Run:
    """dx = Σ dy over the repeats."""
    sink = views.sink(ins, "x")
    if sink is None:
        return nothing
    into, dy = sink.into(), views.grad(ins.ref("y"))

    def run() -> None:
        sum_to(dy, into)
        sink.deliver()

    return run
