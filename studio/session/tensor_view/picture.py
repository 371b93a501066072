"""Turns a frame into a picture of coloured cells, with marks and written values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Shape
from studio.engine.runtime.live_sheet import HAS_MINUS, HAS_NAN, HAS_PLUS, Sheet, Tile
from studio.engine.runtime.live_statistics import Statistics
from studio.session.live.frames import Frame
from studio.session.tensor_view.colours import (
    EMPTY,
    MINUS,
    NAN,
    OVER,
    PLUS,
    STEPS,
    UNDER,
    Choice,
    ColourRange,
    coloured,
    palette,
)
from studio.session.tensor_view.layout import SheetLayout
from studio.session.tensor_view.view_state import ViewState

Pixels: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int32]

NUMBER_CELL = 26.0
"""Pixels from which on a cell has its number written in it."""
MARK_CELL = 6.0
"""Pixels from which on marks are drawn in a cell, instead of filling it."""
MOST_MARKS = 20_000
"""Cells marked one by one at most; more look the same in their colour alone."""


@dataclass(frozen=True)
class CellMark:
    """A cell that is drawn with a sign: NaN, infinite or out of range.

    Attributes:
        row: of the picture.
        column: of the picture.
        kind: its entry of the palette: `NAN`, `PLUS`, `MINUS`, `UNDER` or `OVER`.
    """

    row: int
    column: int
    kind: int


@dataclass(frozen=True, eq=False)
class Picture:
    """Cells and what they are, one pixel a cell; tiles are placed, gaps are empty.

    Attributes:
        pixels: [rows, columns, 4].
        kinds: for each cell its entry of the palette, `EMPTY` between tiles.
        sheet_layout: where it lies on the view.
        tile: the numbers behind it.
        over: cells above the range.
        under: cells below it.
    """

    pixels: Pixels
    kinds: Numbers
    sheet_layout: SheetLayout
    tile: Tile
    over: int
    under: int

    @property
    def rows(self) -> int:
        """Rows of cells, gaps included."""
        return int(self.pixels.shape[0])

    @property
    def columns(self) -> int:
        """Columns of cells, gaps included."""
        return int(self.pixels.shape[1])

    def marks(self) -> list[CellMark]:
        """Cells to mark one by one; none where there are too many or they are too small."""
        if self.sheet_layout.cell < MARK_CELL:
            return []
        rows, columns = np.nonzero(self.kinds > EMPTY)
        if len(rows) > MOST_MARKS:
            return []
        kinds = self.kinds[rows, columns]
        return [
            CellMark(int(r), int(c), int(k)) for r, c, k in zip(rows, columns, kinds, strict=True)
        ]

    @property
    def has_numbers(self) -> bool:
        """Whether cells are large enough to write their numbers in."""
        exact = self.tile.values is not None and self.tile.values.shape[-1] == 1
        return exact and self.sheet_layout.cell >= NUMBER_CELL

    def number_at(self, tile: int, row: int, column: int, digits: int = 3) -> str:
        """The number to write in a cell, with at most so many digits; as short as can be with 0."""
        values = self.tile.values
        if values is None:
            return ""
        value = values[tile, row, column, 0]
        return short_number(value, digits) if digits else tight_number(value)


def make_picture(
    tile: Tile,
    sheet_layout: SheetLayout,
    colours: ColourRange,
    empty: tuple[int, int, int],
    choice: Choice,
) -> Picture:
    """Colour a tile and put its tiles where they belong."""
    table = palette(colours.map_name, empty)
    pixels, kinds = coloured(tile, colours.low, colours.high, table, choice)
    if sheet_layout.cell >= MARK_CELL:
        # Clipped cells keep the end of the map; a corner of theirs is marked.
        for kind, end in ((UNDER, 0), (OVER, STEPS - 1)):
            pixels[kinds == kind] = table[end]
    under, over = int((kinds == UNDER).sum()), int((kinds == OVER).sum())
    tiles, rows, columns = kinds.shape
    gap = sheet_layout.gap
    down = ceil(tiles / sheet_layout.across) if tiles else 0
    height = max(0, down * (rows + gap) - gap)
    width = max(0, min(sheet_layout.across, max(tiles, 1)) * (columns + gap) - gap)
    whole = np.empty((height, width, 4), np.uint8)
    whole[:] = table[EMPTY]
    all_kinds = np.full((height, width), EMPTY, np.int32)
    for number in range(tiles):
        level, side = divmod(number, sheet_layout.across)
        top, left = level * (rows + gap), side * (columns + gap)
        whole[top : top + rows, left : left + columns] = pixels[number]
        all_kinds[top : top + rows, left : left + columns] = kinds[number]
    return Picture(whole, all_kinds, sheet_layout, tile, over, under)


@dataclass(frozen=True)
class TileKey:
    """All that a picture depends on besides its numbers.

    Attributes:
        sheet_layout: where it lies on the view.
        colours: the range of colours.
        choice: what stands for a cell of many elements.
        empty: the colour of where nothing is.
    """

    sheet_layout: SheetLayout
    colours: ColourRange
    choice: Choice
    empty: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class RenderedTile:
    """A picture, and what it was painted for."""

    key: TileKey
    picture: Picture


def paint(tile: Tile, key: TileKey) -> RenderedTile:
    """The picture of a tile."""
    made = make_picture(tile, key.sheet_layout, key.colours, key.empty, key.choice)
    return RenderedTile(key, made)


@dataclass(frozen=True)
class Bar:
    """One bar of a vector.

    Attributes:
        low: least element it stands for, NaN without a finite one.
        high: greatest.
        kind: `NAN`, `PLUS`, `MINUS` where it holds such an element, else 0.
    """

    low: float
    high: float
    kind: int


def bars_of(tile: Tile) -> list[Bar]:
    """The bars of a vector's tile, from left to right."""
    marks = tile.marks.reshape(-1)
    kinds = np.zeros(marks.shape, np.int32)
    for bit, kind in ((HAS_MINUS, MINUS), (HAS_PLUS, PLUS), (HAS_NAN, NAN)):
        kinds[(marks & bit) != 0] = kind
    found = zip(tile.low.reshape(-1).tolist(), tile.high.reshape(-1).tolist(), kinds, strict=True)
    return [Bar(low, high, int(kind)) for low, high, kind in found]


def short_number(value: Any, digits: int = 3) -> str:
    """A number with that many digits; whole numbers are written out."""
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        return str(int(array))
    if array.dtype.kind == "b":
        return "1" if bool(array) else "0"
    number = float(array)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "\N{MINUS SIGN}Inf"
    text = f"{number:.{digits}g}" if abs(number) < 1e4 else f"{number:.{min(digits, 2)}g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def tight_number(value: Any) -> str:
    """A number in as little room as there can be, to one digit: ``5e-3``."""
    plain, number = short_number(value, 1), float(np.asarray(value))
    if not math.isfinite(number) or number == 0.0:
        return plain
    mantissa, _, exponent = f"{number:.0e}".partition("e")
    text = f"{mantissa}e{int(exponent)}"
    text = text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text
    return min(plain, text, key=len)


def exact_number(value: Any) -> str:
    """The shortest text that is read back as exactly this element."""
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        return str(int(array))
    number = float(array)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    kind = array.dtype.type if array.dtype.kind == "f" else np.float32
    return str(kind(number))


class TileRenderer:
    """The newest picture of a view; most are coloured on their way, off the window's thread.

    Args:
        wanted: layout, colours and what stands for a cell of many elements, as the view wants them
            now; asked on any thread.
        empty: the colour of where nothing is; asked on the window's thread.
    """

    def __init__(
        self,
        wanted: Callable[[], tuple[ViewState, ColourRange, Choice]],
        empty: Callable[[], tuple[int, int, int]],
    ) -> None:
        self._wanted = wanted
        self._empty = empty
        self._ground = empty()
        self._last: RenderedTile | None = None

    def forget(self) -> None:
        """Another tensor is shown."""
        self._last = None

    def on_the_way(
        self, shape: Shape, statistics: Statistics | None, tiles: Mapping[Sheet, Tile]
    ) -> RenderedTile | None:
        """Colour a frame as it will most likely be shown; on any thread."""
        view_state, colours, choice = self._wanted()
        sheet_layout = view_state.sheet_layout(shape)
        tile = tiles.get(sheet_layout.sheet)
        if tile is None:
            return None
        if statistics is not None:
            colours = colours.seen(statistics)
        return paint(tile, TileKey(sheet_layout, colours, choice, self._ground))

    def of(self, frame: Frame, sheet_layout: SheetLayout | None) -> Picture | None:
        """The picture of a frame, coloured now only where that has not been done as it is wanted.

        Until the picture of a new layout has come, that of the layout before stays. None while the
        device draws.
        """
        tile = frame.tile
        if tile is None or sheet_layout is None or sheet_layout.sheet != tile.sheet:
            last = self._last
            same = last is not None and last.picture.tile.sheet.shape == frame.snapshot.shape
            return last.picture if last is not None and same else None
        self._ground = self._empty()
        _, colours, choice = self._wanted()
        key = TileKey(sheet_layout, colours, choice, self._ground)
        for made in (frame.painted, self._last):
            if isinstance(made, RenderedTile) and made.picture.tile is tile and made.key == key:
                self._last = made
                return made.picture
        self._last = paint(tile, key)
        return self._last.picture
