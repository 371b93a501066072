"""ROW_CE: the cross-entropy of every row against rows of shares."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.cross_entropy import build_rows
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """-Σ t·ln p of every row, times the weight of its entry."""
    return build_rows(ins, views)
