"""SOFTMAX and its gradient: all rows in one compiled loop, or a stretch of rows at a time."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import DenseIn, DenseOut
from studio.engine.cpu.reductions.row_functions import rows_last, run_row_slopes, run_rows
from studio.engine.isa.instruction import GradInstruction, Instruction


def _softmax(x: Floats, y: Floats, _: Floats, column: Floats) -> None:
    np.maximum.reduce(x, axis=1, keepdims=True, out=column)
    np.subtract(x, column, out=y)
    np.exp(y, out=y)
    np.add.reduce(y, axis=1, keepdims=True, out=column)
    np.divide(y, column, out=y)


def _slope(y: Floats, dy: Floats, dx: Floats, column: Floats) -> None:
    np.multiply(y, dy, out=dx)
    np.add.reduce(dx, axis=1, keepdims=True, out=column)
    np.subtract(dy, column, out=dx)
    np.multiply(dx, y, out=dx)


def build(ins: Instruction, views: Views) -> Run:
    """y = e^(x - max) / Σ e^(x - max)."""
    return _compiled(ins, views) if views.config.compiled else run_rows(ins, views, _softmax)


def _compiled(ins: Instruction, views: Views) -> Run:
    from studio.engine.cpu.compiled.softmax import softmax_rows

    views.note_loop(softmax_rows)
    width = ins.value("step")
    source = rows_last(ins, views.data(ins.ref("x")))
    target = rows_last(ins, views.data(ins.ref("y")))
    shape = (source.size // width, width)
    x, y = DenseIn(views, source, shape), DenseOut(views, target, shape)
    greatest = views.scratch((shape[0], 1))

    def run() -> None:
        x.load()
        np.maximum.reduce(x.array, axis=1, keepdims=True, out=greatest)
        softmax_rows(x.array, greatest, y.array)
        y.store()

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = y·(dy - Σ dy·y)."""
    return run_row_slopes(ins, views, _slope)
