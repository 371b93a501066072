"""ZERO: a storage cleared."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = 0."""
    y = views.any(ins.ref("y"))
    return lambda: y.fill(0)
