"""COLUMN_PRODUCTS: sums of the columns of a gradient, and of it times an input less its mean."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.normalization import build_products
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = sums of the columns of dy, and of dy·(x - mean)."""
    return build_products(ins, views)
