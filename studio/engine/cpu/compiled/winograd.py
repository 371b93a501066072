"""Convolution of 3x3 windows by fewer products: two by two results at a time.

After S. Winograd and, for pictures, A. Lavin and S. Gray: a square of 4x4 cells, added up and
subtracted (Bᵀ·d·B), is multiplied by filters treated alike (G·g·Gᵀ), place by place; sums of these
products (Aᵀ·m·A) are 2x2 results. That takes 16 products instead of 36 for each pair of channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from studio.engine.cpu.compiled.convolution import Box, place
from studio.engine.cpu.compiled.tiles import (
    LANES,
    TILE,
    Arrays,
    add_rows,
    index_constant,
    spread_constant,
    sum_rows,
    turn_block,
)
from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Floats

PLACES = 16
"""Places of a square."""

_NOTHING = np.zeros(LANES, np.float32)
"""What sums begin with."""

Vectors = Sequence[Any]


class _Sums:
    """Sums and differences of vectors."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._half = spread_constant(0.5)

    def cells(self, d: Vectors) -> list[Any]:
        """Bᵀ·d along four vectors."""
        add, sub = self._builder.fadd, self._builder.fsub
        return [sub(d[0], d[2]), add(d[1], d[2]), sub(d[2], d[1]), sub(d[1], d[3])]

    def filters(self, g: Vectors) -> list[Any]:
        """G·g along three."""
        build = self._builder
        ends = build.fmul(build.fadd(g[0], g[2]), self._half)
        middle = build.fmul(g[1], self._half)
        return [g[0], build.fadd(ends, middle), build.fsub(ends, middle), g[2]]

    def results(self, m: Vectors) -> list[Any]:
        """Aᵀ·m along four."""
        add, sub = self._builder.fadd, self._builder.fsub
        return [add(add(m[0], m[1]), m[2]), sub(sub(m[1], m[2]), m[3])]

    def slopes(self, z: Vectors) -> list[Any]:
        """A·z along two."""
        add, sub, neg = self._builder.fadd, self._builder.fsub, self._builder.fneg
        return [z[0], add(z[0], z[1]), sub(z[0], z[1]), neg(z[1])]

    def gradients(self, u: Vectors) -> list[Any]:
        """Gᵀ·u along four."""
        build = self._builder
        total, apart = build.fadd(u[1], u[2]), build.fsub(u[1], u[2])
        half, turned = build.fmul(total, self._half), build.fmul(apart, self._half)
        return [build.fadd(u[0], half), turned, build.fadd(half, u[3])]


def _both_ways(step: Callable[[Vectors], list[Any]], square: list[list[Any]]) -> list[list[Any]]:
    """A step along the columns of a square of vectors, then along its rows."""
    down = [step(column) for column in zip(*square, strict=True)]
    return [step(row) for row in zip(*down, strict=True)]


def _transform(kind: str, side: int, starts: bool = False) -> Callable[..., None]:
    """The instructions that take a square of vectors through a step both ways.

    Their arguments: source, where the square begins, distances of its rows and of its columns;
    target, and the same three; start, and where the vector lies in it that is added to all results
    if the instructions are for that.
    """

    def declare(
        _context: Any, source: Any, begin: Any, down: Any, across: Any, target: Any, to: Any,
        below: Any, beside: Any, start: Any, where: Any,
    ) -> Any:  # fmt: skip
        given = (source, begin, down, across, target, to, below, beside, start, where)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = Arrays(context, builder, signature, args)

            def at(origin: Any, i: int, j: int, pitch: Any, step: Any) -> Any:
                rows = builder.mul(pitch, index_constant(i))
                return arrays.beside(
                    origin, builder.add(rows, builder.mul(step, index_constant(j)))
                )

            first, found = arrays.at(0, args[1]), arrays.at(4, args[5])
            square = [
                [arrays.vector(at(first, i, j, args[2], args[3])) for j in range(side)]
                for i in range(side)
            ]
            made = _both_ways(getattr(_Sums(builder), kind), square)
            if starts:
                plus = arrays.vector(arrays.at(8, args[9]))
                made = [[builder.fadd(vector, plus) for vector in row] for row in made]
            for i, row in enumerate(made):
                for j, vector in enumerate(row):
                    arrays.write(vector, at(found, i, j, args[6], args[7]))
            return context.get_dummy_value()

        return types.void(*given), generate

    made: Callable[..., None] = cast(Any, intrinsic)(declare)
    return made


_transform_cells = _transform("cells", 4)
_transform_filters = _transform("filters", 3)
_transform_results = _transform("results", 4, starts=True)
_transform_slopes = _transform("slopes", 2)
_transform_gradients = _transform("gradients", 4)


@compiled
def plane_pitch(count: int, width: int) -> int:
    """Elements from one place of so many squares to the next.

    A line more than they fill: planes a power of two apart would all want the same cache sets.
    """
    return count * width + 16


@compiled
def turn_filters(w: Floats, depth: int, width: int, turned: Floats) -> None:
    """Filters [3,3,depth,width] turned by half a turn, as [3,3,width,depth]; both flat."""
    plane = depth * width
    for tap in range(9):
        for row in range(0, depth, LANES):
            for column in range(0, width, LANES):
                turn_block(
                    w, tap * plane + row * width + column, width,
                    turned, (8 - tap) * plane + column * depth + row, depth,
                )  # fmt: skip


@compiled
def transform_filters(w: Floats, depth: int, width: int, u: Floats) -> None:
    """u = G·w·Gᵀ for filters [3,3,depth,width], as panels [16, width/LANES, depth, LANES]."""
    plane = depth * width
    for column in range(0, width, LANES):
        for c in range(depth):
            _transform_filters(
                w, c * width + column, 3 * plane, plane,
                u, column * depth + c * LANES, 4 * plane, plane, _NOTHING, 0,
            )  # fmt: skip


@compiled
def transform_gradients(u: Floats, depth: int, width: int, dw: Floats) -> bool:
    """dw = Gᵀ·u·G for u [16,depth,width] and dw [9,depth,width], both flat; whether dw is numbers.

    A cell that is no number is found in every column of its row, a slope in every row of its
    column: the first column and the first row are looked at.
    """
    plane = depth * width
    for begin in range(0, plane, LANES):
        _transform_gradients(u, begin, 4 * plane, plane, dw, begin, 3 * plane, plane, _NOTHING, 0)
    missed = np.float32(0.0)
    for tap in range(0, 9 * plane, plane):
        for at in range(tap, tap + plane, width):
            missed += dw[at] - dw[at]
        for at in range(tap, tap + width):
            missed += dw[at] - dw[at]
    return bool(missed == 0.0)


@compiled
def _take_squares(
    source: Floats, begin: int, line: int, shape: tuple[int, int, int], planes: Floats,
    pitch: int, slopes: bool,
) -> None:  # fmt: skip
    """Squares of cells or of slopes, rows of them by columns, transformed into planes."""
    rows, wide, depth = shape
    for i in range(rows):
        for j in range(wide):
            for c in range(0, depth, LANES):
                at, to = begin + 2 * (i * line + j * depth) + c, (i * wide + j) * depth + c
                # Numba takes instructions by name only.
                if slopes:
                    _transform_slopes(
                        source, at, line, depth, planes, to, 4 * pitch, pitch, _NOTHING, 0
                    )
                else:
                    _transform_cells(
                        source, at, line, depth, planes, to, 4 * pitch, pitch, _NOTHING, 0
                    )


@compiled
def _multiply_squares(
    cells: Floats, u: Floats, products: Floats, shape: tuple[int, int, int]
) -> None:
    """products [16, count, width] = cells [16, count, depth] · filters, place by place."""
    count, depth, width = shape
    pitches = (plane_pitch(count, depth), plane_pitch(count, width))
    for p in range(PLACES):
        for column in range(0, width, LANES):
            for row in range(0, count, TILE):
                # The last tile may overlap the one before it: it finds the same products.
                row = min(row, count - TILE)
                sum_rows(
                    cells, p * pitches[0] + row * depth, depth, 1,
                    u, (p * width + column) * depth, LANES, depth, _NOTHING, 0,
                    products, p * pitches[1] + row * width + column, width,
                )  # fmt: skip


@compiled
def convolve_squares(
    x: Floats,
    padding: tuple[Floats, Box],
    u: Floats,
    start: Floats,
    y: Floats,
    squares: tuple[int, int, int],
    rooms: tuple[Floats, Floats],
) -> bool:
    """y = windows of x · filters + start; whether all of them are numbers.

    What is no number, or too large to be added up, is found in every place of its squares, and in
    every column as long as the filters are numbers: the first column is looked at.

    Args:
        x: pictures [N,H,W,C].
        padding: room for a padded picture, and the box of `place`.
        u: filters from `transform_filters`.
        start: [columns].
        y: [N, rows, columns of windows, columns], both even.
        squares: rows and columns of squares, and rows of them taken at once, `TILE` or more.
        rooms: working memory for the cells and for the products of these.
    """
    room, box = padding
    tall, wide, band = squares
    cells, products = rooms
    depth, width = x.shape[3], y.shape[3]
    inside, source, results = x.reshape(-1), room.reshape(-1), y.reshape(-1)
    size, sides = x[0].size, (x.shape[2] * depth, room.shape[1] * depth)
    line, missed = 2 * wide * width, np.float32(0.0)
    for n in range(len(x)):
        place(inside, n * size, sides, source, box)
        for top in range(0, tall, band):
            count = min(band, tall - top) * wide
            rows = count // wide
            pitch = plane_pitch(count, depth)
            shape = (rows, wide, depth)
            _take_squares(source, 2 * top * sides[1], sides[1], shape, cells, pitch, False)
            pitch = plane_pitch(count, width)
            _multiply_squares(cells, u, products, (count, depth, width))
            for i in range(rows):
                for j in range(wide):
                    to = (4 * (n * tall + top + i) * wide + 2 * j) * width
                    for c in range(0, width, LANES):
                        _transform_results(
                            products, (i * wide + j) * width + c, 4 * pitch, pitch,
                            results, to + c, line, width, start, c,
                        )  # fmt: skip
                    for at in (to, to + width, to + line, to + line + width):
                        missed += results[at] - results[at]
    return bool(missed == 0.0)


@compiled
def _add_squares(cells: Floats, slopes: Floats, u: Floats, shape: tuple[int, int, int]) -> None:
    """u [16, depth, width] += cells [16, count, depth], turned · slopes, place by place."""
    count, depth, width = shape
    pitches = (plane_pitch(count, depth), plane_pitch(count, width))
    for p in range(PLACES):
        for column in range(0, width, LANES):
            for row in range(0, depth, TILE):
                add_rows(
                    cells, p * pitches[0] + row, 1, depth,
                    slopes, p * pitches[1] + column, width, count, _NOTHING, 0,
                    u, (p * depth + row) * width + column, width,
                )  # fmt: skip


@compiled
def add_gradient_squares(
    x: Floats,
    padding: tuple[Floats, Box],
    dy: Floats,
    u: Floats,
    squares: tuple[int, int, int],
    rooms: tuple[Floats, Floats],
) -> None:
    """u [16, C, columns] += Σ over squares of cells · slopes, place by place.

    Args:
        x: pictures [N,H,W,C].
        padding: room for a padded picture, and the box of `place`.
        dy: [N, rows, columns of windows, columns], both even.
        u: flat; `transform_gradients` makes the gradient of the filters of it.
        squares: rows and columns of squares, and rows of them taken at once.
        rooms: working memory for the cells and the slopes of these.
    """
    room, box = padding
    tall, wide, band = squares
    cells, slopes = rooms
    depth, width = x.shape[3], dy.shape[3]
    inside, source, given = x.reshape(-1), room.reshape(-1), dy.reshape(-1)
    size, sides = x[0].size, (x.shape[2] * depth, room.shape[1] * depth)
    line = 2 * wide * width
    for n in range(len(x)):
        place(inside, n * size, sides, source, box)
        for top in range(0, tall, band):
            rows = min(band, tall - top)
            pitch = plane_pitch(rows * wide, depth)
            shape = (rows, wide, depth)
            _take_squares(source, 2 * top * sides[1], sides[1], shape, cells, pitch, False)
            pitch = plane_pitch(rows * wide, width)
            begin, shape = 2 * (n * tall + top) * line, (rows, wide, width)
            _take_squares(given, begin, line, shape, slopes, pitch, True)
            _add_squares(cells, slopes, u, (rows * wide, depth, width))
