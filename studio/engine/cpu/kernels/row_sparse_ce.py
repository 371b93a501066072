"""ROW_SPARSE_CE: the cross-entropy of every row against class indices."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.cross_entropy import build_rows
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """-ln p of the class of every row, times the weight of its entry; NaN for an index outside."""
    return build_rows(ins, views)
