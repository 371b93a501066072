"""SLICE and its gradient: a box cut out of a tensor."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def _cut(begin: int, size: int, step: int, whole: int) -> slice:
    if size == -1:
        return slice(0, whole)
    end = begin + size * step
    return slice(begin, end if end >= 0 else None, step)


def _box(ins: Instruction, array: Anything) -> Anything:
    begins, sizes = ins.value("begin"), ins.value("size")
    steps = ins.value("steps") or (1,) * len(begins)
    cuts = zip(begins, sizes, steps, array.shape, strict=True)
    return array[tuple(_cut(*one) for one in cuts)]


def build(ins: Instruction, views: Views) -> Run:
    """y = the box of x."""
    x, y = _box(ins, views.any(ins.ref("x"))), views.any(ins.ref("y"))
    return lambda: np.copyto(y, x)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dy goes into the box of dx; what lies outside gets 0."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    whole, dy = accumulator.target, views.grad(ins.ref("y"))
    box = _box(ins, whole)

    def overwrite() -> None:
        whole.fill(0.0)
        np.copyto(box, dy)

    return overwrite if accumulator.sets else lambda: np.add(box, dy, out=box)
