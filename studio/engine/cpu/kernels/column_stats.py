"""COLUMN_STATS: mean and squared deviations of the columns of a matrix."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.normalization import build_statistics
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = mean of each column of x, and the sum of squares apart from it."""
    return build_statistics(ins, views)
