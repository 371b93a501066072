"""The axes of a plot: round numbers on the left and below, the latest values on the right."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import pyqtgraph as pg  # type: ignore[import-untyped]
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from studio.session.plots.scale import Tick
from studio.widgets import theme

LEFT_WIDTH = 46
END_WIDTH = 60
_BOTTOM_HEIGHT = 20
_MARK = 3
_END_STEP = 8
"""A width that follows every digit would move the curves with each of them."""


def quiet_axis(side: str) -> Any:
    """An axis that is only numbers: no line and no ticks."""
    axis = pg.AxisItem(side)
    untitled(axis)
    axis.setStyle(
        tickLength=0,
        tickAlpha=0,
        tickTextOffset=5,
        autoExpandTextSpace=False,
        hideOverlappingLabels=False,
    )
    if side == "left":
        axis.setWidth(LEFT_WIDTH)
    else:
        axis.setHeight(_BOTTOM_HEIGHT)
    return axis


def untitled(axis: Any) -> None:
    """Write no title, which would be rewritten with every change of the range."""
    axis.enableAutoSIPrefix(False)


def apply_theme(axis: Any) -> None:
    """Give an axis the theme's colours and font."""
    font = theme.font("small")
    axis.setStyle(tickFont=font)
    for set_pen in (axis.setPen, axis.setTickPen):
        set_pen(pg.mkPen((0, 0, 0, 0)))
    axis.setTextPen(theme.colour("text3"))


def set_ticks(axis: Any, ticks: list[Tick]) -> None:
    """Put numbers at an axis."""
    axis.setTicks([[(tick.place, tick.text) for tick in ticks]])


class EndLabel(NamedTuple):
    """The latest value of a curve.

    Attributes:
        place: where the curve ends, on the vertical axis.
        text: the value.
        colour: of the curve.
        strong: the pointer is on the curve's name.
        tip: what kind of value it is.
    """

    place: float
    text: str
    colour: QColor
    strong: bool
    tip: str = ""


class EndAxis(pg.AxisItem):  # type: ignore[misc]
    """The right edge: latest values beside the ends of their curves, never over one another."""

    def __init__(self) -> None:
        super().__init__("right")
        self.setWidth(END_WIDTH)
        self._labels: tuple[EndLabel, ...] = ()

    @property
    def labels(self) -> tuple[EndLabel, ...]:
        return self._labels

    @property
    def needed(self) -> int:
        """Width at which every value can be read whole."""
        metrics = QFontMetricsF(_end_font())
        widest = max((metrics.horizontalAdvance(label.text) for label in self._labels), default=0.0)
        more = ceil(widest) + _MARK + 4 - END_WIDTH
        return END_WIDTH + max(0, -(-more // _END_STEP) * _END_STEP)

    def show_labels(self, labels: tuple[EndLabel, ...]) -> None:
        """Print other values."""
        if labels != self._labels:
            self._labels = labels
            self.setToolTip("\n".join(label.tip for label in labels))
            self.picture = None
            self.update()

    def paint(self, painter: QPainter, *_: Any) -> None:
        """Print the values."""
        if not self._labels:
            return
        painter.save()
        font = _end_font()
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        bounds = self.mapRectFromParent(self.geometry())
        low, high = self.range
        span = (high - low) or 1.0
        wanted = [
            (bounds.bottom() - (label.place - low) / span * bounds.height(), label)
            for label in self._labels
        ]
        places = spread([y for y, _ in wanted], metrics.height() - 1, bounds.top(), bounds.bottom())
        for (y, label), middle in zip(wanted, places, strict=True):
            painter.setPen(label.colour)
            inside = bounds.top() - 1 <= y <= bounds.bottom() + 1
            if inside:
                # A short line leads from the curve's end to its value.
                painter.drawLine(QPointF(bounds.left(), y), QPointF(bounds.left() + _MARK, middle))
            box = QRectF(
                bounds.left() + _MARK + 3, middle - metrics.height() / 2,
                bounds.width() - _MARK - 3, metrics.height(),
            )  # fmt: skip
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, flags, label.text)
        painter.restore()


def _end_font() -> QFont:
    font = theme.font("small")
    font.setBold(True)
    return font


def spread(wanted: list[float], least: float, low: float, high: float) -> list[float]:
    """Places as near to those wanted as they can be when each needs some room."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    found = [min(max(wanted[i], low + least / 2), high - least / 2) for i in order]
    for index in range(1, len(found)):
        found[index] = max(found[index], found[index - 1] + least)
    if found and found[-1] > high - least / 2:
        found[-1] = high - least / 2
        for index in range(len(found) - 2, -1, -1):
            found[index] = min(found[index], found[index + 1] - least)
    places = [0.0] * len(wanted)
    for index, place in zip(order, found, strict=True):
        places[index] = place
    return places
