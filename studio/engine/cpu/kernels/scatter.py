"""SCATTER and its gradient: elements written, added, multiplied or compared where indices say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.index_places import IndexPlaces, Keys, add_by_key
from studio.engine.cpu.memory.views import Anything, Doubles, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import DenseIn, DenseOut, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

Flags: TypeAlias = npt.NDArray[np.bool_]
Slopes: TypeAlias = tuple[Anything, Anything]


class _Scattered(NamedTuple):
    """What a gradient is found from: keys of the entries of u, and matrices with a row for each."""

    keys: Keys
    dy: Anything
    x: Anything
    u: Anything
    y: Anything


_MEET: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def build(ins: Instruction, views: Views) -> Run:
    """y = x, then what u brings where the indices say."""
    places, reduction = IndexPlaces(ins, views), ins.value("reduction")
    table, entries = (places.keys, places.inner), (places.count, places.inner)
    x = DenseIn(views, views.any(ins.ref("x")), table)
    u = DenseIn(views, views.any(ins.ref("u")), entries)
    y = DenseOut(views, views.any(ins.ref("y")), table)
    in_floats = reduction == "add" and y.array.dtype == np.float32

    def run() -> None:
        x.load()
        u.load()
        np.copyto(y.array, x.array)
        keys = places.find()
        inside = keys >= 0
        if reduction == "none":
            last = _last(keys, places.keys)
            hit = last >= 0
            y.array[hit] = u.array[last[hit]]
        elif in_floats:
            add_by_key(keys, u.array[None], y.array[None], sets=False)
        else:
            with np.errstate(all="ignore"):
                _MEET[reduction].at(y.array, keys[inside], u.array[inside])
        y.store()

    return run


def _last(keys: Keys, count: int) -> Keys:
    """For every key the last entry that has it, -1 where none has."""
    found = np.full(count, -1, np.int64)
    inside = keys >= 0
    np.maximum.at(found, keys[inside], np.flatnonzero(inside))
    return found


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """What is left of dy for x, and what goes to u."""
    targets = [views.accumulator(ins, name) for name in ("x", "u")]
    if not any(targets):
        return nothing
    places, reduction = IndexPlaces(ins, views), ins.value("reduction")
    table, entries = (places.keys, places.inner), (places.count, places.inner)
    x, y = (DenseIn(views, views.any(ins.ref(name)), table) for name in ("x", "y"))
    u = DenseIn(views, views.any(ins.ref("u")), entries)
    dy = DenseIn(views, views.grad(ins.ref("y")), table)
    slopes = _SLOPES[reduction]

    def run() -> None:
        for given in (x, y, u, dy):
            given.load()
        keys = places.find()
        found = slopes(_Scattered(keys, dy.array, x.array, u.array, y.array))
        found[1][keys < 0] = 0.0
        for target, array in zip(targets, found, strict=True):
            if target is not None:
                _deliver(target, array)

    return run


def _deliver(accumulator: GradAccumulator, found: Anything) -> None:
    array = found.reshape(accumulator.target.shape)
    if accumulator.sets:
        np.copyto(accumulator.target, array, casting="same_kind")
    else:
        np.add(accumulator.target, array, out=accumulator.target, casting="same_kind")


def _of_none(of: _Scattered) -> Slopes:
    last = _last(of.keys, len(of.x))
    dx, du = of.dy.copy(), np.zeros_like(of.u)
    hit = last >= 0
    dx[hit] = 0.0
    du[last[hit]] = of.dy[hit]
    return dx, du


def _of_add(of: _Scattered) -> Slopes:
    return of.dy, of.dy[of.keys]


def _of_mul(of: _Scattered) -> Slopes:
    """dy times the product of all the others: of those that are not 0, if no other is."""
    keys, dy, x, u, _ = of
    inside = keys >= 0
    named, brought = keys[inside], u[inside].astype(np.float64)
    zeros = (x == 0).astype(np.int64)
    rest = np.where(x == 0, 1.0, x.astype(np.float64))
    np.add.at(zeros, named, (brought == 0).astype(np.int64))
    np.multiply.at(rest, named, np.where(brought == 0, 1.0, brought))

    def others(own: Anything, count: Keys, product: Doubles) -> Doubles:
        nonzero = np.where(own == 0, 1.0, own)
        found: Doubles = np.where(count == (own == 0), product / nonzero, 0.0)
        return found

    with np.errstate(all="ignore"):
        return dy * others(x, zeros, rest), dy[keys] * others(u, zeros[keys], rest[keys])


def _of_extreme(of: _Scattered) -> Slopes:
    """To x where it is the extreme, else to the first of u that is."""
    keys, dy, x, u, y = of
    own = _alike(x, y)
    brought = _alike(u, y[keys]) & ~own[keys] & (keys >= 0)[:, None]
    first = np.full(x.shape, len(u), np.int64)
    rows, columns = np.nonzero(brought)
    np.minimum.at(first, (keys[rows], columns), rows)
    chosen = brought & (first[keys] == np.arange(len(u))[:, None])
    return np.where(own, dy, 0.0), np.where(chosen, dy[keys], 0.0)


def _alike(a: Anything, b: Anything) -> Flags:
    found: Flags = (a == b) | (np.isnan(a) & np.isnan(b))
    return found


_SLOPES: dict[str, Callable[[_Scattered], Slopes]] = {
    "none": _of_none,
    "add": _of_add,
    "mul": _of_mul,
    "max": _of_extreme,
    "min": _of_extreme,
}
