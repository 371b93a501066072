"""Sums over many elements that keep float32 accuracy."""

from __future__ import annotations

from math import prod

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.cpu.memory.views import Floats, Views

_BLOCK = 128


class ColumnSums:
    """Sums over the rows of a matrix [rows, columns].

    Blocks of rows are summed by a matrix product, the blocks in float64: an error of a few units
    in the last place however many rows there are, at the price of one pass.
    """

    def __init__(self, views: Views, matrix: Floats, out: Floats) -> None:
        views.note("column sums")
        rows, columns = matrix.shape
        whole = rows // _BLOCK
        self._blocks = matrix[: whole * _BLOCK].reshape(whole, _BLOCK, columns)
        self._rest = matrix[whole * _BLOCK :]
        self._ones = np.ones((1, _BLOCK), np.float32)
        self._partial = views.scratch((whole, 1, columns))
        self._sum = views.scratch_of((columns,), np.float64)
        self._tail = views.scratch_of((columns,), np.float64)
        self._out = out.reshape(-1)

    def run(self) -> None:
        """Write the sums."""
        np.add.reduce(self._rest, axis=0, dtype=np.float64, out=self._sum)
        if len(self._blocks):
            np.matmul(self._ones, self._blocks, out=self._partial)
            np.add.reduce(self._partial[:, 0], axis=0, dtype=np.float64, out=self._tail)
            self._sum += self._tail
        np.copyto(self._out, self._sum, casting="same_kind")


def reduced_axes(shape: Shape, target: Shape) -> tuple[int, ...]:
    """Axes of ``shape`` along which a tensor of shape ``target`` was repeated."""
    lead = len(shape) - len(target)
    return tuple(
        i for i, size in enumerate(shape) if i < lead or (target[i - lead] == 1 and size != 1)
    )


def sum_to(array: Floats, target: Floats) -> None:
    """Write into ``target`` the sums of ``array`` over the axes it was broadcast along."""
    axes = reduced_axes(array.shape, target.shape)
    total = np.add.reduce(array, axis=axes, dtype=np.float64)
    np.copyto(target, total.reshape(target.shape), casting="same_kind")


def total(array: Floats) -> float:
    """The sum of all elements, accumulated in float64."""
    return float(np.add.reduce(array, axis=None, dtype=np.float64)) if prod(array.shape) else 0.0
