"""REDUCE_MEAN and its gradient."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.reductions import build_sum, build_sum_grads
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = Σ x / count."""
    return build_sum(ins, views, mean=True)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy spread over what was reduced."""
    return build_sum_grads(ins, views, mean=True)
