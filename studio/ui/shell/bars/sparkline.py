"""The loss as a small curve that is always in sight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from studio.session.plots.series import Curve
from studio.widgets import theme

_STRIDES = 60


class Sparkline(QWidget):
    """A curve without axes: what the whole training gave so far."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: NDArray[np.float64] = np.empty(0)
        self.setFixedSize(72, 20)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_curve(self, curve: Curve) -> None:
        """Draw a curve, thinned so that every stretch keeps its highest and lowest."""
        self._values = thinned(curve, _STRIDES)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(72, 20)

    def paintEvent(self, _event: QPaintEvent) -> None:
        values = self._values
        if len(values) < 2:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("series.0"), 1))
        low, high = float(values.min()), float(values.max())
        span = high - low or 1.0
        width, height = self.width() - 2.0, self.height() - 6.0
        points = [
            QPointF(1 + width * i / (len(values) - 1), 3 + height * (1 - (value - low) / span))
            for i, value in enumerate(values.tolist())
        ]
        painter.drawPolyline(QPolygonF(points))
        painter.end()


def thinned(curve: Curve, strides: int) -> NDArray[np.float64]:
    """At most two values for each of so many stretches, its extremes; none that is not finite."""
    if len(curve) <= 2 * strides:
        values = np.asarray(curve.values, np.float64)
    else:
        edges = np.linspace(0, len(curve), strides + 1).astype(np.int64)
        begin, end = edges[:-1], edges[1:]
        values = np.stack([curve.highest(begin, end), curve.lowest(begin, end)], 1).ravel()
    found: NDArray[np.float64] = values[np.isfinite(values)]
    return found
