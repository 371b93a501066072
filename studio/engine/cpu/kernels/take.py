"""TAKE: rows looked up in a table."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = table[i]; NaN where i is outside."""
    table, index = views.data(ins.ref("table")), views.ints(ins.ref("i"))
    y = views.data(ins.ref("y"))
    dense = y if y.flags.c_contiguous else views.scratch(y.shape)
    rows = len(table)

    def run() -> None:
        np.take(table, index, axis=0, out=dense, mode="clip")
        outside = (index < 0) | (index >= rows)
        if outside.any():
            dense[outside] = np.nan
        if dense is not y:
            np.copyto(y, dense)

    return run
