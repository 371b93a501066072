"""LOSS_MAE and its gradient: absolute error."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.dense import nothing
from studio.engine.cpu.losses import LossRows, gradient_matrix, run_value, slope_of
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """Mean of |p - t|."""
    rows = LossRows(ins, views, entries=True)

    def value() -> float:
        rows.load(rows.mean * rows.width)
        np.subtract(rows.p, rows.t, out=rows.spare)
        np.absolute(rows.spare, out=rows.spare)
        return rows.value(np.add.reduce(rows.spare, axis=1, keepdims=True, dtype=np.float64))

    return run_value(views.data(ins.ref("y")), value)


def build_grads(ins: Twin, views: Views) -> Run:
    """sign(p - t)/count."""
    sink = views.sink(ins, "p")
    if sink is None:
        return nothing
    rows, dy = LossRows(ins, views, entries=True), slope_of(ins, views)
    out = gradient_matrix(sink, rows)

    def run() -> None:
        rows.load(rows.mean * rows.width)
        np.subtract(rows.p, rows.t, out=out)
        np.sign(out, out=out)
        np.multiply(rows.factors, dy, out=rows.factors)
        np.multiply(out, rows.factors, out=out)
        sink.deliver()

    return run
