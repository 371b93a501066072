"""ARGMAX: index of the largest element along a dimension."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = argmax x, the first of equals; the first NaN wins."""
    x, y, axis = views.any(ins.ref("x")), views.ints(ins.ref("y")), ins.value("axis")
    return lambda: np.copyto(y, np.argmax(x, axis=axis), casting="unsafe")
