"""LOSS_MSE and its gradient: squared error."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.dense import nothing
from studio.engine.cpu.losses import LossRows, gradient_matrix, run_value, slope_of
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """Mean of (p - t)², or the sum of its halves."""
    rows = LossRows(ins, views, entries=True)
    divisor = 2.0 if ins.value("dylann_sum") else rows.mean * rows.width

    def value() -> float:
        rows.load(divisor)
        np.subtract(rows.p, rows.t, out=rows.spare)
        np.multiply(rows.spare, rows.spare, out=rows.spare)
        return rows.value(np.add.reduce(rows.spare, axis=1, keepdims=True, dtype=np.float64))

    return run_value(views.data(ins.ref("y")), value)


def build_grads(ins: Twin, views: Views) -> Run:
    """2·(p - t)/count, or p - t."""
    sink = views.sink(ins, "p")
    if sink is None:
        return nothing
    rows, dy = LossRows(ins, views, entries=True), slope_of(ins, views)
    out = gradient_matrix(sink, rows)
    divisor = 1.0 if ins.value("dylann_sum") else rows.mean * rows.width / 2.0

    def run() -> None:
        rows.load(divisor)
        np.subtract(rows.p, rows.t, out=out)
        np.multiply(rows.factors, dy, out=rows.factors)
        np.multiply(out, rows.factors, out=out)
        sink.deliver()

    return run
