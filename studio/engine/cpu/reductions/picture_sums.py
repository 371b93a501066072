"""Channel sums of pictures, with or without a halo."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import STRETCH_ELEMENTS, DenseIn
from studio.engine.cpu.reductions.sums import ColumnSums


class PictureSums:
    """Σ over everything but the last dimension, delivered to a gradient."""

    def __init__(self, views: Views, pictures: Floats, accumulator: GradAccumulator) -> None:
        channels = pictures.shape[-1]
        self._dense = DenseIn(views, pictures, (pictures.size // max(channels, 1), channels))
        self._sums = ColumnSums(views, self._dense.array, accumulator.into())
        self._accumulator = accumulator

    def run(self) -> None:
        """Write the sums."""
        self._dense.load()
        self._sums.run()
        self._accumulator.deliver()


class StretchedSums:
    """Float64 column sums of matrices that are made a stretch at a time.

    Attributes:
        values: the sums, once every stretch was taken.
    """

    def __init__(self, views: Views, columns: int, longest: int) -> None:
        self.values = views.scratch_of((columns,), np.float64)
        self._ones = np.ones((1, longest), np.float32)
        self._partial = views.scratch((1, columns))

    def clear(self) -> None:
        """Begin at zero."""
        self.values.fill(0.0)

    def take(self, matrix: Floats) -> None:
        """Add the rows of a stretch."""
        np.matmul(self._ones[:, : len(matrix)], matrix, out=self._partial)
        np.add(self.values, self._partial[0], out=self.values)


def stretch_rows(columns: int) -> int:
    """Rows of a stretch for matrices of that many columns."""
    return max(1, STRETCH_ELEMENTS // max(columns, 1))


def loaded(source: Floats, room: Floats) -> tuple[Floats, Run | None]:
    """A matrix without gaps: the source itself, or working memory and what copies it there."""
    if source.flags.c_contiguous:
        return source.reshape(room.shape), None
    return room, lambda: np.copyto(room.reshape(source.shape), source)
