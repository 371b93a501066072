"""ADVANCE: moves the step block on."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import StepWord


def build(ins: Instruction, views: Views) -> Run:
    """step, record += 1; cursor += rows of x."""
    step = views.ints(ins.ref("step"))
    shape = views.shape(ins.ref("x"))
    rows = shape[0] if shape else 1

    def run() -> None:
        step[StepWord.STEP] += 1
        step[StepWord.RECORD] += 1
        step[StepWord.CURSOR] += rows

    return run
