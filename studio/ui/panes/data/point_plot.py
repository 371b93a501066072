"""Points of a data set in the plane, by class in colour and shape."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.session.data.samples import MOST_POINTS, PointCloud, SampleBrowser
from studio.widgets import binding, numbers, theme

_HEIGHT = 232
_MARGIN = 22
_RADIUS = 2.6
_NEAR = 8.0
_SHAPES = 4


class PointPlot(QWidget):
    """A scatter plot; each class has a colour and one of four shapes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("point_plot")
        self.setAccessibleName("Samples")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(120)
        self._cloud: PointCloud | None = None
        self._names: tuple[str, ...] = ()
        self._axes = ("x", "y")
        self._low = np.zeros(2)
        self._high = np.ones(2)
        self._picture: QPixmap | None = None
        binding.connect(self, theme.changed, self._repaint)

    def show_samples(self, browser: SampleBrowser) -> None:
        """Show the points of a browser, within the limits of its whole set."""
        self._cloud = browser.points()
        self._names = browser.dataset.class_names
        names = browser.dataset.feature_names
        self._axes = (names[0], names[1]) if len(names) > 1 else ("x", "y")
        # Limits of the whole set, so that a class alone stays where it was; of a large one, of
        # evenly spaced points.
        step = max(1, len(browser.dataset) // MOST_POINTS)
        whole = browser.dataset.x[::step].reshape(-1, browser.dataset.x[0].size)[:, :2]
        x = np.concatenate([whole.astype(np.float64), self._cloud.x.astype(np.float64)])
        low, high = x.min(axis=0), x.max(axis=0)
        pad = np.maximum((high - low) * 0.04, 1e-9)
        self._low, self._high = low - pad, high + pad
        count = len(self._cloud.x)
        self.setAccessibleDescription(f"{count} of {self._cloud.total} points")
        self._repaint()

    @property
    def shown(self) -> int:
        """How many points are drawn."""
        return 0 if self._cloud is None else len(self._cloud.x)

    def sizeHint(self) -> QSize:
        return QSize(260, _HEIGHT)

    def paintEvent(self, _event: QPaintEvent) -> None:
        ratio = self.devicePixelRatioF()
        size = self.size() * ratio
        if self._picture is None or self._picture.size() != size:
            self._picture = QPixmap(size)
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(theme.colour("dock"))
            self._paint(QPainter(self._picture))
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        painter.end()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            text = self._text_at(QPointF(event.pos()))
            if text:
                QToolTip.showText(event.globalPos(), text, self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def _repaint(self) -> None:
        self._picture = None
        self.update()

    def _area(self) -> QRectF:
        return QRectF(_MARGIN, 4, self.width() - _MARGIN - 4, self.height() - _MARGIN - 4)

    def _places(self) -> np.ndarray:
        """Where the points are, in the widget."""
        area = self._area()
        if self._cloud is None:
            return np.zeros((0, 2))
        share = (self._cloud.x - self._low) / (self._high - self._low)
        return np.stack(
            [area.left() + share[:, 0] * area.width(), area.bottom() - share[:, 1] * area.height()],
            axis=1,
        )

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self._area()
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(theme.colour("canvas"))
        painter.drawRect(area)
        self._paint_axes(painter, area)
        painter.setClipRect(area)
        cloud = self._cloud
        if cloud is not None:
            places = self._places()
            for klass in np.unique(cloud.klass):
                colour = theme.colour(f"series.{max(0, int(klass)) % 8}")
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(colour)
                for x, y in places[cloud.klass == klass]:
                    _mark(painter, float(x), float(y), max(0, int(klass)) % _SHAPES)
        painter.end()

    def _paint_axes(self, painter: QPainter, area: QRectF) -> None:
        painter.setFont(theme.font("small"))
        painter.setPen(theme.colour("text3"))
        below = QRectF(area.left(), area.bottom() + 2, area.width(), _MARGIN - 4)
        for flag, text in (
            (Qt.AlignmentFlag.AlignLeft, numbers.number(float(self._low[0]), 2)),
            (Qt.AlignmentFlag.AlignHCenter, self._axes[0]),
            (Qt.AlignmentFlag.AlignRight, numbers.number(float(self._high[0]), 2)),
        ):
            painter.drawText(below, flag | Qt.AlignmentFlag.AlignTop, text)
        painter.save()
        painter.translate(0, area.bottom())
        painter.rotate(-90)
        beside = QRectF(0, 0, area.height(), _MARGIN - 4)
        for flag, text in (
            (Qt.AlignmentFlag.AlignLeft, numbers.number(float(self._low[1]), 2)),
            (Qt.AlignmentFlag.AlignHCenter, self._axes[1]),
            (Qt.AlignmentFlag.AlignRight, numbers.number(float(self._high[1]), 2)),
        ):
            painter.drawText(beside, flag | Qt.AlignmentFlag.AlignBottom, text)
        painter.restore()

    def _text_at(self, point: QPointF) -> str:
        """What is said of the point nearest to a place, if it is near."""
        cloud = self._cloud
        if cloud is None or not len(cloud.x):
            return ""
        gaps = np.hypot(*(self._places() - (point.x(), point.y())).T)
        nearest = int(np.argmin(gaps))
        if gaps[nearest] > _NEAR:
            return ""
        x, y = (numbers.number(float(v)) for v in cloud.x[nearest])
        klass = int(cloud.klass[nearest])
        name = f"class {self._names[klass]}: " if 0 <= klass < len(self._names) else ""
        return f"{name}{self._axes[0]} {x}, {self._axes[1]} {y}"


def _mark(painter: QPainter, x: float, y: float, shape: int) -> None:
    """A circle, a square, a triangle or a lozenge."""
    r = _RADIUS
    if shape == 0:
        painter.drawEllipse(QPointF(x, y), r, r)
    elif shape == 1:
        painter.drawRect(QRectF(x - r, y - r, 2 * r, 2 * r))
    elif shape == 2:
        corners = [
            QPointF(x, y - 1.2 * r),
            QPointF(x - 1.2 * r, y + r),
            QPointF(x + 1.2 * r, y + r),
        ]
        painter.drawPolygon(QPolygonF(corners))
    else:
        s = 1.3 * r
        corners = [QPointF(x, y - s), QPointF(x + s, y), QPointF(x, y + s), QPointF(x - s, y)]
        painter.drawPolygon(QPolygonF(corners))
