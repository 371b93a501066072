"""The view state of a tensor: slice, sliders, page, zoom; plain data, used on any thread."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Shape
from studio.engine.runtime.live_sheet import Sheet
from studio.session.tensor_view.layout import (
    Kind,
    Layout,
    Region,
    SheetLayout,
    layout_of,
    place,
)
from studio.session.tensor_view.slices import Slicing, parse_slicing

SMALLEST = 2
"""Rows or columns left at the closest."""

if TYPE_CHECKING:
    from collections.abc import Mapping

_NONE: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True)
class Slider:
    """An axis of which one index is shown.

    Attributes:
        axis: of the tensor.
        at: which of the indices taken.
        count: how many are taken.
    """

    axis: int
    at: int
    count: int


@dataclass(frozen=True)
class ViewState:
    """The settings of one view.

    Attributes:
        text: the slice as typed.
        weights: a kernel rather than samples.
        colour: three channels at the end are red, green and blue.
        channel: the one index of the last axis that is shown, or None for all.
        tile: the one tile that is shown, or None for all.
        positions: places of the sliders, by axis.
        page: page of tiles.
        region: the part of a tile that is looked at.
        size: pixels of the view.
    """

    text: str = ""
    weights: bool = False
    colour: bool = False
    channel: int | None = None
    tile: int | None = None
    positions: Mapping[int, int] = field(default_factory=lambda: _NONE)
    page: int = 0
    region: Region | None = None
    size: tuple[float, float] = (256.0, 256.0)

    def slicing(self, shape: Shape) -> Slicing:
        """The indices taken, the channel among them.

        Raises:
            ParameterError: the typed slice does not fit the shape.
        """
        found = parse_slicing(self.text, shape)
        if self.channel is not None and found.free:
            found = _fixed(found, found.free[-1], self.channel)
        return found

    def layout(self, shape: Shape) -> tuple[Slicing, Layout]:
        """What is taken, and which axis runs where; as if nothing was typed where that is wrong."""
        try:
            slicing = self.slicing(shape)
        except ParameterError:
            slicing = replace(self, text="").slicing(shape)
        layout = layout_of(shape, slicing, weights=self.weights, colour=self.colour)
        if self.tile is not None and layout.tiles is not None:
            kind: Kind = "map" if layout.channels is None else "colour"
            sliders = tuple(sorted((*layout.sliders, layout.tiles)))
            layout = replace(layout, kind=kind, tiles=None, sliders=sliders)
        return slicing, layout

    def sheet_layout(self, shape: Shape) -> SheetLayout:
        """The sheet for a tensor of a shape, put on the view."""
        slicing, layout = self.layout(shape)
        return place(
            shape, slicing, layout, self.size, positions=self._positions(shape), page=self.page,
            region=self.region,
        )  # fmt: skip

    def sheets(self, shape: Shape) -> tuple[Sheet, ...]:
        """The one sheet of the view."""
        return (self.sheet_layout(shape).sheet,)

    def sliders(self, shape: Shape) -> tuple[Slider, ...]:
        """A slider for each axis of which one index is shown."""
        slicing, layout = self.layout(shape)
        positions = self._positions(shape)
        found = []
        for axis in layout.sliders:
            count = slicing.picks[axis].count
            at = min(max(positions.get(axis, 0), 0), max(count - 1, 0))
            found.append(Slider(axis, at, count))
        return tuple(found)

    def _positions(self, shape: Shape) -> Mapping[int, int]:
        axis = None if self.tile is None else self.tile_axis(shape)
        if axis is None or self.tile is None:
            return self.positions
        return {**self.positions, axis: self.tile}

    def tile_axis(self, shape: Shape) -> int | None:
        """The axis whose indices are shown side by side, or of which one is by itself."""
        return replace(self, tile=None).layout(shape)[1].tiles

    def with_position(self, axis: int, at: int, shape: Shape) -> ViewState:
        """The same with a slider moved."""
        if self.tile is not None and axis == self.tile_axis(shape):
            return replace(self, tile=at)
        return replace(self, positions=MappingProxyType({**self.positions, axis: at}))


def _fixed(slicing: Slicing, axis: int, at: int) -> Slicing:
    """One index of an axis, counted among those taken."""
    pick = slicing.picks[axis]
    if not pick.count:
        return slicing
    one = pick.start + pick.step * min(max(at, 0), pick.count - 1)
    picks = list(slicing.picks)
    picks[axis] = replace(pick, start=one, step=1, count=1)
    return Slicing(tuple(picks), slicing.fixed | {axis})


def zoomed(view_state: ViewState, shape: Shape, x: float, y: float, factor: float) -> Region | None:
    """The part to look at when zoomed by a factor round a pixel; None for the whole tile.

    Of several tiles nothing is zoomed: one is looked at by itself first.
    """
    sheet_layout = view_state.sheet_layout(shape)
    rows, columns = _whole(view_state, shape)
    if sheet_layout.tiles != 1 or rows < 1 or columns < 1 or sheet_layout.sheet.rows is None:
        return view_state.region
    now = view_state.region or Region(0, 0, rows, columns)
    down, across = sheet_layout.sheet.block
    at_row = now.row + min(
        max((y - sheet_layout.top) / sheet_layout.cell * down, 0.0), float(now.rows)
    )
    at_column = now.column + min(
        max((x - sheet_layout.left) / sheet_layout.cell * across, 0.0), float(now.columns)
    )
    # Both axes by the same factor, until one has run out.
    tall = min(rows, max(SMALLEST, round(now.rows / factor)))
    wide = min(columns, max(SMALLEST, round(now.columns / factor)))
    if tall >= rows and wide >= columns:
        return None
    row = at_row - (at_row - now.row) * tall / now.rows
    column = at_column - (at_column - now.column) * wide / now.columns
    return _inside(round(row), round(column), tall, wide, rows, columns)


def moved(view_state: ViewState, shape: Shape, right: float, down: float) -> Region | None:
    """The part to look at when what is seen is dragged by so many pixels."""
    now = view_state.region
    if now is None:
        return None
    sheet_layout = view_state.sheet_layout(shape)
    rows, columns = _whole(view_state, shape)
    block_rows, block_columns = sheet_layout.sheet.block
    return _inside(
        round(now.row - down / sheet_layout.cell * block_rows),
        round(now.column - right / sheet_layout.cell * block_columns),
        now.rows,
        now.columns,
        rows,
        columns,
    )


def _whole(view_state: ViewState, shape: Shape) -> tuple[int, int]:
    sheet = replace(view_state, region=None).sheet_layout(shape).sheet
    rows = 1 if sheet.rows is None else sheet.picks[sheet.rows].count
    columns = 1 if sheet.columns is None else sheet.picks[sheet.columns].count
    return rows, columns


def _inside(row: int, column: int, tall: int, wide: int, rows: int, columns: int) -> Region:
    return Region(
        min(max(row, 0), rows - tall), min(max(column, 0), columns - wide), tall, wide
    )  # fmt: skip
