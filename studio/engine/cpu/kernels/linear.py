"""LINEAR and its gradients: matrix products over the rows of the input."""

from __future__ import annotations

from math import prod

import numpy as np

from studio.engine.cpu.dense import DenseIn, DenseOut
from studio.engine.cpu.sums import ColumnSums
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """y = x·wᵀ + b."""
    weights = views.data(ins.ref("w"))
    out_size, in_size = weights.shape
    rows = prod(views.shape(ins.ref("x"))[:-1])
    x = DenseIn(views, views.data(ins.ref("x")), (rows, in_size))
    y = DenseOut(views, views.data(ins.ref("y")), (rows, out_size))
    turned = weights.T
    bias = views.data(ins.ref("b")) if ins.ref("b").present else None

    def run() -> None:
        x.load()
        np.matmul(x.array, turned, out=y.array)
        if bias is not None:
            np.add(y.array, bias, out=y.array)
        y.store()

    return run


def build_grads(ins: Twin, views: Views) -> Run:
    """dw = dyᵀ·x, db = Σ dy, dx = dy·w."""
    weights = views.data(ins.ref("w"))
    out_size, in_size = weights.shape
    rows = prod(views.shape(ins.ref("x"))[:-1])
    x = DenseIn(views, views.data(ins.ref("x")), (rows, in_size))
    dy = DenseIn(views, views.grad(ins.ref("y")), (rows, out_size))
    dw, db, dx = (views.sink(ins, name) for name in ("w", "b", "x"))
    turned = dy.array.T
    sums = ColumnSums(views, dy.array, db.into()) if db is not None else None
    flat = dx.dense().reshape(rows, in_size) if dx is not None else None

    def run() -> None:
        dy.load()
        if dw is not None:
            x.load()
            np.matmul(turned, x.array, out=dw.dense())
            dw.deliver()
        if sums is not None and db is not None:
            sums.run()
            db.deliver()
        if dx is not None:
            np.matmul(dy.array, weights, out=flat)
            dx.deliver()

    return run
