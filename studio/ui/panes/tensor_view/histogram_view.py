"""The histogram of a tensor, with two handles for the values that get the first and last colour."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.runtime.live_statistics import Statistics
from studio.session.tensor_view.colours import ColourRange, colour_map
from studio.session.tensor_view.picture import short_number
from studio.widgets import theme

_STRIP = 7
_GRIP = 5.0
_REACH = 9.0
_ROOM = 0.06
"""Part of the width left beside the values, so that a handle can be dragged out."""


class HistogramView(QWidget):
    """Shows where the values lie; its handles move the range of colours."""

    low_moved = Signal(float)
    high_moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_histogram")
        self.setAccessibleName("Histogram and range of colours")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self._statistics: Statistics | None = None
        self._colours = ColourRange()
        self._dragged = ""

    def show_values(self, statistics: Statistics | None, colours: ColourRange) -> None:
        """Show these values and this range."""
        if (statistics, colours) == (self._statistics, self._colours):
            return
        self._statistics, self._colours = statistics, colours
        self.setToolTip(
            "" if statistics is None else
            f"Colours from {short_number(colours.low)} to {short_number(colours.high)}. "
            "Drag the handles; W fits them once"
        )  # fmt: skip
        self.update()

    def position_of(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self._span()
        return (value - low) / (high - low) * self.width()

    def value_at(self, x: float) -> float:
        """The value of a pixel."""
        low, high = self._span()
        return low + x / max(1, self.width()) * (high - low)

    def sizeHint(self) -> QSize:
        return QSize(200, 54)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 54)

    # -- events ---------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour("field"))
        if self._statistics is not None and self._statistics.finite:
            self._paint_bins(painter, self._statistics)
            self._paint_strip(painter)
            for value in (self._colours.low, self._colours.high):
                self._paint_handle(painter, self.position_of(value))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._statistics is not None:
            self._dragged = self._handle_at(event.position().x())
            self._drag(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        over = bool(self._handle_at(event.position().x()))
        self.setCursor(Qt.CursorShape.SplitHCursor if over else Qt.CursorShape.ArrowCursor)
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._drag(event.position().x())

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        self._dragged = ""

    # -- inside ---------------------------------------------------------------------------------

    def _span(self) -> tuple[float, float]:
        """Values at the edges: all that are there, both handles, and some room."""
        found = self._statistics
        ends = [self._colours.low, self._colours.high]
        if found is not None and found.finite:
            ends += [found.low, found.high]
        ends = [end for end in ends if math.isfinite(end)] or [0.0, 1.0]
        low, high = min(ends), max(ends)
        room = (high - low) * _ROOM or abs(high) * _ROOM or 1.0
        return low - room, high + room

    def _handle_at(self, x: float) -> str:
        if self._statistics is None:
            return ""
        low = abs(x - self.position_of(self._colours.low))
        high = abs(x - self.position_of(self._colours.high))
        if min(low, high) > _REACH:
            return ""
        return "low" if low < high else "high"

    def _drag(self, x: float) -> None:
        value = self.value_at(min(max(x, 0.0), float(self.width())))
        if self._dragged == "low":
            self.low_moved.emit(value)
        elif self._dragged == "high":
            self.high_moved.emit(value)

    def _paint_bins(self, painter: QPainter, found: Statistics) -> None:
        most = max(found.histogram) or 1
        tall = self.height() - _STRIP - 6
        left, right = self.position_of(found.low), self.position_of(found.high)
        wide = max((right - left) / len(found.histogram), 1.0)
        painter.setPen(Qt.PenStyle.NoPen)
        colour = theme.colour("text3")
        for number, count in enumerate(found.histogram):
            if not count:
                continue
            # The root shows rare values beside common ones; every bin with any is seen.
            height = max(1.0, math.sqrt(count / most) * tall)
            painter.fillRect(
                QRectF(left + number * wide, 4 + tall - height, max(1.0, wide - 0.5), height),
                colour,
            )

    def _paint_strip(self, painter: QPainter) -> None:
        """The colours, where they are, under the bins."""
        low, high = self.position_of(self._colours.low), self.position_of(self._colours.high)
        table = colour_map(self._colours.map_name)
        top = float(self.height() - _STRIP)
        line = np.full((1, 256, 4), 255, np.uint8)
        line[0, :, :3] = table
        image = QImage(line.data, 256, 1, 1024, QImage.Format.Format_RGBA8888)
        painter.drawImage(QRectF(low, top, max(1.0, high - low), _STRIP), image)
        for begin, end, k in ((0.0, low, 0), (high, float(self.width()), 255)):
            if end > begin:
                ends = line[:, k : k + 1].copy()
                painter.drawImage(
                    QRectF(begin, top, end - begin, _STRIP),
                    QImage(ends.data, 1, 1, 4, QImage.Format.Format_RGBA8888),
                )

    def _paint_handle(self, painter: QPainter, x: float) -> None:
        bottom = float(self.height() - _STRIP)
        painter.setPen(QPen(theme.colour("accent"), 1))
        painter.drawLine(QPointF(x, 2), QPointF(x, bottom))
        painter.setBrush(theme.colour("accent"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.drawPolygon(
            QPolygonF([QPointF(x - _GRIP, 0), QPointF(x + _GRIP, 0), QPointF(x, 2 * _GRIP)])
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
