"""LOSS_MEAN: the mean of the losses of rows."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.losses import run_value
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """Their sum in float64 over their number."""
    x = views.data(ins.ref("x"))

    def value() -> float:
        return float(np.add.reduce(x, axis=None, dtype=np.float64) / x.size)

    return run_value(views.data(ins.ref("y")), value)
