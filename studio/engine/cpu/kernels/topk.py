"""TOPK and its gradient: the largest elements along a dimension and their places."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

Ranks: TypeAlias = npt.NDArray[np.uint64]

_SIGN = np.uint32(1 << 31)
_ALL = np.uint32((1 << 32) - 1)
_HALF = np.uint64(32)


def _ranks(x: Anything, largest: bool) -> Ranks:
    """Numbers that grow with the elements, or fall where the largest is to come first.

    Their lower half is the place, so that no two are equal. Zeros of both signs are one, and NaN is
    above all.
    """
    if x.dtype == np.float32:
        bits = np.ascontiguousarray(x + np.float32(0.0)).view(np.uint32)
        ranks = np.where(bits & _SIGN, ~bits, bits | _SIGN)
        ranks[np.isnan(x)] = _ALL
    else:
        ranks = np.ascontiguousarray(x).view(np.uint32) ^ _SIGN
    if largest:
        ranks = ~ranks
    places = np.arange(x.shape[-1], dtype=np.uint64)
    found: Ranks = ranks.astype(np.uint64) << _HALF | places
    return found


def build(ins: Instruction, views: Views) -> Run:
    """y, i = the first k in order."""
    axis, k = ins.value("axis"), int(ins.value("k"))
    x, y, i = (np.moveaxis(views.any(ins.ref(name)), axis, -1) for name in ("x", "y", "i"))
    largest = ins.value("order") == "largest"

    def run() -> None:
        ranks = _ranks(x, largest)
        if k < x.shape[-1]:
            ranks = np.partition(ranks, k - 1, axis=-1)[..., :k]
        ranks.sort(axis=-1)
        places = (ranks & np.uint64(_ALL)).astype(np.int64)
        i[...] = places
        y[...] = np.take_along_axis(x, places, -1)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dy goes to the places found."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    axis = ins.value("axis")
    target = np.moveaxis(accumulator.target, axis, -1)
    dy = np.moveaxis(views.grad(ins.ref("y")), axis, -1)
    i = np.moveaxis(views.ints(ins.ref("i")), axis, -1)

    def run() -> None:
        places = i.astype(np.int64)
        if accumulator.sets:
            target.fill(0.0)
            np.put_along_axis(target, places, dy, -1)
        else:
            np.put_along_axis(target, places, np.take_along_axis(target, places, -1) + dy, -1)

    return run
