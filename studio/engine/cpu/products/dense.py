"""Operands as matrices without gaps, copied only where the tensor has a halo."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.cpu.memory.views import Anything, Floats, Run, Views

STRETCH_ELEMENTS = 1 << 15
"""Elements of one matrix in a stretch of rows, so that it stays in the cache."""


def nothing() -> None:
    """Run nothing."""


def in_turn(runs: Sequence[Run]) -> Run:
    """Run all, one after another."""
    if len(runs) == 1:
        return runs[0]

    def run() -> None:
        for part in runs:
            part()

    return run if runs else nothing


class DenseIn:
    """An operand that is read in another shape.

    Attributes:
        array: the elements in that shape, valid after ``load``.
        load: brings them there; does nothing where they already lie so.
    """

    def __init__(self, views: Views, source: Floats, shape: Shape) -> None:
        self.load: Run = nothing
        if source.flags.c_contiguous:
            self.array = source.reshape(shape)
            return
        own = views.scratch(source.shape)
        self.array = own.reshape(shape)
        self.load = lambda: np.copyto(own, source)


class DenseOut:
    """A result that is written in another shape.

    Attributes:
        array: where to write.
        store: brings it to the tensor; does nothing where it already lies there.
    """

    def __init__(self, views: Views, target: Floats, shape: Shape) -> None:
        self.store: Run = nothing
        if target.flags.c_contiguous:
            self.array = target.reshape(shape)
            return
        own = views.scratch(target.shape)
        self.array = own.reshape(shape)
        self.store = lambda: np.copyto(target, own)


def copy_reshaped(views: Views, source: Anything, target: Anything) -> Run:
    """Copy elements in row-major sequence between arrays of different shapes."""
    if source.flags.c_contiguous:
        given = source.reshape(target.shape)
        return lambda: np.copyto(target, given)
    if target.flags.c_contiguous:
        wanted = target.reshape(source.shape)
        return lambda: np.copyto(wanted, source)
    between = views.scratch_of(source.shape, source.dtype.type)
    turned = between.reshape(target.shape)

    def run() -> None:
        np.copyto(between, source)
        np.copyto(target, turned)

    return run


def add_or_set(target: Floats, source: Floats, sets: bool) -> Run:
    """Deliver a gradient that lies somewhere else already."""
    if sets:
        return lambda: np.copyto(target, source)
    return lambda: np.add(target, source, out=target)


def row_stretches(matrices: Sequence[Anything], width: int) -> list[tuple[Anything, ...]]:
    """The same rows of every matrix, as many at a time as hold about ``STRETCH_ELEMENTS`` elements.

    Args:
        matrices: arrays with equally many rows.
        width: elements in a row of the widest.
    """
    rows = len(matrices[0])
    step = max(1, STRETCH_ELEMENTS // max(width, 1))
    return [tuple(m[i : i + step] for m in matrices) for i in range(0, rows, step)]
