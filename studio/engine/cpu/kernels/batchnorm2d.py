"""BATCHNORM2D and its gradients: statistics over every dimension but the last."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.normalization import build_forward, build_gradients
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = gamma·(x - mean)/√(var + eps) + beta per channel."""
    return build_forward(ins, views, views.shape(ins.ref("x"))[-1])


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """Gradients of x, gamma and beta."""
    return build_gradients(ins, views, views.shape(ins.ref("x"))[-1])
