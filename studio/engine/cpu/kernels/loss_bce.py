"""LOSS_BCE and its gradient: binary cross-entropy."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.dense import nothing
from studio.engine.cpu.losses import (
    EPS,
    LossRows,
    gradient_matrix,
    run_value,
    slope_of,
    through_clip,
)
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """Mean of -(t·ln q + (1-t)·ln(1-q)), or its form for logits."""
    rows = LossRows(ins, views, entries=True)
    logits = ins.value("source") == "logits"

    def value() -> float:
        rows.load(rows.mean * rows.width)
        p, t = rows.p, rows.t
        if logits:
            each = np.maximum(p, 0.0) - p * t + np.log1p(np.exp(-np.abs(p)))
        else:
            q = np.clip(p, EPS, 1.0 - EPS)
            each = -(t * np.log(q) + (1.0 - t) * np.log1p(-q))
        return rows.value(np.add.reduce(each, axis=1, keepdims=True, dtype=np.float64))

    return run_value(views.data(ins.ref("y")), value)


def build_grads(ins: Twin, views: Views) -> Run:
    """(q - t)/(q·(1-q)) inside the clip, or sigmoid(p) - t for logits."""
    sink = views.sink(ins, "p")
    if sink is None:
        return nothing
    rows, dy = LossRows(ins, views, entries=True), slope_of(ins, views)
    out = gradient_matrix(sink, rows)
    logits = ins.value("source") == "logits"

    def run() -> None:
        rows.load(rows.mean * rows.width)
        p, t = rows.p, rows.t
        if logits:
            np.subtract(1.0 / (1.0 + np.exp(-p)), t, out=out)
        else:
            np.subtract(p, t, out=out)
            np.divide(out, p * (1.0 - p), out=out)
            through_clip(p, out)
        np.multiply(rows.factors, dy, out=rows.factors)
        np.multiply(out, rows.factors, out=out)
        sink.deliver()

    return run
