"""Convolutions of 3x3 windows by squares of 4x4 cells; see `compiled.winograd`.

Sums over a square spread what is no number over all of its results. So pictures with such results
are convolved again window by window, gradients with such entries are summed again so, and an
infinity stays where it belongs.
"""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.convolution import direct as direct_convolution
from studio.engine.cpu.convolution.direct import Box, Pictures
from studio.engine.cpu.convolution.windows import Geometry
from studio.engine.cpu.memory.views import Floats, GradAccumulator, Run, Views

PLACES = 16
"""Places of a square; each has a matrix product of its own."""

LEAST_SQUARES = 8
"""Squares that fill a tile of a product."""

FEW_SQUARES, MANY_SQUARES = 24, 128
"""Squares taken at once: enough that packed filters are read seldom, few enough for a cache."""

MOST_FILTERS = 1 << 16
"""Pairs of channels up to which treating the filters costs little beside using them."""


def fits(geometry: Geometry, weights: Floats) -> bool:
    """Whether squares cover the windows, 3x3 and side by side, and fill tiles."""
    return (
        geometry.kernel == (3, 3)
        and geometry.stride == geometry.dilation == (1, 1)
        and not any(side % 2 for side in geometry.out)
        and geometry.out[0] * geometry.out[1] // 4 >= LEAST_SQUARES
        and not any(side % PLACES for side in weights.shape[2:])
        and weights.shape[2] * weights.shape[3] <= MOST_FILTERS
    )


class _Squares:
    """The squares of cells under the windows of pictures.

    Attributes:
        padding: room for a padded picture and the box it fills there.
        rows: rows of squares.
        columns: squares in a row.
    """

    def __init__(self, views: Views, geometry: Geometry, cells: Floats) -> None:
        first = (-geometry.begin[0], -geometry.begin[1])
        stop = (first[0] + geometry.out[0] + 2, first[1] + geometry.out[1] + 2)
        pictures = Pictures(views, cells, first, stop, always=True)
        self.padding: tuple[Floats, Box] = pictures.padding
        self.clear = pictures.clear
        self.rows, self.columns = geometry.out[0] // 2, geometry.out[1] // 2
        self._views = views

    def taken_at_once(self) -> tuple[int, int, int]:
        """Rows and columns of squares, and how many rows are taken at once.

        Every such band fills a tile, and as few squares as can be are computed twice for that.
        """
        found = [
            rows
            for rows in range(1, self.rows + 1)
            if (self.rows % rows or rows) * self.columns >= LEAST_SQUARES
        ]
        good = [n for n in found if FEW_SQUARES <= n * self.columns <= MANY_SQUARES]
        best = min(good or found, key=self._computed)
        return self.rows, self.columns, best

    def _computed(self, rows: int) -> int:
        whole, rest = divmod(self.rows, rows)
        return sum(
            times * -(-(n * self.columns) // LEAST_SQUARES)
            for times, n in ((whole, rows), (1, rest))
        )

    def room(self, squares: tuple[int, int, int], width: int) -> Floats:
        """Working memory for the planes of squares taken at once."""
        from studio.engine.cpu.compiled.winograd import plane_pitch

        return self._views.scratch((PLACES * plane_pitch(squares[1] * squares[2], width),))


def build_product(
    views: Views, geometry: Geometry, cells: Floats, weights: Floats, bias: Floats | None, y: Floats
) -> Run:
    """y = windows of the cells · weights + bias, for weights [3,3,in,out]."""
    from studio.engine.cpu.compiled.winograd import transform_filters

    depth, width = weights.shape[2:]
    found = views.scratch((PLACES * depth * width,))
    given = weights.reshape(-1)
    convolve = _build(views, geometry, cells, (weights, found), bias, y)

    def run() -> None:
        transform_filters(given, depth, width, found)
        convolve()

    return run


def build_input_gradient(
    views: Views, geometry: Geometry, weights: Floats, dy: Floats, accumulator: GradAccumulator
) -> Run:
    """dx = windows of dy · turned filters, for the geometry of these windows."""
    from studio.engine.cpu.compiled.winograd import transform_filters, turn_filters

    depth, width = weights.shape[2:]
    turned, found = views.scratch((weights.size,)), views.scratch((PLACES * depth * width,))
    given, back = weights.reshape(-1), turned.reshape(3, 3, width, depth)
    convolve = _build(views, geometry, dy, (back, found), None, accumulator.into())

    def run() -> None:
        turn_filters(given, depth, width, turned)
        transform_filters(turned, width, depth, found)
        convolve()
        accumulator.deliver()

    return run


def _build(
    views: Views,
    geometry: Geometry,
    cells: Floats,
    filters: tuple[Floats, Floats],
    bias: Floats | None,
    y: Floats,
) -> Run:
    """The convolution by filters [3,3,in,out], which are given as they are and transformed."""
    from studio.engine.cpu.compiled.winograd import convolve_squares

    squares = _Squares(views, geometry, cells)
    taken = squares.taken_at_once()
    width = y.shape[3]
    rooms = (squares.room(taken, cells.shape[3]), squares.room(taken, width))
    start = np.zeros(width, np.float32) if bias is None else bias
    plain, transformed = filters
    by_windows = direct_convolution.build_product(views, geometry, cells, plain, bias, y)

    def run() -> None:
        squares.clear()
        if not convolve_squares(cells, squares.padding, transformed, start, y, taken, rooms):
            by_windows()

    return run


def build_weight_gradient(
    views: Views, geometry: Geometry, cells: Floats, dy: Floats, accumulator: GradAccumulator
) -> Run:
    """dw = windows of the cells, transposed · dy."""
    from studio.engine.cpu.compiled.winograd import add_gradient_squares, transform_gradients

    depth, width = cells.shape[3], dy.shape[3]
    squares = _Squares(views, geometry, cells)
    rows = max(1, min(squares.rows, 64 // squares.columns))
    taken = (squares.rows, squares.columns, rows)
    rooms = (squares.room(taken, depth), squares.room(taken, width))
    sums = views.scratch((PLACES * depth * width,))
    target = accumulator.dense().reshape(-1)
    by_windows = direct_convolution.build_weight_gradient(views, geometry, cells, dy, accumulator)

    def run() -> None:
        squares.clear()
        sums.fill(0.0)
        add_gradient_squares(cells, squares.padding, dy, sums, taken, rooms)
        if transform_gradients(sums, depth, width, target):
            accumulator.deliver()
        else:
            by_windows()

    return run
