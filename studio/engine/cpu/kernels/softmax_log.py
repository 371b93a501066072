"""SOFTMAX_LOG and its gradient, a stretch of rows at a time."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.reductions.row_functions import run_row_slopes, run_rows
from studio.engine.isa.instruction import GradInstruction, Instruction


def _log_softmax(x: Floats, y: Floats, powers: Floats, column: Floats) -> None:
    np.maximum.reduce(x, axis=1, keepdims=True, out=column)
    np.subtract(x, column, out=y)
    np.exp(y, out=powers)
    np.add.reduce(powers, axis=1, keepdims=True, out=column)
    np.log(column, out=column)
    np.subtract(y, column, out=y)


def _slope(y: Floats, dy: Floats, dx: Floats, column: Floats) -> None:
    np.add.reduce(dy, axis=1, keepdims=True, out=column)
    np.exp(y, out=dx)
    np.multiply(dx, column, out=dx)
    np.subtract(dy, dx, out=dx)


def build(ins: Instruction, views: Views) -> Run:
    """y = x - max - ln Σ e^(x - max)."""
    return run_rows(ins, views, _log_softmax)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy - e^y·Σ dy."""
    return run_row_slopes(ins, views, _slope)
