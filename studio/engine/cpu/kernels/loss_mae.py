"""LOSS_MAE and its gradient: absolute error."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.reductions.losses import LossRows, run_mean, run_mean_slope
from studio.engine.isa.instruction import GradInstruction, Instruction


def _each(rows: LossRows) -> Floats:
    np.subtract(rows.p, rows.t, out=rows.spare)
    return np.absolute(rows.spare, out=rows.spare)


def _slope(rows: LossRows, out: Floats) -> None:
    np.subtract(rows.p, rows.t, out=out)
    np.sign(out, out=out)


def build(ins: Instruction, views: Views) -> Run:
    """Mean of |p - t|."""
    return run_mean(ins, views, _each)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """sign(p - t)/count."""
    return run_mean_slope(ins, views, _slope)
