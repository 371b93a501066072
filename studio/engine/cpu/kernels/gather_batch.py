"""GATHER_BATCH: the next rows of the resident data set in the order of the epoch."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import StepWord


def build(ins: Instruction, views: Views) -> Run:
    """y[i] = data[order[(cursor + i) mod D]]."""
    data, order = views.any(ins.ref("data")), views.ints(ins.ref("order"))
    step, y = views.ints(ins.ref("step")), views.any(ins.ref("y"))
    count = len(y)
    places = np.arange(count)
    wrapped = views.scratch_of((count,), np.int64)
    chosen = views.scratch_of((count,), np.int64)
    dense = y if y.flags.c_contiguous else views.scratch_of(y.shape, y.dtype.type)

    def run() -> None:
        np.add(places, int(step[StepWord.CURSOR]), out=wrapped)
        np.remainder(wrapped, len(order), out=wrapped)
        np.copyto(chosen, order[wrapped])
        np.take(data, chosen, axis=0, out=dense, mode="clip")
        if dense is not y:
            np.copyto(y, dense)

    return run
