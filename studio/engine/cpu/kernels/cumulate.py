"""CUMULATE and its gradient: running sums, products and extremes along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from studio.engine.cpu.memory.views import Anything, Doubles, Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

_JOINS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _begin(op: str, dtype: np.dtype[Any]) -> Any:
    """What joins with nothing to nothing."""
    if op in ("sum", "prod"):
        return int(op == "prod")
    if dtype.kind == "f":
        return -np.inf if op == "max" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if op == "max" else limits.max


def _along(ins: Instruction, array: Anything) -> Anything:
    """A view whose last dimension is gone along, in the direction it is gone."""
    turned = np.moveaxis(array, ins.value("axis"), -1)
    return turned[..., ::-1] if ins.value("reverse") else turned


def build(ins: Instruction, views: Views) -> Run:
    """y[k] = x[0] ∘ … ∘ x[k]; sums and products of floats in double precision."""
    op = ins.value("op")
    source, result = views.any(ins.ref("x")), views.any(ins.ref("y"))
    x, y = _along(ins, source), _along(ins, result)
    wide = np.float64 if result.dtype == np.float32 else result.dtype.type
    join = _JOINS[op]
    if not ins.value("exclusive"):
        return lambda: np.copyto(y, join.accumulate(x, axis=-1, dtype=wide), casting="same_kind")
    first = _begin(op, result.dtype)

    def run() -> None:
        y[..., 0] = first
        running = join.accumulate(x[..., :-1], axis=-1, dtype=wide)
        np.copyto(y[..., 1:], running, casting="same_kind")

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """The slopes of all results that an element is part of, summed up."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    dy = _along(ins, views.grad(ins.ref("y")))
    x = _along(ins, views.data(ins.ref("x")))
    y = _along(ins, views.data(ins.ref("y")))
    own = views.scratch(dy.shape)
    op, exclusive = ins.value("op"), bool(ins.value("exclusive"))
    deliver = add_or_set(_along(ins, accumulator.target), own, accumulator.sets)

    def run() -> None:
        slope = dy.astype(np.float64)
        if op == "sum":
            own[...] = _from_end(slope) - (slope if exclusive else 0.0)
        elif op == "prod":
            own[...] = _product_slopes(x.astype(np.float64), slope, exclusive)
        else:
            own[...] = _extreme_slopes(op, x, y, slope, exclusive)
        deliver()

    return run


def _from_end(values: Doubles) -> Doubles:
    found: Doubles = np.add.accumulate(values[..., ::-1], axis=-1)[..., ::-1]
    return found


def _later(values: Doubles) -> Doubles:
    """Every element's successor, 0 behind the last."""
    found = np.zeros_like(values)
    found[..., :-1] = values[..., 1:]
    return found


def _product_slopes(x: Doubles, dy: Doubles, exclusive: bool) -> Doubles:
    """Σ dy[j] · the product of all that j has but k.

    With s[k] = dy[k] + x[k+1]·s[k+1] it is s[k] times the product in front of k, without a
    quotient. Where nothing is 0 or beyond double precision, sums and quotients say the same faster.
    """
    before = np.ones_like(x)
    np.multiply.accumulate(x[..., :-1], axis=-1, out=before[..., 1:])
    with np.errstate(all="ignore"):
        terms = dy * (before if exclusive else before * x)
        found: Doubles = _from_end(terms)
        if exclusive:
            found = _later(found)
        found /= x
    slow = ~np.isfinite(found).all(axis=-1) | (before == 0).any(axis=-1)
    if slow.any():
        rows, slopes = x[slow], _later(dy)[slow] if exclusive else dy[slow]
        sums = slopes.copy()
        for k in range(rows.shape[-1] - 2, -1, -1):
            sums[..., k] += rows[..., k + 1] * sums[..., k + 1]
        found[slow] = sums * before[slow]
    return found


def _extreme_slopes(op: str, x: Anything, y: Anything, dy: Doubles, exclusive: bool) -> Doubles:
    """An element that was larger than all before gets the slopes until the next such one."""
    before = np.full_like(x, _begin(op, x.dtype))
    if exclusive:
        before[...] = y
    else:
        before[..., 1:] = y[..., :-1]
    better = x > before if op == "max" else x < before
    records = (better | np.isnan(x)) & ~np.isnan(before)
    records[..., 0] = True
    slopes = np.ascontiguousarray(_later(dy) if exclusive else dy).reshape(-1)
    found = np.zeros(dy.shape)
    begins = np.flatnonzero(records)
    found.reshape(-1)[begins] = np.add.reduceat(slopes, begins)
    return found
