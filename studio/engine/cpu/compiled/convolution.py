"""Convolution without column matrices: tiles of results that stay in the processor's registers.

A tile is eight rows of one vector each, added up over everything they sum. Numba has no vectors, so
its instructions are written here one by one; the compiler sees no loop over its cells and keeps
them in registers. Where the cells of windows lie is read from tables of distances, so that one loop
serves every stride, padding and dilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils as code
from numba.extending import intrinsic

from studio.engine.cpu.compiled.toolchain import compiled
from studio.engine.cpu.views import Floats

Places: TypeAlias = npt.NDArray[np.int64]
Box: TypeAlias = tuple[int, int, int, int, int, int]

TILE = 8
"""Rows of a tile: enough to hide the delay of a multiplication, and few enough for addresses."""

LANES = 16 if get_host_cpu_features().get("avx512f", False) else 8
"""Columns of a tile: a vector of this processor, or two."""

BAND_ELEMENTS = 8192
"""Elements of dy that the tiles of a weight gradient share before their sums go to memory."""

_code = cast(Any, code)
_FLOAT, _PLACE, _LANE = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, LANES)


class _Arrays:
    """Addresses in the arrays that are arguments."""

    def __init__(self, context: Any, builder: Any, signature: Any, given: Any) -> None:
        self._context, self._builder = context, builder
        self._types, self._given = signature.args, given

    def at(self, array: int, offset: Any) -> Any:
        """The address of an element of an argument."""
        made = self._context.make_array(self._types[array])
        return self.beside(made(self._context, self._builder, self._given[array]).data, offset)

    def beside(self, address: Any, offset: Any) -> Any:
        """The address that many elements on."""
        return self._builder.gep(address, [offset])


class _Tile(_Arrays):
    """The instructions of a tile: its sums, its rows, and what is added to it."""

    def __init__(self, context: Any, builder: Any, signature: Any, given: Any) -> None:
        super().__init__(context, builder, signature, given)
        self._sums = [_code.alloca_once(builder, _VECTOR) for _ in range(TILE)]

    def rows(self, begin: Any, table: Any) -> list[Any]:
        """Addresses of the rows, whose distances from the beginning stand in a table."""
        return [self.beside(begin, self.entry(table, row)) for row in range(TILE)]

    def entry(self, table: Any, row: int) -> Any:
        """An entry of a table of distances."""
        return self._builder.load(self.beside(table, _PLACE(row)))

    def vector(self, address: Any) -> Any:
        """The vector at an address."""
        return self._builder.load(self._wide(address), align=4)

    def begin(self, vector: Any) -> None:
        """Every row starts with a vector."""
        for held in self._sums:
            self._builder.store(vector, held)

    def add(self, row: Any, cell: Any, vector: Any) -> None:
        """sum of a row += cell · vector, for the address of the cell."""
        builder = self._builder
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        single = builder.insert_element(nothing, builder.load(cell), _LANE(0))
        lanes = ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES)
        product = builder.fmul(builder.shuffle_vector(single, nothing, lanes), vector)
        held = self._sums[row]
        builder.store(builder.fadd(builder.load(held), product, flags=("contract",)), held)

    def end(self, rows: list[Any], onto: bool) -> None:
        """Write the sums where the rows lie, or add them to what is there."""
        builder = self._builder
        for held, address in zip(self._sums, rows, strict=True):
            value = builder.load(held)
            if onto:
                value = builder.fadd(value, self.vector(address))
            builder.store(value, self._wide(address), align=4)

    @contextmanager
    def each(self, begin: Any, stop: Any) -> Iterator[Any]:
        """A loop; gives its index."""
        with _code.for_range(self._builder, stop, start=begin) as loop:
            yield loop.index

    def _wide(self, address: Any) -> Any:
        return self._builder.bitcast(address, _VECTOR.as_pointer())


def _declare_windows(
    _context: Any, x: Any, begin: Any, reads: Any, first: Any, taps: Any, count: Any, depth: Any,
    w: Any, column: Any, width: Any, start: Any, y: Any, to: Any, writes: Any,
) -> Any:  # fmt: skip
    given = (x, begin, reads, first, taps, count, depth, w, column, width, start, y, to, writes)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        tile = _Tile(context, builder, signature, args)
        rows = tile.rows(tile.at(0, args[1]), tile.at(2, args[3]))
        tile.begin(tile.vector(tile.at(10, args[8])))
        weights = _code.alloca_once(builder, _FLOAT.as_pointer())
        builder.store(tile.at(7, args[8]), weights)
        with tile.each(_PLACE(0), args[5]) as tap:
            moved = builder.load(tile.at(4, tap))
            with tile.each(_PLACE(0), args[6]) as channel:
                here = builder.load(weights)
                vector, offset = tile.vector(here), builder.add(moved, channel)
                for number, row in enumerate(rows):
                    tile.add(number, tile.beside(row, offset), vector)
                builder.store(tile.beside(here, args[9]), weights)
        tile.end(tile.rows(tile.at(11, args[12]), tile.at(13, args[3])), False)
        return context.get_dummy_value()

    return types.void(*given), generate


def _declare_slopes(
    _context: Any, x: Any, begin: Any, rows: Any, row: Any, reads: Any, dy: Any, column: Any,
    places: Any, first: Any, stop: Any, dw: Any, to: Any, width: Any,
) -> Any:  # fmt: skip
    given = (x, begin, rows, row, reads, dy, column, places, first, stop, dw, to, width)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        tile = _Tile(context, builder, signature, args)
        cells = tile.rows(tile.at(0, args[1]), tile.at(2, args[3]))
        slopes = tile.at(5, args[6])
        tile.begin(ir.Constant(_VECTOR, [0.0] * LANES))
        with tile.each(args[8], args[9]) as window:
            vector = tile.vector(tile.beside(slopes, builder.load(tile.at(7, window))))
            offset = builder.load(tile.at(4, window))
            for number, cell in enumerate(cells):
                tile.add(number, tile.beside(cell, offset), vector)
        target = tile.at(10, args[11])
        tile.end([tile.beside(target, builder.mul(args[12], _PLACE(i))) for i in range(TILE)], True)
        return context.get_dummy_value()

    return types.void(*given), generate


def _declare_copy(
    _context: Any, target: Any, to: Any, source: Any, begin: Any, elements: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = _Arrays(context, builder, signature, args)
        given = arrays.at(0, args[1]), arrays.at(2, args[3])
        _code.raw_memcpy(builder, *given, args[4], 4)
        return context.get_dummy_value()

    return types.void(target, to, source, begin, elements), generate


_copy: Callable[..., None] = cast(Any, intrinsic)(_declare_copy)
_windows_tile: Callable[..., None] = cast(Any, intrinsic)(_declare_windows)
_slopes_tile: Callable[..., None] = cast(Any, intrinsic)(_declare_slopes)


@compiled
def place(pictures: Floats, begin: int, sides: tuple[int, int], room: Floats, box: Box) -> None:
    """Copy cells of a picture to where they lie in the padded one.

    Args:
        pictures: flat.
        begin: where the picture begins.
        sides: elements in a row of the picture, and in one of the room.
        room: flat; what lies outside the box is left as it is.
        box: first row and element of it in the room, the same in the picture, rows, elements.
    """
    down, across, top, left, rows, elements = box
    for i in range(rows):
        given = begin + (top + i) * sides[0] + left
        to = (down + i) * sides[1] + across
        _copy(room, to, pictures, given, elements)


@compiled
def convolve(
    x: Floats,
    padding: tuple[Floats, Box],
    w: Floats,
    start: Floats,
    y: Floats,
    tables: tuple[Places, Places, Places],
) -> None:
    """y = start + Σ over taps and channels of x·w, for some windows of every picture.

    Args:
        x: pictures [N,H,W,C].
        padding: room for a padded picture, and the box of `place`; no cells where x has them all.
        w: [taps·C, columns].
        start: [columns].
        y: [N, elements of a picture's results].
        tables: distances of the windows in x and in y, at least `TILE`; of the taps in a window.
    """
    room, box = padding
    reads, writes, taps = tables
    depth, columns = x.shape[3], w.shape[1]
    inside, outside, results, weights = (
        x.reshape(-1),
        room.reshape(-1),
        y.reshape(-1),
        w.reshape(-1),
    )
    size, sides = x[0].size, (x.shape[2] * depth, room.shape[1] * depth)
    for n in range(len(x)):
        source, begin = inside, n * size
        if room.size > 0:
            place(inside, begin, sides, outside, box)
            source, begin = outside, 0
        for column in range(0, columns, LANES):
            for first in range(0, len(reads), TILE):
                # The last tile may overlap the one before it: it finds the same results.
                first = min(first, len(reads) - TILE)
                _windows_tile(
                    source, begin, reads, first, taps, len(taps), depth, weights, column, columns,
                    start, results, n * y.shape[1] + column, writes,
                )  # fmt: skip


@compiled
def add_weight_gradient(
    x: Floats,
    padding: tuple[Floats, Box],
    dy: Floats,
    dw: Floats,
    tables: tuple[Places, Places, Places],
) -> None:
    """dw += Σ over windows of x·dy.

    Args:
        x: pictures [N,H,W,C].
        padding: as for `convolve`.
        dy: [N, elements of a picture's results].
        dw: [rows, columns], rows a multiple of `TILE`.
        tables: distances of the windows in x and in dy; of the rows of dw in a window of x.
    """
    room, box = padding
    reads, places, rows = tables
    depth, columns = x.shape[3], dw.shape[1]
    band = max(TILE, BAND_ELEMENTS // columns)
    inside, outside, slopes, sums = x.reshape(-1), room.reshape(-1), dy.reshape(-1), dw.reshape(-1)
    size, sides = x[0].size, (x.shape[2] * depth, room.shape[1] * depth)
    for n in range(len(x)):
        source, begin = inside, n * size
        if room.size > 0:
            place(inside, begin, sides, outside, box)
            source, begin = outside, 0
        for first in range(0, len(reads), band):
            stop = min(len(reads), first + band)
            for row in range(0, len(rows), TILE):
                for column in range(0, columns, LANES):
                    _slopes_tile(
                        source, begin, rows, row, reads, slopes, n * dy.shape[1] + column, places,
                        first, stop, sums, row * columns + column, columns,
                    )  # fmt: skip
