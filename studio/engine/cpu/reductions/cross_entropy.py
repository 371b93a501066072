"""Categorical cross-entropy, dense and sparse: rows of targets are made from indices first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.cpu.reductions.losses import (
    EPS,
    LossRows,
    gradient_matrix,
    log_sum_exp,
    normalized,
    run_value,
    slope_of,
    through_clip,
)
from studio.engine.isa.instruction import GradInstruction, Instruction


def _targets(ins: Instruction, views: Views, rows: LossRows) -> Callable[[], Floats]:
    """Gives the target rows at run time; an index outside makes a row of NaN."""
    if views.type_of(ins.ref("t")).shape == views.type_of(ins.ref("p")).shape:
        return lambda: rows.t
    index = views.any(ins.ref("t"))
    places = np.arange(rows.width)

    def one_hot() -> Floats:
        column = index.reshape(-1, 1)
        np.equal(column, places, out=rows.t, casting="unsafe")
        outside = (column < 0) | (column >= rows.width)
        if outside.any():
            rows.t[outside[:, 0]] = np.nan
        return rows.t

    return one_hot


def build_forward(ins: Instruction, views: Views) -> Run:
    """The value, by source."""
    rows = LossRows(ins, views, entries=False)
    losses = _row_losses(ins, views, rows)

    def value() -> float:
        rows.load(rows.mean)
        return rows.value(losses())

    return run_value(views.data(ins.ref("y")), value)


def build_rows(ins: Instruction, views: Views) -> Run:
    """The loss of every row, times the weight of its entry."""
    rows = LossRows(ins, views, entries=False)
    losses = _row_losses(ins, views, rows)
    y = views.data(ins.ref("y"))

    def run() -> None:
        rows.load(1.0)
        np.multiply(losses().reshape(y.shape), rows.factors.reshape(y.shape), out=y)

    return run


def _row_losses(ins: Instruction, views: Views, rows: LossRows) -> Callable[[], Floats]:
    """Gives the loss of every row [R,1] at run time, without its factor, once rows are loaded."""
    targets = _targets(ins, views, rows)
    logits = ins.value("source") == "logits"
    shares, total = views.scratch(rows.p.shape), views.scratch((rows.rows, 1))

    def losses() -> Floats:
        t = targets()
        if logits:
            log_total, _ = log_sum_exp(rows.p, rows.spare, shares)
            np.subtract(log_total, rows.spare, out=shares)
        else:
            normalized(rows.p, shares, total)
            np.clip(shares, EPS, 1.0 - EPS, out=shares)
            np.log(shares, out=shares)
            np.negative(shares, out=shares)
        # A class without share in the target does not count, however small its probability.
        np.multiply(shares, t, out=shares)
        found: Floats = np.add.reduce(shares, axis=1, keepdims=True)
        return found

    return losses


def build_gradient(ins: GradInstruction, views: Views) -> Run:
    """The gradient of p, by source."""
    accumulator = views.accumulator(ins, "p")
    if accumulator is None:
        return nothing
    rows = LossRows(ins, views, entries=False)
    targets, dy = _targets(ins, views, rows), slope_of(ins, views)
    out = gradient_matrix(accumulator, rows)
    work, total = views.scratch(rows.p.shape), views.scratch((rows.rows, 1))
    divisor = float(rows.per_entry) if ins.value("dylann_sum") else rows.mean
    write = {"probs": _probs, "logits": _logits, "softmax": _softmax}[ins.value("source")]

    def run() -> None:
        rows.load(divisor)
        write(rows, targets(), out, work, total)
        np.multiply(rows.factors, dy, out=rows.factors)
        np.multiply(out, rows.factors, out=out)
        accumulator.deliver()

    return run


def _softmax(rows: LossRows, t: Floats, out: Floats, _work: Floats, total: Floats) -> None:
    """p·Σt - t."""
    np.add.reduce(t, axis=1, keepdims=True, out=total)
    np.multiply(rows.p, total, out=out)
    np.subtract(out, t, out=out)


def _logits(rows: LossRows, t: Floats, out: Floats, work: Floats, total: Floats) -> None:
    """softmax(p)·Σt - t."""
    _, powers = log_sum_exp(rows.p, rows.spare, work)
    np.divide(work, powers, out=work)
    np.add.reduce(t, axis=1, keepdims=True, out=total)
    np.multiply(work, total, out=out)
    np.subtract(out, t, out=out)


def _probs(rows: LossRows, t: Floats, out: Floats, work: Floats, total: Floats) -> None:
    """With q = p/Σp: g = -t/q inside the clip, and (g - Σ g·q)/Σp."""
    normalized(rows.p, work, total)
    np.divide(t, work, out=rows.spare)
    np.negative(rows.spare, out=rows.spare)
    through_clip(work, rows.spare)
    np.multiply(rows.spare, work, out=work)
    np.subtract(rows.spare, np.add.reduce(work, axis=1, keepdims=True), out=out)
    np.divide(out, total, out=out)
