"""LINEAR and its gradients: matrix products over the rows of the input."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod

from studio.engine.cpu.machine.threads import run_together
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import DenseIn, DenseOut
from studio.engine.cpu.products.panels import across_parts, plain_parts, turned_parts
from studio.engine.cpu.reductions.sums import ColumnSums
from studio.engine.isa.instruction import GradInstruction, Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = x·wᵀ + b."""
    weights = views.data(ins.ref("w"))
    out_size, in_size = weights.shape
    rows = prod(views.shape(ins.ref("x"))[:-1])
    x = DenseIn(views, views.data(ins.ref("x")), (rows, in_size))
    y = DenseOut(views, views.data(ins.ref("y")), (rows, out_size))
    bias = views.data(ins.ref("b")) if ins.ref("b").present else None
    parts = turned_parts(views, x.array, weights, bias, y.array)

    def run() -> None:
        x.load()
        run_together(parts)
        y.store()

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dw = dyᵀ·x, db = Σ dy, dx = dy·w; dw and dx in one round of the threads."""
    weights = views.data(ins.ref("w"))
    out_size, in_size = weights.shape
    rows = prod(views.shape(ins.ref("x"))[:-1])
    x = DenseIn(views, views.data(ins.ref("x")), (rows, in_size))
    dy = DenseIn(views, views.grad(ins.ref("y")), (rows, out_size))
    dw, db, dx = (views.accumulator(ins, name) for name in ("w", "b", "x"))
    products: list[list[Run]] = []
    if dw is not None:
        products.append(across_parts(views, dy.array, x.array, dw.dense()))
    if dx is not None:
        flat = dx.dense().reshape(rows, in_size)
        products.append(plain_parts(views, dy.array, weights, flat))
    sums = ColumnSums(views, dy.array, db.into()) if db is not None else None
    rounds = [_sequence(parts) for parts in zip_longest(*products)]
    accumulators = [accumulator for accumulator in (dw, db, dx) if accumulator is not None]

    def run() -> None:
        dy.load()
        x.load()
        if rounds:
            run_together(rounds)
        if sums is not None:
            sums.run()
        for accumulator in accumulators:
            accumulator.deliver()

    return run


def _sequence(parts: Sequence[Run | None]) -> Run:
    wanted = [part for part in parts if part is not None]

    def run() -> None:
        for part in wanted:
            part()

    return run
