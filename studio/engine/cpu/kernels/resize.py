"""RESIZE and its gradient: rows and columns weighed one after the other, by tables of cells.

Both ways a result is the sum of few cells, chosen by a table; the gradient's table is the
transposed one. Entries that weigh nothing stand for a cell that weighs something, so that no NaN
gets in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from studio.engine.cpu.memory.views import Anything, Floats, Ints, Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.image import Resize, Weights, weights_of


class Taps(NamedTuple):
    """Which cells each result takes, and with what weight, both [terms, results]."""

    cells: Ints
    weights: Floats


def _table(rows: list[Weights]) -> Taps:
    most = max(1, *(len(row) for row in rows))
    cells, weights = np.zeros((most, len(rows)), np.int32), np.zeros((most, len(rows)), np.float32)
    for i, row in enumerate(rows):
        cells[:, i] = next(iter(row), 0)
        for k, (cell, weight) in enumerate(row.items()):
            cells[k, i], weights[k, i] = cell, weight
    return Taps(cells, weights)


def _transposed(rows: list[Weights], size: int) -> list[Weights]:
    found: list[Weights] = [{} for _ in range(size)]
    for i, row in enumerate(rows):
        for cell, weight in row.items():
            found[cell][i] = weight
    return found


def _weighed(views: Views, source: Anything, taps: Taps, axis: int) -> tuple[Floats, Run]:
    """The sums of a table along an axis, and what computes them."""
    shape = (*source.shape[:axis], taps.cells.shape[1], *source.shape[axis + 1 :])
    sums, term = views.scratch(shape), views.scratch(shape)
    across = [1] * source.ndim
    across[axis] = shape[axis]
    columns = [w.reshape(across) for w in taps.weights]
    # What has no further term adds nothing, not 0 times a cell that may be infinite.
    there = [np.broadcast_to(column != 0.0, shape) for column in columns]
    plain = len(columns) == 1 and bool((columns[0] == 1.0).all())

    def run() -> None:
        np.take(source, taps.cells[0], axis=axis, out=sums, mode="clip")
        if plain:
            return
        np.multiply(sums, columns[0], out=sums)
        for cells, column, used in zip(taps.cells[1:], columns[1:], there[1:], strict=True):
            np.take(source, cells, axis=axis, out=term, mode="clip")
            np.multiply(term, column, out=term)
            np.add(sums, term, out=sums, where=used)

    return sums, run


def _rows(ins: Resize, size: int, length: int) -> list[Weights]:
    return [weights_of(ins, i, size, length) for i in range(length)]


def build(ins: Instruction, views: Views) -> Run:
    """y = the weighed cells of x."""
    if not isinstance(ins, Resize):
        raise TypeError(f"{ins.mnemonic} is no RESIZE")
    x, y = views.any(ins.ref("x")), views.any(ins.ref("y"))
    tables = [_table(_rows(ins, x.shape[axis], y.shape[axis])) for axis in (1, 2)]
    if ins.method == "nearest":
        down, across = tables[0].cells[0][:, None], tables[1].cells[0][None, :]
        return lambda: np.copyto(y, x[:, down, across])
    tall, first = _weighed(views, x, tables[0], 1)
    found, second = _weighed(views, tall, tables[1], 2)

    def run() -> None:
        first()
        second()
        np.copyto(y, found)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """Every cell gets dy by its weight of each result that takes it."""
    accumulator = views.accumulator(ins, "x")
    forward = ins.forward.of_grad(ins)
    if accumulator is None or not isinstance(forward, Resize):
        return nothing
    dx, dy = accumulator.target, views.grad(ins.ref("y"))
    turned = [
        _transposed(_rows(forward, dx.shape[axis], dy.shape[axis]), dx.shape[axis])
        for axis in (1, 2)
    ]
    tall, first = _weighed(views, dy, _table(turned[0]), 1)
    found, second = _weighed(views, tall, _table(turned[1]), 2)
    deliver = add_or_set(dx, found, accumulator.sets)

    def run() -> None:
        first()
        second()
        deliver()

    return run
