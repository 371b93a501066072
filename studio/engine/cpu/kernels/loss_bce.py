"""LOSS_BCE and its gradient: binary cross-entropy."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.reductions.losses import (
    EPS,
    LossRows,
    run_mean,
    run_mean_slope,
    through_clip,
)
from studio.engine.isa.instruction import GradInstruction, Instruction


def _of_logits(rows: LossRows) -> Floats:
    p, t = rows.p, rows.t
    each: Floats = np.maximum(p, 0.0) - p * t + np.log1p(np.exp(-np.abs(p)))
    return each


def _of_shares(rows: LossRows) -> Floats:
    q, t = np.clip(rows.p, EPS, 1.0 - EPS), rows.t
    return -(t * np.log(q) + (1.0 - t) * np.log1p(-q))


def _slope_of_logits(rows: LossRows, out: Floats) -> None:
    np.subtract(1.0 / (1.0 + np.exp(-rows.p)), rows.t, out=out)


def _slope_of_shares(rows: LossRows, out: Floats) -> None:
    p = rows.p
    np.subtract(p, rows.t, out=out)
    np.divide(out, p * (1.0 - p), out=out)
    through_clip(p, out)


def build(ins: Instruction, views: Views) -> Run:
    """Mean of -(t·ln q + (1-t)·ln(1-q)), or its form for logits."""
    logits = ins.value("source") == "logits"
    return run_mean(ins, views, _of_logits if logits else _of_shares)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """(q - t)/(q·(1-q)) inside the clip, or sigmoid(p) - t for logits."""
    logits = ins.value("source") == "logits"
    return run_mean_slope(ins, views, _slope_of_logits if logits else _slope_of_shares)
