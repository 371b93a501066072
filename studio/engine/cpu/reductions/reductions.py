"""Reductions over chosen dimensions: sums in float64, extremes with their first places."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.cpu.memory.views import Anything, Floats, Ints, Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

Places = Callable[[Floats], Anything]


def axes_of(ins: Instruction, rank: int) -> tuple[int, ...]:
    """Dimensions an instruction reduces; none stated means all."""
    return tuple(ins.value("axes")) or tuple(range(rank))


def kept_shape(ins: Instruction, shape: Shape) -> Shape:
    """The shape with reduced dimensions of length 1."""
    axes = axes_of(ins, len(shape))
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


def build_sum(ins: Instruction, views: Views, *, mean: bool) -> Run:
    """y = Σ x, or Σ x / count."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    axes = axes_of(ins, x.ndim)
    kept = kept_shape(ins, x.shape)
    if y.dtype == np.int32:
        # What fits is exact, what does not wraps around, as on a device.
        return lambda: np.copyto(y, np.add.reduce(x, axis=axes, dtype=np.int32).reshape(y.shape))
    wide = views.scratch_of(kept, np.float64)
    shown = wide.reshape(y.shape)
    count = prod(x.shape[a] for a in axes)

    def run() -> None:
        np.add.reduce(x, axis=axes, dtype=np.float64, keepdims=True, out=wide)
        if mean:
            np.divide(wide, count, out=wide)
        np.copyto(y, shown, casting="same_kind")

    return run


def build_sum_grads(ins: GradInstruction, views: Views, *, mean: bool) -> Run:
    """dx = dy (divided by the count), repeated."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    dx = accumulator.target
    kept = kept_shape(ins, dx.shape)
    dy = views.grad(ins.ref("y"))
    narrow = views.scratch(kept)
    flat = narrow.reshape(dy.shape)
    factor = 1.0 / prod(dx.shape[a] for a in axes_of(ins, dx.ndim)) if mean else 1.0
    deliver = add_or_set(dx, np.broadcast_to(narrow, dx.shape), accumulator.sets)

    def run() -> None:
        np.multiply(dy, factor, out=flat)
        deliver()

    return run


def build_extreme(ins: Instruction, views: Views, reduce: np.ufunc) -> Run:
    """y = max x or min x; NaN wins."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    axes = axes_of(ins, x.ndim)
    shown = y.reshape(kept_shape(ins, x.shape)) if y.flags.c_contiguous else None
    if shown is None:
        return lambda: np.copyto(y, reduce.reduce(x, axis=axes).reshape(y.shape))
    return lambda: np.copyto(shown, reduce.reduce(x, axis=axes, keepdims=True))


def build_extreme_grads(ins: GradInstruction, views: Views, places: Places) -> Run:
    """dy goes to the first extreme in row-major order, 0 elsewhere."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    x, dy = views.data(ins.ref("x")), views.grad(ins.ref("y"))
    axes = axes_of(ins, x.ndim)
    turn = [*(i for i in range(x.ndim) if i not in axes), *axes]
    across = x.transpose(turn)
    inner = prod(x.shape[a] for a in axes)
    rows = x.size // max(inner, 1)
    candidates, spread = views.scratch(across.shape), views.scratch(across.shape)
    table, sheet = candidates.reshape(rows, inner), spread.reshape(rows, inner)
    index: Ints = np.arange(rows)
    deliver = add_or_set(accumulator.target.transpose(turn), spread, accumulator.sets)

    def run() -> None:
        np.copyto(candidates, across)
        spread.fill(0.0)
        sheet[index, places(table)] = dy.reshape(-1)
        deliver()

    return run
