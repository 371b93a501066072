"""Pictures of tensors as numbers: a few axes laid out as tiles, rows, columns and channels.

A `Sheet` says what is shown and how coarsely; `draw` makes the `Tile` of it from host memory, and
the OpenGL backend has a kernel that makes the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Shape, shape_text

Array: TypeAlias = npt.NDArray[Any]

HAS_NAN, HAS_PLUS, HAS_MINUS, HAS_FINITE = 1, 2, 4, 8
"""Bits of `Tile.marks`: what occurs among the elements a cell stands for."""

_STRETCH = 1 << 18
"""Elements looked at together, so that a large tensor needs little memory beside its own."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The indices taken along one axis: ``start``, ``start + step``, … , ``count`` of them."""

    start: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class Run:
    """Equally spaced cells of a storage: how many, and from one to the next."""

    count: int
    stride: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a sheet's elements lie in a storage.

    Attributes:
        base: cell of the first element.
        tiles: from tile to tile.
        rows: from row to row inside a tile.
        columns: from column to column.
        channels: from channel to channel of one element.
        block: rows and columns a cell of the picture stands for.
    """

    base: int
    tiles: Run
    rows: Run
    columns: Run
    channels: Run
    block: tuple[int, int]

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """Tiles, rows, columns and channels of the picture."""
        down, across = self.block
        return (
            self.tiles.count,
            -(-self.rows.count // down),
            -(-self.columns.count // across),
            self.channels.count,
        )

    @property
    def elements(self) -> tuple[int, int, int, int]:
        """Tiles, rows, columns and channels of the tensor behind it."""
        return (self.tiles.count, self.rows.count, self.columns.count, self.channels.count)


@dataclass(frozen=True)
class Sheet:
    """What of a tensor is shown.

    Axes that are neither tiles, rows, columns nor channels show the first index picked.

    Attributes:
        shape: of the tensor, symbols bound.
        picks: indices taken, for every axis.
        tiles: the axis whose indices are shown side by side, or None.
        rows: the axis that runs down a tile, or None.
        columns: the axis that runs across, or None.
        channels: the axis of colour channels, or None.
        block: rows and columns of elements a cell stands for.
    """

    shape: Shape
    picks: tuple[Pick, ...]
    tiles: int | None = None
    rows: int | None = None
    columns: int | None = None
    channels: int | None = None
    block: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        named = [axis for axis in self.axes if axis is not None]
        sound = (
            len(self.picks) == len(self.shape)
            and len(set(named)) == len(named)
            and all(0 <= axis < len(self.shape) for axis in named)
            and all(_inside(pick, size) for pick, size in zip(self.picks, self.shape, strict=False))
            and min(self.block) >= 1
        )
        if not sound:
            raise ParameterError(
                f"a sheet must lie inside its tensor: got {self} for {shape_text(self.shape)}",
                who="sheet",
            )

    @property
    def axes(self) -> tuple[int | None, int | None, int | None, int | None]:
        """The axes of tiles, rows, columns and channels."""
        return (self.tiles, self.rows, self.columns, self.channels)

    @property
    def exact(self) -> bool:
        """Whether each cell stands for one element."""
        return self.block == (1, 1)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return any(pick.count == 0 for pick in self.picks)

    def with_block(self, rows: int, columns: int) -> Sheet:
        """The same, each cell standing for so many rows and columns."""
        return replace(self, block=(rows, columns))

    def walk(self, strides: Shape, offset: int = 0) -> Walk:
        """Where its elements lie in a storage with these strides, in cells."""
        base = offset + sum(
            p.start * stride for p, stride in zip(self.picks, strides, strict=True) if p.count
        )
        runs = [
            Run(1, 0) if axis is None else Run(self.picks[axis].count,
                                               self.picks[axis].step * strides[axis])
            for axis in self.axes
        ]  # fmt: skip
        if self.empty:
            runs[0] = Run(0, 0)
        tiles, rows, columns, channels = runs
        return Walk(base, tiles, rows, columns, channels, self.block)

    def index(self, tile: int, row: int, column: int, channel: int = 0) -> tuple[int, ...]:
        """The tensor's index of an element of the sheet, counted in elements, not in cells."""
        places = dict(zip(self.axes, (tile, row, column, channel), strict=True))
        return tuple(
            pick.start + pick.step * (places.get(axis) or 0) for axis, pick in enumerate(self.picks)
        )

    def place(self, index: tuple[int, ...]) -> tuple[int, int, int, int] | None:
        """Tile, row, column and channel of a tensor's index; None where it is not on the sheet."""
        steps: list[int] = []
        for at, pick in zip(index, self.picks, strict=True):
            step, rest = divmod(at - pick.start, pick.step)
            if rest or not 0 <= step < pick.count:
                return None
            steps.append(step)
        if any(step for axis, step in enumerate(steps) if axis not in self.axes):
            return None
        tile, row, column, channel = (0 if axis is None else steps[axis] for axis in self.axes)
        return tile, row, column, channel


@dataclass(frozen=True, eq=False)
class Tile:
    """The numbers of a sheet; every array is [tiles, rows, columns, channels] in cells.

    Attributes:
        sheet: what is shown.
        values: the elements themselves where each cell stands for one, else None.
        low: least finite element of each cell; NaN where it has none.
        high: greatest finite element of each cell; NaN where it has none.
        marks: what occurs in each cell, see ``HAS_NAN`` and its kin.
    """

    sheet: Sheet
    values: Array | None
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]
    marks: npt.NDArray[np.uint8]

    @classmethod
    def of_values(cls, sheet: Sheet, values: Array) -> Tile:
        """A tile whose cells stand for one element each."""
        marks = marks_of(values)
        numbers = np.where(marks == HAS_FINITE, values, np.nan).astype(np.float32)
        return cls(sheet, values, numbers, numbers, marks)


def marks_of(values: Array) -> npt.NDArray[np.uint8]:
    """For every element the bit that says what it is."""
    marks = np.full(values.shape, HAS_FINITE, np.uint8)
    if values.dtype.kind == "f":
        marks[np.isnan(values)] = HAS_NAN
        marks[np.isposinf(values)] = HAS_PLUS
        marks[np.isneginf(values)] = HAS_MINUS
    return marks


def draw(array: Array, sheet: Sheet) -> Tile:
    """The tile of a sheet from a C-contiguous array of the sheet's shape."""
    if array.shape != sheet.shape or not array.flags.c_contiguous:
        raise ParameterError(
            f"expected a contiguous array {shape_text(sheet.shape)}, got {shape_text(array.shape)}",
            who="sheet",
        )
    flat = array.reshape(-1)
    strides = tuple(prod(sheet.shape[axis + 1 :]) for axis in range(len(sheet.shape)))
    walk = sheet.walk(strides)
    if 0 in walk.elements:
        return Tile.of_values(sheet, np.empty(walk.cells, array.dtype))
    size = array.itemsize
    runs = (walk.tiles, walk.rows, walk.columns, walk.channels)
    elements = np.lib.stride_tricks.as_strided(
        flat[walk.base :], walk.elements, tuple(run.stride * size for run in runs), writeable=False
    )
    if sheet.exact:
        return Tile.of_values(sheet, np.array(elements, order="C"))
    return _coarse(elements, sheet, walk)


def _coarse(elements: Array, sheet: Sheet, walk: Walk) -> Tile:
    """Least, greatest and marks of blocks, some tiles or a band of rows at a time."""
    tiles, rows = walk.cells[:2]
    down, across = sheet.block
    low = np.empty(walk.cells, np.float32)
    high = np.empty(walk.cells, np.float32)
    marks = np.full(walk.cells, HAS_FINITE, np.uint8)
    line = max(1, down * walk.columns.count * walk.channels.count)
    band = min(rows, max(1, _STRETCH // line))
    together = max(1, _STRETCH // (line * rows)) if band == rows else 1
    for tile in range(0, tiles, together):
        for row in range(0, rows, band):
            end = min(rows, row + band)
            place = (slice(tile, tile + together), slice(row, end))
            part = np.ascontiguousarray(elements[tile : tile + together, row * down : end * down])
            if part.dtype.kind == "f" and not np.isfinite(part).all():
                _spoiled(part, sheet.block, low[place], high[place], marks[place])
                continue
            low[place] = _blocks(np.minimum, part, down, across)
            high[place] = _blocks(np.maximum, part, down, across)
    return Tile(sheet, None, low, high, marks)


def _spoiled(
    part: Array, block: tuple[int, int], low: Array, high: Array, marks: npt.NDArray[np.uint8]
) -> None:
    """Fill in a band that has elements that are no numbers."""
    here = marks_of(part)
    numbers = part.astype(np.float32)
    finite = here == HAS_FINITE
    low[...] = _blocks(np.minimum, np.where(finite, numbers, np.inf), *block)
    high[...] = _blocks(np.maximum, np.where(finite, numbers, -np.inf), *block)
    marks[...] = _blocks(np.bitwise_or, here, *block)
    none = (marks & HAS_FINITE) == 0
    low[none] = np.nan
    high[none] = np.nan


def _blocks(function: np.ufunc, part: Array, down: int, across: int) -> Array:
    """A reduction over blocks of rows and columns of [tiles, rows, columns, channels]."""
    return _along(function, _along(function, part, down, 1), across, 2)


def _along(function: np.ufunc, part: Array, length: int, axis: int) -> Array:
    """A reduction over runs of an axis, the last of which may be short."""
    count = part.shape[axis]
    if length == 1 or count == 0:
        return part
    whole = count - count % length
    before, after = part.shape[:axis], part.shape[axis + 1 :]
    main = part[(slice(None),) * axis + (slice(0, whole),)]
    found = function.reduce(main.reshape(*before, whole // length, length, *after), axis=axis + 1)
    if whole == count:
        return np.asarray(found)
    rest = function.reduce(part[(slice(None),) * axis + (slice(whole, None),)], axis=axis)
    return np.concatenate([found, np.expand_dims(rest, axis)], axis=axis)


def _inside(pick: Pick, size: int) -> bool:
    if pick.count == 0:
        return True
    last = pick.start + pick.step * (pick.count - 1)
    return pick.step != 0 and 0 <= pick.start < size and 0 <= last < size
