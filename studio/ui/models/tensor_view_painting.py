"""The pictures of one view: most are coloured on their way, so that the window need not wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from studio.engine.core.tensor import Shape
from studio.engine.runtime.live_sheet import Sheet, Tile
from studio.engine.runtime.live_statistics import Statistics
from studio.ui.models.live_frames import Frame
from studio.ui.models.tensor_view_colours import Choice
from studio.ui.models.tensor_view_layout import Placed
from studio.ui.models.tensor_view_look import Look
from studio.ui.models.tensor_view_picture import Painted, PaintKey, Picture, paint
from studio.ui.models.tensor_view_range import ColourRange


class Painter(Protocol):
    """How a view wants its pictures; read on any thread."""

    look: Look
    colours: ColourRange
    choice: Choice


class Painting:
    """The newest picture of a view.

    Args:
        view: how it wants its pictures.
        empty: the colour of where nothing is; asked on the window's thread.
    """

    def __init__(self, view: Painter, empty: Callable[[], tuple[int, int, int]]) -> None:
        self._view = view
        self._empty = empty
        self._ground = empty()
        self._last: Painted | None = None

    def forget(self) -> None:
        """Another tensor is shown."""
        self._last = None

    def on_the_way(
        self, shape: Shape, statistics: Statistics | None, tiles: Mapping[Sheet, Tile]
    ) -> Painted | None:
        """Colour a frame as it will most likely be shown; on any thread."""
        placed, colours = self._view.look.placed(shape), self._view.colours
        tile = tiles.get(placed.sheet)
        if tile is None:
            return None
        if statistics is not None:
            colours = colours.seen(statistics)
        return paint(tile, PaintKey(placed, colours, self._view.choice, self._ground))

    def of(self, frame: Frame, placed: Placed | None) -> Picture | None:
        """The picture of a frame, coloured now only where that has not been done as it is wanted.

        Until the picture of a new layout has come, that of the layout before stays. None while the
        device draws.
        """
        tile = frame.tile
        if tile is None or placed is None or placed.sheet != tile.sheet:
            last = self._last
            same = last is not None and last.picture.tile.sheet.shape == frame.snapshot.shape
            return last.picture if last is not None and same else None
        self._ground = self._empty()
        key = PaintKey(placed, self._view.colours, self._view.choice, self._ground)
        for made in (frame.painted, self._last):
            if isinstance(made, Painted) and made.picture.tile is tile and made.key == key:
                self._last = made
                return made.picture
        self._last = paint(tile, key)
        return self._last.picture
