"""How a tensor of any rank is laid out: which axis runs where, and how large a cell is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, TypeAlias

from studio.engine.core.tensor import Shape
from studio.engine.runtime.live_sheet import Pick, Sheet
from studio.session.tensor_view.slices import Slicing

Kind: TypeAlias = Literal["number", "bars", "map", "tiles", "colour"]

GAP = 1
"""Cells between tiles."""
LARGEST_CELL = 48.0
SMALLEST_TILE = 7
"""Pixels a tile takes at least, with its gap; what does not fit is on the next page."""
MOST_TILES = 4096


@dataclass(frozen=True)
class Layout:
    """The part every axis plays.

    Attributes:
        kind: what the picture is.
        tiles: the axis shown side by side, or None.
        rows: the axis that runs down, or None.
        columns: the axis that runs across, or None.
        channels: the axis of red, green and blue, or None.
        sliders: axes of which one index is shown at a time.
    """

    kind: Kind
    tiles: int | None = None
    rows: int | None = None
    columns: int | None = None
    channels: int | None = None
    sliders: tuple[int, ...] = ()


def layout_of(
    shape: Shape, slicing: Slicing, *, weights: bool = False, colour: bool = False
) -> Layout:
    """The usual layout of what a slicing leaves of a tensor.

    Args:
        weights: a kernel [height, width, in, out], not samples [N, height, width, channels].
        colour: three channels at the end are red, green and blue.
    """
    free = slicing.free
    if not free:
        return Layout("number")
    if len(free) == 1:
        return Layout("bars", columns=free[0])
    if len(free) == 2:
        return Layout("map", rows=free[0], columns=free[1])
    coloured = colour and slicing.picks[free[-1]].count == 3
    if len(free) == 3:
        if coloured:
            return Layout("colour", rows=free[0], columns=free[1], channels=free[2])
        if weights:
            return Layout("tiles", tiles=free[2], rows=free[0], columns=free[1])
        return Layout("tiles", tiles=free[0], rows=free[1], columns=free[2])
    *front, rows, columns, last = free
    if weights:
        front, rows, columns, last = [free[-2], *free[2:-2]], free[0], free[1], free[-1]
        return Layout("tiles", last, rows, columns, None, tuple(sorted(front)))
    if coloured:
        return Layout("colour", front[0], rows, columns, last, tuple(front[1:]))
    if shape[last] == 1:
        return Layout("tiles", front[0], rows, columns, None, (*front[1:], last))
    return Layout("tiles", last, rows, columns, None, tuple(front))


@dataclass(frozen=True)
class Region:
    """The part of a tile that is looked at, in elements: first row and column, and how many."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True)
class SheetLayout:
    """A sheet on a view of pixels.

    Attributes:
        sheet: what is shown.
        across: tiles in a row of tiles.
        left: pixel where it begins.
        top: pixel where it begins.
        cell: pixels of a cell.
        pages: how many pages of tiles there are.
        first: number of the first tile of this page.
    """

    sheet: Sheet
    across: int
    left: float
    top: float
    cell: float
    pages: int = 1
    first: int = 0

    @property
    def tiles(self) -> int:
        """Tiles on this page."""
        return 1 if self.sheet.tiles is None else self.sheet.picks[self.sheet.tiles].count

    @property
    def cells(self) -> tuple[int, int]:
        """Rows and columns of cells in a tile."""
        return (
            ceil(_count(self.sheet, self.sheet.rows) / self.sheet.block[0]),
            ceil(_count(self.sheet, self.sheet.columns) / self.sheet.block[1]),
        )

    @property
    def gap(self) -> int:
        """Cells between tiles; none where there is one tile."""
        return GAP if self.tiles > 1 else 0

    def tile_at(self, tile: int) -> tuple[float, float]:
        """Left and top pixel of a tile."""
        rows, columns = self.cells
        down, side = divmod(tile, self.across)
        return (
            self.left + side * (columns + self.gap) * self.cell,
            self.top + down * (rows + self.gap) * self.cell,
        )

    def hit(self, x: float, y: float) -> tuple[int, int, int] | None:
        """Tile, and row and column of the cell at a pixel; None beside the cells."""
        rows, columns = self.cells
        across, down = (x - self.left) / self.cell, (y - self.top) / self.cell
        if across < 0 or down < 0 or not rows or not columns:
            return None
        side, column = divmod(int(across), columns + self.gap)
        level, row = divmod(int(down), rows + self.gap)
        tile = level * self.across + side
        if side >= self.across or tile >= self.tiles or row >= rows or column >= columns:
            return None
        return tile, row, column


def place(
    shape: Shape,
    slicing: Slicing,
    layout: Layout,
    size: tuple[float, float],
    *,
    positions: Mapping[int, int] | None = None,
    page: int = 0,
    region: Region | None = None,
) -> SheetLayout:
    """Fit a layout into a view.

    Where elements are smaller than a pixel, a cell stands for a block of them.

    Args:
        slicing: which indices of it.
        size: pixels of the view.
        positions: the place of each slider among the indices of its axis.
        region: the part of a single tile that is looked at.
    """
    width, height = max(size[0], 1.0), max(size[1], 1.0)
    picks = list(slicing.picks)
    for axis in layout.sliders:
        picks[axis] = _single(picks[axis], (positions or {}).get(axis, 0))
    if region is not None:
        _narrow(picks, layout.rows, region.row, region.rows)
        _narrow(picks, layout.columns, region.column, region.columns)
    rows = 1 if layout.rows is None else picks[layout.rows].count
    columns = 1 if layout.columns is None else picks[layout.columns].count
    pages, first = 1, 0
    if layout.tiles is not None:
        fitting = int(width // SMALLEST_TILE) * int(height // SMALLEST_TILE)
        most = max(1, min(MOST_TILES, fitting))
        whole = picks[layout.tiles]
        pages = max(1, ceil(whole.count / most))
        first = min(max(page, 0), pages - 1) * most
        picks[layout.tiles] = Pick(
            whole.start + first * whole.step if whole.count else 0,
            whole.step,
            max(0, min(most, whole.count - first)),
        )
    tiles = 1 if layout.tiles is None else picks[layout.tiles].count
    sheet = Sheet(
        shape, tuple(picks), layout.tiles, layout.rows, layout.columns, layout.channels
    )  # fmt: skip
    if layout.kind == "bars":
        block = max(1, ceil(columns / width))
        cells = ceil(columns / block) or 1
        return SheetLayout(sheet.with_block(1, block), 1, 0.0, 0.0, width / cells)
    sheet_layout = _fitted(sheet, (rows, columns, tiles), (width, height), pages)
    return replace(sheet_layout, first=first)


def _fitted(
    sheet: Sheet, counts: tuple[int, int, int], size: tuple[float, float], pages: int
) -> SheetLayout:
    rows, columns, tiles = counts
    if not rows or not columns or not tiles:
        return SheetLayout(sheet, 1, 0.0, 0.0, 1.0, pages)
    gap = GAP if tiles > 1 else 0
    across, cell = _best_grid(rows + gap, columns + gap, tiles, size, gap)
    block = 1
    if cell < 1:
        block = ceil(1 / cell)
        # Gaps are not made smaller with the elements, so the first guess may not fit.
        while block < max(rows, columns):
            cells = (ceil(rows / block) + gap, ceil(columns / block) + gap)
            across, cell = _best_grid(*cells, tiles, size, gap)
            if cell >= 1:
                break
            block += max(1, block // 16)
    cell = min(LARGEST_CELL, cell)
    cell = float(int(cell)) if cell >= 1 else cell
    down, side = ceil(rows / block) + gap, ceil(columns / block) + gap
    wide = (side * min(across, tiles) - gap) * cell
    tall = (down * ceil(tiles / across) - gap) * cell
    left = max(0.0, float(int((size[0] - wide) / 2)))
    top = max(0.0, float(int((size[1] - tall) / 2)))
    return SheetLayout(sheet.with_block(block, block), across, left, top, cell, pages)


def _best_grid(
    rows: int, columns: int, tiles: int, size: tuple[float, float], gap: int
) -> tuple[int, float]:
    """How many tiles to a row make cells largest, and how large."""
    best = (1, 0.0)
    for across in _candidates(rows, columns, tiles, size):
        down = ceil(tiles / across)
        cell = min(size[0] / (columns * across - gap), size[1] / (rows * down - gap))
        if cell > best[1] + 1e-9:
            best = (across, cell)
    return best


def _candidates(rows: int, columns: int, tiles: int, size: tuple[float, float]) -> Sequence[int]:
    """Numbers of tiles to a row worth trying: those near the shape of the view."""
    ideal = (tiles * rows * size[0] / (columns * size[1])) ** 0.5
    low, high = max(1, int(ideal * 0.6)), min(tiles, int(ideal * 1.6) + 2)
    return range(low, high + 1) if low <= high else (tiles,)


def _single(pick: Pick, at: int) -> Pick:
    if not pick.count:
        return pick
    return Pick(pick.start + pick.step * min(max(at, 0), pick.count - 1), 1, 1)


def _narrow(picks: list[Pick], axis: int | None, first: int, count: int) -> None:
    if axis is None:
        return
    pick = picks[axis]
    begin = min(max(first, 0), max(pick.count - 1, 0))
    left = max(0, min(count, pick.count - begin))
    picks[axis] = Pick(pick.start + begin * pick.step if left else 0, pick.step, left)


def _count(sheet: Sheet, axis: int | None) -> int:
    return 1 if axis is None else sheet.picks[axis].count
