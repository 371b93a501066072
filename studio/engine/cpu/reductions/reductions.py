"""Reductions over chosen dimensions: sums and products in float64, extremes with their places."""

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


def build_product(ins: Instruction, views: Views) -> Run:
    """y = Π x."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    axes = axes_of(ins, x.ndim)
    if y.dtype == np.int32:
        return lambda: np.copyto(y, np.multiply.reduce(x, axis=axes, dtype=np.int32))
    return lambda: np.copyto(
        y, np.multiply.reduce(x, axis=axes, dtype=np.float64).reshape(y.shape), casting="same_kind"
    )


def build_product_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy times the product of all before times that of all behind an element."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    x, dy = views.data(ins.ref("x")), views.grad(ins.ref("y"))
    axes = axes_of(ins, x.ndim)
    turn = [*(i for i in range(x.ndim) if i not in axes), *axes]
    across = x.transpose(turn)
    inner = prod(x.shape[a] for a in axes)
    rows = x.size // max(inner, 1)
    others, behind = (views.scratch_of((rows, inner + 1), np.float64) for _ in range(2))
    found = views.scratch(across.shape)
    table = found.reshape(rows, inner)
    deliver = add_or_set(accumulator.target.transpose(turn), found, accumulator.sets)

    def run() -> None:
        np.copyto(found, across)
        others[:, 0] = behind[:, 0] = 1.0
        np.copyto(others[:, 1:], table)
        np.copyto(behind[:, 1:], table[:, ::-1])
        np.multiply.accumulate(others, axis=1, out=others)
        np.multiply.accumulate(behind, axis=1, out=behind)
        product = others[:, :-1]
        np.multiply(product, behind[:, -2::-1], out=product)
        np.multiply(product, dy.reshape(rows, 1), out=product)
        np.copyto(table, product, casting="same_kind")
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
