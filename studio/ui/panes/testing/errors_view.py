"""Predicted numbers against the true ones, and how far they are apart."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.train.network.measures import Regression
from studio.widgets import binding, numbers, theme

_MARGIN = 22
_MOST_DOTS = 4000
_COLUMNS = 16
_NEAR = 8.0


class ErrorsView(QWidget):
    """A dot for each sample; on the line the network is right.

    Attributes:
        asked: a sample was clicked.
    """

    asked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("regression_errors")
        self.setAccessibleName("Predicted against true values")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFont(theme.font("small"))
        self._outcome: Regression | None = None
        self._measures: dict[str, float] = {}
        binding.connect(self, theme.changed, self.update)

    def sizeHint(self) -> QSize:
        return QSize(300, 300)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 140)

    @property
    def measures(self) -> dict[str, float]:
        return self._measures

    def show_outcome(self, outcome: Regression | None) -> None:
        """Show another measurement."""
        self._outcome = outcome
        self._measures = {} if outcome is None else outcome.measures()
        text = ", ".join(f"{n} {numbers.number(v)}" for n, v in self._measures.items())
        self.setAccessibleDescription(text)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._outcome is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self.font())
            self._paint(painter, self._outcome)
        painter.end()

    def _area(self) -> QRectF:
        lines = len(self._measures) * (self.fontMetrics().height() + 1)
        return QRectF(self.rect()).adjusted(_MARGIN, lines + 8, -6, -_MARGIN)

    def _paint(self, painter: QPainter, outcome: Regression) -> None:
        high = self.fontMetrics().height() + 1
        for n, (name, value) in enumerate(self._measures.items()):
            painter.setPen(theme.colour("text2"))
            line = QRectF(8, 4 + n * high, self.width() - 16, high)
            painter.drawText(line, Qt.AlignmentFlag.AlignLeft, name[:1].upper() + name[1:])
            painter.setPen(theme.colour("text"))
            painter.drawText(line, Qt.AlignmentFlag.AlignRight, numbers.number(value))
        area = self._area()
        low, high_value = self._range(outcome)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.drawRect(area)
        painter.setPen(QPen(theme.colour("outline"), 1, Qt.PenStyle.DashLine))
        painter.drawLine(area.bottomLeft(), area.topRight())
        painter.setPen(Qt.PenStyle.NoPen)
        for column in range(min(_COLUMNS, outcome.truth.shape[1])):
            painter.setBrush(theme.colour(f"series.{column % 8}", 170))
            for _number, place in self._places(outcome, column):
                painter.drawEllipse(place, 2.2, 2.2)
        painter.setPen(theme.colour("text3"))
        bottom = QRectF(area.left(), area.bottom() + 2, area.width(), _MARGIN - 2)
        painter.drawText(bottom, Qt.AlignmentFlag.AlignLeft, numbers.number(low, 3))
        painter.drawText(bottom, Qt.AlignmentFlag.AlignRight, numbers.number(high_value, 3))
        painter.drawText(bottom, Qt.AlignmentFlag.AlignHCenter, "true")
        painter.translate(0, area.bottom())
        painter.rotate(-90)
        side = QRectF(0, 2, area.height(), _MARGIN - 2)
        painter.drawText(side, Qt.AlignmentFlag.AlignHCenter, "predicted")

    @staticmethod
    def _range(outcome: Regression) -> tuple[float, float]:
        own = outcome.counts
        every = np.concatenate([outcome.truth[own], outcome.predicted[own]])
        every = every[np.isfinite(every)]
        if not len(every) or np.ptp(every) == 0:
            return (0.0, 1.0)
        return float(every.min()), float(every.max())

    def _places(self, outcome: Regression, column: int) -> list[tuple[int, QPointF]]:
        """Samples whose number counts, and where their dots are."""
        area, (low, high) = self._area(), self._range(outcome)
        (own,) = np.nonzero(outcome.counts[:, column])
        some = own[_some(len(own))]
        across = (outcome.truth[some, column] - low) / (high - low)
        up = (outcome.predicted[some, column] - low) / (high - low)
        x = area.left() + across * area.width()
        y = area.bottom() - np.nan_to_num(up) * area.height()
        places = (QPointF(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
        return list(zip(some.tolist(), places, strict=True))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        outcome = self._outcome
        if outcome is None or event.button() != Qt.MouseButton.LeftButton:
            return
        best, least = -1, _NEAR
        for column in range(min(_COLUMNS, outcome.truth.shape[1])):
            for number, place in self._places(outcome, column):
                away = (place - event.position()).manhattanLength()
                if away < least:
                    best, least = number, away
        if best >= 0:
            self.asked.emit(best)


def _some(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Evenly spaced samples where there are too many to draw."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_DOTS)).astype(np.int64))
