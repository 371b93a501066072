"""LOSS_MSE and its gradient: squared error."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.reductions.losses import LossRows, run_mean, run_mean_slope
from studio.engine.isa.instruction import GradInstruction, Instruction


def _each(rows: LossRows) -> Floats:
    np.subtract(rows.p, rows.t, out=rows.spare)
    return np.multiply(rows.spare, rows.spare, out=rows.spare)


def _slope(rows: LossRows, out: Floats) -> None:
    np.subtract(rows.p, rows.t, out=out)


def build(ins: Instruction, views: Views) -> Run:
    """Mean of (p - t)², or the sum of its halves."""
    summed = ins.value("dylann_sum")
    return run_mean(ins, views, _each, lambda count: 2.0 if summed else count)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """2·(p - t)/count, or p - t."""
    summed = ins.value("dylann_sum")
    return run_mean_slope(ins, views, _slope, lambda count: 1.0 if summed else count / 2.0)
