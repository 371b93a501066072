"""The roofline drawn: kernels as dots under the roofs of the device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.engine.profiler.totals import Peaks
from studio.session.profiling.kernel_rows import KernelRow
from studio.session.profiling.roofline import (
    Range,
    RooflinePoint,
    axes,
    inside,
    points,
    ridge,
    roof,
)
from studio.widgets import binding, theme

_LEFT, _TOP, _RIGHT, _BOTTOM = 44, 12, 12, 36
_LEAST_DOT, _LARGEST_DOT = 3.0, 15.0
_REACH = 6.0
_UNIT = 60
_DRAG = 4.0
_SECTION_ROLES = {
    "data": "series.4",
    "forward": "series.0",
    "loss": "series.0",
    "backward": "series.1",
    "update": "series.2",
    "metrics": "series.5",
}


class RooflineView(QWidget):
    """Dots for kernels: how much they compute per byte, how fast.

    Attributes:
        chosen: ids of the rows in the rectangle the user drew; None when it was given up.
        clicked: id of the row whose dot was clicked.
    """

    chosen = Signal(object)
    clicked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("roofline")
        self.setAccessibleName("Roofline")
        self.setMouseTracking(True)
        self.setMinimumSize(220, 180)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self._rows: Mapping[str, KernelRow] = {}
        self._points: tuple[RooflinePoint, ...] = ()
        self._peaks: Peaks | None = None
        self._across, self._up = Range(-1, 2), Range(-1, 2)
        self._marked: frozenset[int] = frozenset()
        self._hovered = ""
        self._pressed: QPointF | None = None
        self._drawn: QRectF | None = None
        self._chosen: frozenset[str] | None = None
        binding.refresh(self, self.update, theme.changed)

    def sizeHint(self) -> QSize:
        return QSize(360, 260)

    def show_rows(self, rows: Sequence[KernelRow], peaks: Peaks | None) -> None:
        """Show these kernels under these peaks."""
        self._rows = {row.id: row for row in rows}
        self._points = points(rows, peaks)
        self._peaks = peaks
        self._across, self._up = axes(self._points, peaks)
        self.setAccessibleDescription(
            f"{len(self._points)} kernels"
            + (f" under {peaks.gflops:.3g} GFLOP/s and {peaks.gbytes:.3g} GB/s" if peaks else "")
            + (f", which may be wrong: {peaks.doubt}" if peaks and peaks.doubt else "")
        )
        self.update()

    def mark(self, marked: frozenset[int]) -> None:
        """Ring the dots of these instructions."""
        self._marked = marked
        self.update()

    def clear_choice(self) -> None:
        """Give the rectangle up."""
        self._chosen, self._drawn = None, None
        self.update()

    # -- geometry -------------------------------------------------------------------------------

    def _plot(self) -> QRectF:
        return QRectF(
            _LEFT, _TOP, max(1, self.width() - _LEFT - _RIGHT),
            max(1, self.height() - _TOP - _BOTTOM),
        )  # fmt: skip

    def place_of(self, intensity: float, gflops: float) -> QPointF:
        """Where on the widget a kernel of that intensity and speed is drawn."""
        plot = self._plot()
        across = (math.log10(intensity) - self._across.low) / (self._across.high - self._across.low)
        up = (math.log10(gflops) - self._up.low) / (self._up.high - self._up.low)
        return QPointF(plot.left() + across * plot.width(), plot.bottom() - up * plot.height())

    def _values_at(self, point: QPointF) -> tuple[float, float]:
        plot = self._plot()
        across = (point.x() - plot.left()) / plot.width()
        up = (plot.bottom() - point.y()) / plot.height()
        return (
            10 ** (self._across.low + across * (self._across.high - self._across.low)),
            10 ** (self._up.low + up * (self._up.high - self._up.low)),
        )

    def _radius(self, point: RooflinePoint) -> float:
        # Area goes with the share of the time.
        return _LEAST_DOT + (_LARGEST_DOT - _LEAST_DOT) * math.sqrt(point.share)

    def point_at(self, place: QPointF) -> RooflinePoint | None:
        """The kernel whose dot is nearest, if the pointer is on it."""
        best, best_distance = None, math.inf
        for point in self._points:
            away = self.place_of(point.intensity, point.gflops) - place
            distance = math.hypot(away.x(), away.y())
            if distance <= max(self._radius(point), _REACH) and distance < best_distance:
                best, best_distance = point, distance
        return best

    # -- pointer --------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._drawn = event.position(), None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        if self._pressed is None:
            found = self.point_at(place)
            self._hover(found.id if found is not None else "")
            return
        if self._drawn is None and (place - self._pressed).manhattanLength() < _DRAG:
            return
        self._drawn = QRectF(self._pressed, place).normalized() & self._plot()
        left, low = self._values_at(self._drawn.bottomLeft())
        right, high = self._values_at(self._drawn.topRight())
        self._chosen = inside(self._points, (left, right), (low, high))
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        self._pressed = None
        if self._drawn is not None:
            self.chosen.emit(self._chosen)
            return
        found = self.point_at(event.position())
        if found is not None:
            self.clicked.emit(found.id)
        elif self._chosen is not None:
            self.clear_choice()
            self.chosen.emit(None)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover("")
        super().leaveEvent(event)

    def _hover(self, row_id: str) -> None:
        if row_id != self._hovered:
            self._hovered = row_id
            self.update()

    # -- painting -------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        plot = self._plot()
        painter.fillRect(plot, theme.colour("canvas"))
        self._paint_axes(painter, plot)
        painter.save()
        painter.setClipRect(plot)
        self._paint_roofs(painter, plot)
        hovered = next((p for p in self._points if p.id == self._hovered), None)
        if hovered is not None:
            self._paint_drop(painter, hovered)
        # The middle of every dot lies inside: half of one at the edge would be a dot elsewhere.
        painter.setClipping(False)
        for point in sorted(self._points, key=lambda p: -p.share):
            self._paint_dot(painter, point)
        if self._drawn is not None:
            painter.setPen(QPen(theme.colour("accent"), 1, Qt.PenStyle.DashLine))
            painter.setBrush(theme.colour("accent", 30))
            painter.drawRect(self._drawn)
        painter.restore()
        if hovered is not None:
            self._paint_card(painter, hovered, plot)

    def _paint_axes(self, painter: QPainter, plot: QRectF) -> None:
        painter.setFont(theme.font("small"))
        grid = QPen(theme.colour("hairline", 110), 1)
        for power in range(self._across.low, self._across.high + 1):
            x = self.place_of(10.0**power, 10.0**self._up.low).x()
            painter.setPen(grid)
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
            painter.setPen(theme.colour("text3"))
            painter.drawText(QRectF(x - 30, plot.bottom() + 2, 60, 15), _CENTRE, _decade(power))
        for power in range(self._up.low, self._up.high + 1):
            y = self.place_of(10.0**self._across.low, 10.0**power).y()
            painter.setPen(grid)
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(theme.colour("text3"))
            painter.drawText(QRectF(0, y - 8, _LEFT - 5, 16), _RIGHT_MIDDLE, _decade(power))
        painter.setPen(theme.colour("text2"))
        painter.drawText(
            QRectF(plot.left(), plot.bottom() + 17, plot.width(), 16), _CENTRE,
            "operations per byte",
        )  # fmt: skip
        painter.drawText(QRectF(plot.left() + 5, plot.top() + 3, 120, 16), _LEFT_TOP, "GFLOP/s")

    def _paint_roofs(self, painter: QPainter, plot: QRectF) -> None:
        peaks = self._peaks
        if peaks is None:
            painter.setPen(theme.colour("text3"))
            painter.drawText(
                plot.adjusted(8, 0, -8, -6), _BOTTOM_RIGHT,
                "The device's peaks are not measured yet",
            )  # fmt: skip
            return
        low, high = 10.0**self._across.low, 10.0**self._across.high
        corner = min(max(ridge(peaks), low), high)
        painter.setPen(QPen(theme.colour("text2"), 1.5))
        painter.drawLine(self.place_of(low, roof(peaks, low)), self.place_of(corner, peaks.gflops))
        painter.drawLine(self.place_of(corner, peaks.gflops), self.place_of(high, peaks.gflops))
        painter.setFont(theme.font("small"))
        painter.setPen(theme.colour("text2"))
        text = f"{peaks.gflops:.3g} GFLOP/s"
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text)
        end = self.place_of(high, peaks.gflops)
        painter.drawText(QPointF(end.x() - wide - 4, end.y() - 4), text)
        if peaks.doubt:
            painter.setPen(theme.colour("warning"))
            room = plot.adjusted(_UNIT, 3, -5, 0)
            words = Qt.TextFlag.TextWordWrap | _TOP_RIGHT
            said = f"The roof may be wrong: {peaks.doubt}"
            metrics = QFontMetricsF(painter.font())
            if metrics.boundingRect(room, int(words), said).height() > 2.5 * metrics.height():
                said = "The roof may be wrong"
            painter.drawText(room, words, said)
            painter.setPen(theme.colour("text2"))
        start = self.place_of(low, max(roof(peaks, low), 10.0**self._up.low))
        painter.drawText(QPointF(start.x() + 24, start.y() + 4), f"{peaks.gbytes:.3g} GB/s")

    def _paint_dot(self, painter: QPainter, point: RooflinePoint) -> None:
        row = self._rows[point.id]
        place, radius = self.place_of(point.intensity, point.gflops), self._radius(point)
        section = row.section.split(", ")[0]
        colour = theme.colour(_SECTION_ROLES.get(section, "text2"))
        left_out = self._chosen is not None and point.id not in self._chosen
        colour.setAlpha(70 if left_out else 190)
        marked = bool(self._marked.intersection(row.indices))
        lit = point.id == self._hovered
        painter.setPen(
            QPen(theme.colour("text"), 2) if marked or lit else QPen(theme.colour("canvas"), 1)
        )
        painter.setBrush(colour)
        painter.drawEllipse(place, radius, radius)

    def _paint_drop(self, painter: QPainter, point: RooflinePoint) -> None:
        """The line from a kernel up to its roof: what could be gained."""
        if point.roof is None:
            return
        painter.setPen(QPen(theme.colour("text3"), 1, Qt.PenStyle.DotLine))
        painter.drawLine(
            self.place_of(point.intensity, point.gflops),
            self.place_of(point.intensity, point.roof),
        )

    def _paint_card(self, painter: QPainter, point: RooflinePoint, plot: QRectF) -> None:
        lines = self.card(point.id)
        painter.setFont(theme.font("small"))
        metrics = QFontMetricsF(painter.font())
        wide = max(metrics.horizontalAdvance(line) for line in lines) + 16
        high = metrics.height() * len(lines) + 10
        place = self.place_of(point.intensity, point.gflops)
        x = place.x() + 14 if place.x() + 14 + wide < self.width() else place.x() - 14 - wide
        y = min(max(plot.top() + 2, place.y() - high / 2), plot.bottom() - high - 2)
        card = QRectF(max(2.0, x), y, wide, high)
        painter.setPen(QPen(theme.colour("outline"), 1))
        painter.setBrush(theme.colour("field"))
        painter.drawRoundedRect(card, 4, 4)
        for number, line in enumerate(lines):
            painter.setPen(theme.colour("text2" if number else "text"))
            base = card.top() + 5 + metrics.ascent() + metrics.height() * number
            painter.drawText(QPointF(card.left() + 8, base), line)

    def card(self, row_id: str) -> tuple[str, ...]:
        """What is said of a kernel under the pointer."""
        point = next(p for p in self._points if p.id == row_id)
        row = self._rows[row_id]
        lines = [
            f"{row.mnemonic or row.kernel}  {row.layers}",
            f"{row.gflops:.3g} GFLOP/s, {row.gbytes:.3g} GB/s, {point.share:.1%} of the time",
        ]
        if row.utilisation is not None and point.gain_ms is not None:
            lines.append(f"bound by {row.bound}, {row.utilisation:.0%} of the peak")
            lines.append(f"at the roof, a step would be {point.gain_ms * 1000.0:.1f} µs shorter")
        return tuple(lines)


_CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter
_RIGHT_MIDDLE = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_TOP_RIGHT = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight
_LEFT_TOP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
_BOTTOM_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom


def _decade(power: int) -> str:
    """A power of ten as it is read."""
    if -2 <= power <= 3:
        return f"{10.0**power:g}"
    return f"1e{power}"
