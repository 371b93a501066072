"""REDUCE_MAX and its gradient."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.reductions import build_extreme, build_extreme_grads
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = max x; NaN wins."""
    return build_extreme(ins, views, np.maximum)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dy goes to the first maximum."""
    return build_extreme_grads(ins, views, lambda table: np.argmax(table, axis=1))
