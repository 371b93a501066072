"""CONCAT and its gradient: parts side by side along one dimension."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.products.dense import add_or_set, in_turn
from studio.engine.isa.instruction import GradInstruction, Instruction


def _parts(ins: Instruction, views: Views, joined: Anything) -> list[Anything]:
    """The stretch of the joined tensor that belongs to every part."""
    axis = int(ins.value("axis")) if "axis" in ins.attrs else -1
    axis %= joined.ndim
    found, start = [], 0
    for ref in ins.refs("xs"):
        stop = start + views.shape(ref)[axis]
        found.append(joined[(slice(None),) * axis + (slice(start, stop),)])
        start = stop
    return found


def build(ins: Instruction, views: Views) -> Run:
    """y = [x0, x1, …]."""
    pairs = list(
        zip(
            _parts(ins, views, views.any(ins.ref("y"))),
            [views.any(ref) for ref in ins.refs("xs")],
            strict=True,
        )
    )

    def run() -> None:
        for part, x in pairs:
            np.copyto(part, x)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """Every part gets its stretch of dy."""
    runs: list[Run] = []
    for i, part in enumerate(_parts(ins, views, views.grad(ins.ref("y")))):
        accumulator = views.accumulator(ins, "xs", i)
        if accumulator is not None:
            runs.append(add_or_set(accumulator.target, part, accumulator.sets))
    return in_turn(runs)
