"""FILL: one number everywhere but in the halo."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = number."""
    y, number = views.any(ins.ref("y")), ins.value("number")
    return lambda: y.fill(number)
