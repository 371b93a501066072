"""RECORD: this step's numbers into the metrics ring."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import StepWord


def build(ins: Instruction, views: Views) -> Run:
    """ring[record mod R] = values."""
    ring, step = views.data(ins.ref("ring")), views.ints(ins.ref("step"))
    values = [views.data(ref).reshape(-1) for ref in ins.refs("values")]

    def run() -> None:
        row = ring[int(step[StepWord.RECORD]) % len(ring)]
        for i, value in enumerate(values):
            row[i] = value[0]

    return run
