"""REDUCE_PROD and its gradient."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.reductions import build_product, build_product_grads
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = Π x."""
    return build_product(ins, views)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy times the product of the others."""
    return build_product_grads(ins, views)
