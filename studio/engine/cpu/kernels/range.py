"""RANGE: numbers in equal steps."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y[k] = start + k·delta."""
    start, delta = views.any(ins.ref("start")), views.any(ins.ref("delta"))
    y = views.any(ins.ref("y"))
    steps = np.arange(len(y), dtype=np.int32).astype(y.dtype)
    views.own_bytes += steps.nbytes

    def run() -> None:
        np.multiply(steps, delta, out=y)
        np.add(y, start, out=y)

    return run
