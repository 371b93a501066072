"""ONE_HOT: rows with a 1 at an index."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y[…, i] = (i == x[…])."""
    x, y = views.ints(ins.ref("x")), views.data(ins.ref("y"))
    places = np.arange(ins.value("depth"), dtype=np.int32)
    column = x[..., None]
    return lambda: np.equal(column, places, out=y, casting="unsafe")
