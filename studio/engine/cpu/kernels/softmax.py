"""SOFTMAX and its gradient, a stretch of rows at a time."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.row_functions import run_row_slopes, run_rows
from studio.engine.cpu.views import Floats, Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def _softmax(x: Floats, y: Floats, _: Floats, column: Floats) -> None:
    np.maximum.reduce(x, axis=1, keepdims=True, out=column)
    np.subtract(x, column, out=y)
    np.exp(y, out=y)
    np.add.reduce(y, axis=1, keepdims=True, out=column)
    np.divide(y, column, out=y)


def _softmax_compiled(x: Floats, y: Floats, _: Floats, column: Floats) -> None:
    from studio.engine.cpu.compiled.softmax import softmax_rows

    np.maximum.reduce(x, axis=1, keepdims=True, out=column)
    softmax_rows(x, column, y)


def _slope(y: Floats, dy: Floats, dx: Floats, column: Floats) -> None:
    np.multiply(y, dy, out=dx)
    np.add.reduce(dx, axis=1, keepdims=True, out=column)
    np.subtract(dy, column, out=dx)
    np.multiply(dx, y, out=dx)


def build(ins: Instruction, views: Views) -> Run:
    """y = e^(x - max) / Σ e^(x - max)."""
    if views.means.compiled:
        return run_rows(ins, views, _softmax_compiled, at_once=True)
    return run_rows(ins, views, _softmax)


def build_grads(ins: Twin, views: Views) -> Run:
    """dx = y·(dy - Σ dy·y)."""
    return run_row_slopes(ins, views, _slope)
