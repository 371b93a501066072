"""The element a tensor view points at: by pixel, arrow key, typed index, or from another view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from studio.engine.core.errors import ParameterError
from studio.engine.core.signal import Signal
from studio.engine.core.tensor import Shape
from studio.session.live.frames import Frame
from studio.session.tensor_view.layout import SheetLayout
from studio.session.tensor_view.slices import parse_index

Index = tuple[int, ...]


class LinkedCursor:
    """The element pointed at last, by shape."""

    def __init__(self) -> None:
        self.picked: Signal[[Shape, tuple[int, ...], object]] = Signal()
        self._last: dict[Shape, tuple[int, ...]] = {}

    def pick(self, shape: Shape, index: tuple[int, ...], source: object) -> None:
        """Point at an element; views of the same shape hear it, `source` among them."""
        if self._last.get(shape) != index:
            self._last[shape] = index
            self.picked.emit(shape, index, source)

    def of(self, shape: Shape) -> tuple[int, ...] | None:
        """What is pointed at in views of a shape."""
        return self._last.get(shape)


class Pointing:
    """One view's pointer; used on the window's thread.

    Args:
        frame: the numbers of the picture that is pointed into.
        sheet_layout: where its sheet lies on the view.
        picks: the element pointed at in all views; only in this one without.
        reveal: brings an element into sight that is not on the sheet.
    """

    def __init__(
        self,
        frame: Callable[[], Frame | None],
        sheet_layout: Callable[[], SheetLayout | None],
        picks: LinkedCursor | None,
        reveal: Callable[[Index], object],
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.index: Index | None = None
        self._frame = frame
        self._sheet_layout = sheet_layout
        self._picks = picks or LinkedCursor()
        self._reveal = reveal
        self._picks.picked.connect(self._picked_elsewhere)

    @property
    def _shape(self) -> Shape | None:
        frame = self._frame()
        return None if frame is None else frame.snapshot.shape

    @property
    def value(self) -> Any:
        """The element pointed at, exactly as stored; None until it has been read."""
        frame, index = self._frame(), self.index
        if frame is None or index is None:
            return None
        if frame.place == index:
            return frame.value
        tile = frame.tile
        place = None if tile is None else tile.sheet.place(index)
        if tile is None or tile.values is None or place is None:
            return None
        return tile.values[place]

    def forget(self) -> None:
        """Another tensor is shown: point at nothing."""
        self.index = None

    def adopt(self) -> None:
        """Point where views of the same shape do, unless something is pointed at already."""
        shape = self._shape
        if self.index is None and shape is not None:
            shared = self._picks.of(shape)
            if shared is not None:
                self._set(shared)

    def at(self, x: float, y: float) -> None:
        """Point at the element under a pixel; beside the cells at none."""
        sheet_layout = self._sheet_layout()
        cell = None if sheet_layout is None else sheet_layout.hit(x, y)
        if sheet_layout is None or cell is None:
            self.set(None)
            return
        tile, row, column = cell
        down, across = sheet_layout.sheet.block
        self.set(sheet_layout.sheet.index(tile, row * down, column * across))

    def set(self, index: Index | None) -> None:
        """Point at an element in all views of this shape."""
        self._set(index)
        shape = self._shape
        if index is not None and shape is not None:
            self._picks.pick(shape, index, self)

    def nudge(self, right: int, down: int) -> None:
        """Move by cells; begins in the corner."""
        sheet_layout = self._sheet_layout()
        if sheet_layout is None or sheet_layout.sheet.empty:
            return
        place = None if self.index is None else sheet_layout.sheet.place(self.index)
        if place is None:
            self.set(sheet_layout.sheet.index(0, 0, 0))
            return
        tile, row, column, _ = place
        block_rows, block_columns = sheet_layout.sheet.block
        rows, columns = sheet_layout.cells
        row = min(max(row // block_rows + down, 0), rows - 1) * block_rows
        column = min(max(column // block_columns + right, 0), columns - 1) * block_columns
        self.set(sheet_layout.sheet.index(tile, row, column))

    def go_to(self, text: str) -> None:
        """Point at the element of a typed index, and bring it into sight.

        Raises:
            ParameterError: it is no index of the tensor.
        """
        shape = self._shape
        if shape is None:
            raise ParameterError("no tensor is shown", who="tensor view")
        index = parse_index(text, shape)
        sheet_layout = self._sheet_layout()
        if sheet_layout is not None and sheet_layout.sheet.place(index) is None:
            self._reveal(index)
        self.set(index)

    def _set(self, index: Index | None) -> None:
        if index != self.index:
            self.index = index
            self.changed.emit()

    def _picked_elsewhere(self, shape: Shape, index: Index, source: object) -> None:
        if source is not self and shape == self._shape:
            self._set(index)
