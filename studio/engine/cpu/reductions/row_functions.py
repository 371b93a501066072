"""What softmax and its logarithm share: stretches of rows of a fixed width, and their gradients.

Rows along another dimension than the last are copied to lie without gaps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import DenseIn, DenseOut, add_or_set, nothing, row_stretches
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.softmax import TRAILING


def rows_last(ins: Instruction, array: Floats) -> Floats:
    """The array with the dimension that rows lie along last."""
    axis = ins.value("axis") if "axis" in ins.attrs else TRAILING
    return array if axis == TRAILING else np.moveaxis(array, axis, -1)


def run_rows(
    ins: Instruction, views: Views, each: Callable[[Floats, Floats, Floats, Floats], None]
) -> Run:
    """A run of ``each(x, y, powers, column)`` over stretches of rows of ``step`` elements.

    ``y`` takes the result, ``powers`` (as wide as a row) and ``column`` (one per row) are working
    memory.
    """
    width = ins.value("step")
    source = rows_last(ins, views.data(ins.ref("x")))
    target = rows_last(ins, views.data(ins.ref("y")))
    rows = source.size // width
    x = DenseIn(views, source, (rows, width))
    y = DenseOut(views, target, (rows, width))
    parts = row_stretches((x.array, y.array, views.scratch((rows, 1))), width)
    longest = max((len(given) for given, _, _ in parts), default=0)
    powers = views.scratch((longest, width))

    def run() -> None:
        x.load()
        for given, result, column in parts:
            each(given, result, powers[: len(given)], column)
        y.store()

    return run


def run_row_slopes(
    ins: GradInstruction, views: Views, each: Callable[[Floats, Floats, Floats, Floats], None]
) -> Run:
    """A run of ``each(y, dy, dx, column)`` over the same stretches; ``dx`` takes the gradient."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    width = ins.value("step")
    saved = rows_last(ins, views.data(ins.ref("y")))
    rows = saved.size // width
    y = DenseIn(views, saved, (rows, width))
    dy = DenseIn(views, rows_last(ins, views.grad(ins.ref("y"))), (rows, width))
    column = views.scratch((rows, 1))
    target = rows_last(ins, accumulator.target)
    deliver: Run = accumulator.deliver
    if target is accumulator.target:
        dx = accumulator.dense()
    else:
        dx = views.scratch(target.shape)
        deliver = add_or_set(target, dx, accumulator.sets)
    parts = row_stretches((y.array, dy.array, dx.reshape(rows, width), column), width)

    def run() -> None:
        y.load()
        dy.load()
        for part in parts:
            each(*part)
        deliver()

    return run
