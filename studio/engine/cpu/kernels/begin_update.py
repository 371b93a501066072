"""BEGIN_UPDATE: counts updates."""

from __future__ import annotations

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import StepWord


def build(ins: Instruction, views: Views) -> Run:
    """updates += 1, then now = step."""
    step = views.ints(ins.ref("step"))
    now = views.ints(ins.ref("now")) if ins.ref("now").present else None

    def run() -> None:
        step[StepWord.UPDATES] += 1
        if now is not None:
            now[...] = step

    return run
