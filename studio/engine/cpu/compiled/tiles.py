"""Tiles of sums of products that stay in the processor's registers.

A tile is eight rows of one vector each, added up over everything they sum. Numba has no vectors, so
its instructions are written here one by one; the compiler sees no loop over its cells and keeps
them in registers.
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

Places: TypeAlias = npt.NDArray[np.int64]

TILE = 8
"""Rows of a tile: enough to hide the delay of a multiplication, and few enough for addresses."""

LANES = 16 if get_host_cpu_features().get("avx512f", False) else 8
"""Columns of a tile: a vector of this processor, or two."""

_code = cast(Any, code)
_FLOAT, _PLACE, _LANE = ir.FloatType(), ir.IntType(64), ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, LANES)


def index_constant(number: int) -> Any:
    """A number that counts elements."""
    return _PLACE(number)


def spread_constant(number: float) -> Any:
    """A vector whose lanes all hold a number."""
    return ir.Constant(_VECTOR, [number] * LANES)


class Arrays:
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

    def vector(self, address: Any) -> Any:
        """The vector at an address."""
        return self._builder.load(self._wide(address), align=4)

    def write(self, vector: Any, address: Any) -> None:
        """Put a vector at an address."""
        self._builder.store(vector, self._wide(address), align=4)

    def _wide(self, address: Any) -> Any:
        return self._builder.bitcast(address, _VECTOR.as_pointer())


class _Tile(Arrays):
    """The instructions of a tile: its sums, its rows, and what is added to it."""

    def __init__(self, context: Any, builder: Any, signature: Any, given: Any) -> None:
        super().__init__(context, builder, signature, given)
        self._sums = [_code.alloca_once(builder, _VECTOR) for _ in range(TILE)]

    def rows(self, begin: Any, table: Any) -> list[Any]:
        """Addresses of the rows, whose distances from the beginning stand in a table."""
        return [self.beside(begin, self.entry(table, row)) for row in range(TILE)]

    def spaced(self, begin: Any, pitch: Any) -> list[Any]:
        """Addresses of rows that lie equally far apart."""
        places = [self._builder.mul(pitch, _PLACE(row)) for row in range(TILE)]
        return [self.beside(begin, place) for place in places]

    def entry(self, table: Any, row: int) -> Any:
        """An entry of a table of distances."""
        return self._builder.load(self.beside(table, _PLACE(row)))

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
            self.write(value, address)

    @contextmanager
    def each(self, begin: Any, stop: Any) -> Iterator[Any]:
        """A loop; gives its index."""
        with _code.for_range(self._builder, stop, start=begin) as loop:
            yield loop.index


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
        tile.end(tile.spaced(target, args[12]), True)
        return context.get_dummy_value()

    return types.void(*given), generate


def _row_sums(onto: bool) -> Callable[..., None]:
    """Sums over a panel, written to the rows of a matrix or added to what is there.

    Rows of x lie a pitch apart, and a step from one of their cells to the next; so do the vectors
    of the panel. Rows of the result lie a width apart.
    """

    def declare(
        _context: Any, x: Any, begin: Any, pitch: Any, step: Any, panel: Any, at: Any, stride: Any,
        depth: Any, start: Any, column: Any, y: Any, to: Any, width: Any,
    ) -> Any:  # fmt: skip
        given = (x, begin, pitch, step, panel, at, stride, depth, start, column, y, to, width)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tile = _Tile(context, builder, signature, args)
            rows = tile.spaced(tile.at(0, args[1]), args[2])
            tile.begin(tile.vector(tile.at(8, args[9])))
            packed = tile.at(4, args[5])
            with tile.each(_PLACE(0), args[7]) as number:
                vector = tile.vector(tile.beside(packed, builder.mul(number, args[6])))
                offset = builder.mul(number, args[3])
                for place, row in enumerate(rows):
                    tile.add(place, tile.beside(row, offset), vector)
            tile.end(tile.spaced(tile.at(10, args[11]), args[12]), onto)
            return context.get_dummy_value()

        return types.void(*given), generate

    made: Callable[..., None] = cast(Any, intrinsic)(declare)
    return made


def _declare_turn(
    _context: Any, source: Any, begin: Any, pitch: Any, target: Any, to: Any, width: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = Arrays(context, builder, signature, args)
        given, found = arrays.at(0, args[1]), arrays.at(3, args[4])
        rows = [
            arrays.vector(arrays.beside(given, builder.mul(args[2], _PLACE(i))))
            for i in range(LANES)
        ]
        distance = LANES // 2
        while distance:
            rows = _exchanged(builder, rows, distance)
            distance //= 2
        for i, row in enumerate(rows):
            arrays.write(row, arrays.beside(found, builder.mul(args[5], _PLACE(i))))
        return context.get_dummy_value()

    return types.void(source, begin, pitch, target, to, width), generate


def _exchanged(builder: Any, rows: list[Any], distance: int) -> list[Any]:
    """The rows of a square whose blocks of that size beside the diagonal have changed places."""
    lanes = range(LANES)
    # Lanes of the second row are counted on from those of the first.
    lower = [LANES + lane - distance if lane & distance else lane for lane in lanes]
    upper = [LANES + lane if lane & distance else lane + distance for lane in lanes]
    first, second = (ir.Constant(ir.VectorType(_LANE, LANES), m) for m in (lower, upper))
    made = list(rows)
    for i in lanes:
        if not i & distance:
            one, other = rows[i], rows[i + distance]
            made[i] = builder.shuffle_vector(one, other, first)
            made[i + distance] = builder.shuffle_vector(one, other, second)
    return made


def _declare_copy(
    _context: Any, target: Any, to: Any, source: Any, begin: Any, elements: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = Arrays(context, builder, signature, args)
        given = arrays.at(0, args[1]), arrays.at(2, args[3])
        _code.raw_memcpy(builder, *given, args[4], 4)
        return context.get_dummy_value()

    return types.void(target, to, source, begin, elements), generate


copy_elements: Callable[..., None] = cast(Any, intrinsic)(_declare_copy)
sum_windows: Callable[..., None] = cast(Any, intrinsic)(_declare_windows)
add_slopes: Callable[..., None] = cast(Any, intrinsic)(_declare_slopes)
sum_rows, add_rows = _row_sums(False), _row_sums(True)
turn_block: Callable[..., None] = cast(Any, intrinsic)(_declare_turn)
