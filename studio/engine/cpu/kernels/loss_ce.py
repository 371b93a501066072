"""LOSS_CE and its gradient: cross-entropy against rows of shares."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.cross_entropy import build_forward, build_gradient
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """Mean of -Σ t·ln p."""
    return build_forward(ins, views)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """The gradient of the predictions, or of the logits behind them for source=softmax."""
    return build_gradient(ins, views)
