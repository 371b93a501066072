"""Zoom and pan of the memory picture: program order along x, bytes of the arena up y."""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF

from studio.session.listing.tensor_map.memory_picture import Box

LARGEST_ROW = 160.0
"""Pixels an instruction is wide at most."""

LEAST_BYTES = 256
"""Bytes the picture is high at least."""


@dataclass
class Axes:
    """Turns rows and bytes into places on the screen.

    Attributes:
        rows: instructions in all.
        nbytes: bytes of the arena.
        area: where the picture is drawn.
        left: row at the left edge.
        shown_rows: rows between the edges.
        bottom: byte at the lower edge.
        shown_bytes: bytes between the edges.
    """

    rows: int = 0
    nbytes: int = 0
    area: QRectF = field(default_factory=QRectF)
    left: float = 0.0
    shown_rows: float = 1.0
    bottom: float = 0.0
    shown_bytes: float = 1.0

    def fit(self) -> None:
        self.left, self.shown_rows = 0.0, max(float(self.rows), 1.0)
        self.bottom, self.shown_bytes = 0.0, max(float(self.nbytes), 1.0)

    @property
    def is_fitted(self) -> bool:
        return self.shown_rows >= self.rows and self.shown_bytes >= self.nbytes

    @property
    def row_width(self) -> float:
        """Pixels an instruction is wide."""
        return self.area.width() / self.shown_rows

    @property
    def byte_height(self) -> float:
        """Pixels a byte is high."""
        return self.area.height() / self.shown_bytes

    def x_of(self, row: float) -> float:
        """Where the left edge of a row is."""
        return self.area.left() + (row - self.left) * self.row_width

    def y_of(self, byte: float) -> float:
        """Where a byte is; the arena begins at the bottom."""
        return self.area.bottom() - (byte - self.bottom) * self.byte_height

    def row_at(self, x: float) -> float:
        """The row at a place, with its part."""
        return self.left + (x - self.area.left()) / self.row_width

    def byte_at(self, y: float) -> float:
        """The byte at a place."""
        return self.bottom + (self.area.bottom() - y) / self.byte_height

    def rect_of(self, box: Box) -> QRectF:
        """Where a box is drawn."""
        left, right = self.x_of(box.first), self.x_of(box.last + 1)
        top, bottom = self.y_of(box.end), self.y_of(box.offset)
        return QRectF(left, top, right - left, bottom - top)

    def zoom(self, at: QPointF, across: float, up: float) -> None:
        """Zoom about a place.

        Args:
            at: stays where it is.
            across: factor along the program, above 1 for closer.
            up: factor along the arena.
        """
        row, byte = self.row_at(at.x()), self.byte_at(at.y())
        least = self.area.width() / LARGEST_ROW
        self.shown_rows = min(max(self.shown_rows / across, least), max(self.rows, 1))
        self.shown_bytes = min(max(self.shown_bytes / up, LEAST_BYTES), max(self.nbytes, 1))
        self.left = row - (at.x() - self.area.left()) / self.row_width
        self.bottom = byte - (self.area.bottom() - at.y()) / self.byte_height
        self.hold()

    def pan(self, dx: float, dy: float) -> None:
        """Move what is shown by pixels."""
        self.left -= dx / self.row_width
        self.bottom += dy / self.byte_height
        self.hold()

    def show_box(self, box: Box) -> None:
        """Bring a box into sight, in the middle third unless it is there already."""
        rect = self.rect_of(box)
        if rect.left() < self.area.left() or rect.right() > self.area.right():
            self.left = (box.first + box.last + 1) / 2 - self.shown_rows / 2
        if rect.top() < self.area.top() or rect.bottom() > self.area.bottom():
            self.bottom = (box.offset + box.end) / 2 - self.shown_bytes / 2
        self.hold()

    def hold(self) -> None:
        """Keep within the program and the arena."""
        self.left = min(max(self.left, 0.0), max(self.rows - self.shown_rows, 0.0))
        self.bottom = min(max(self.bottom, 0.0), max(self.nbytes - self.shown_bytes, 0.0))
