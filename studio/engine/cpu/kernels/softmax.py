"""SOFTMAX and its gradient, a stretch of rows at a time."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.dense import DenseIn, DenseOut
from studio.engine.cpu.row_stretches import row_stretches
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """y = e^(x - max) / Σ e^(x - max)."""
    width = ins.value("step")
    source, target = views.data(ins.ref("x")), views.data(ins.ref("y"))
    rows = source.size // width
    x = DenseIn(views, source, (rows, width))
    y = DenseOut(views, target, (rows, width))
    column = views.scratch((rows, 1))
    parts = row_stretches((x.array, y.array, column), width)

    def run() -> None:
        x.load()
        for given, result, spare in parts:
            np.maximum.reduce(given, axis=1, keepdims=True, out=spare)
            np.subtract(given, spare, out=result)
            np.exp(result, out=result)
            np.add.reduce(result, axis=1, keepdims=True, out=spare)
            np.divide(result, spare, out=result)
        y.store()

    return run


def build_grads(ins: Twin, views: Views) -> Run:
    """dx = y·(dy - Σ dy·y)."""
    sink = views.sink(ins, "x")
    if sink is None:
        return lambda: None
    width = ins.value("step")
    saved = views.data(ins.ref("y"))
    rows = saved.size // width
    y = DenseIn(views, saved, (rows, width))
    dy = DenseIn(views, views.grad(ins.ref("y")), (rows, width))
    column = views.scratch((rows, 1))
    parts = row_stretches((y.array, dy.array, sink.dense().reshape(rows, width), column), width)

    def run() -> None:
        y.load()
        dy.load()
        for result, slope, out, spare in parts:
            np.multiply(result, slope, out=out)
            np.add.reduce(out, axis=1, keepdims=True, out=spare)
            np.subtract(slope, spare, out=out)
            np.multiply(out, result, out=out)
        sink.deliver()

    return run
