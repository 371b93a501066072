"""What softmax and its logarithm share: stretches of rows of a fixed width, and their gradients."""

from __future__ import annotations

from collections.abc import Callable

from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import DenseIn, DenseOut, nothing, row_stretches
from studio.engine.isa.instruction import GradInstruction, Instruction


def run_rows(
    ins: Instruction, views: Views, each: Callable[[Floats, Floats, Floats, Floats], None]
) -> Run:
    """A run of ``each(x, y, powers, column)`` over stretches of rows of ``step`` elements.

    ``y`` takes the result, ``powers`` (as wide as a row) and ``column`` (one per row) are working
    memory.
    """
    width = ins.value("step")
    source, target = views.data(ins.ref("x")), views.data(ins.ref("y"))
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
    saved = views.data(ins.ref("y"))
    rows = saved.size // width
    y = DenseIn(views, saved, (rows, width))
    dy = DenseIn(views, views.grad(ins.ref("y")), (rows, width))
    column = views.scratch((rows, 1))
    parts = row_stretches(
        (y.array, dy.array, accumulator.dense().reshape(rows, width), column), width
    )

    def run() -> None:
        y.load()
        dy.load()
        for part in parts:
            each(*part)
        accumulator.deliver()

    return run
