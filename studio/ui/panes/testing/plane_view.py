"""The plane of two numbers: what the network says everywhere, and the samples it is tested on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.train.network.measures import Classification
from studio.session.evaluation.answers import Plane
from studio.session.evaluation.results import Results
from studio.widgets import binding, numbers, theme
from studio.widgets.pixels import image_of

_MARGIN = 20
_STRENGTH = 0.55
_DOT = 2.6


class PlaneView(QWidget):
    """A map; a click or a drag asks about a place.

    Attributes:
        picked: the two numbers of a place.
    """

    picked = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("plane")
        self.setAccessibleName("Predictions over the plane")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setFont(theme.font("small"))
        self._plane: Plane | None = None
        self._results: Results | None = None
        self._image: QImage | None = None
        self._place: tuple[float, float] | None = None
        binding.connect(self, theme.changed, self._apply_theme)

    def sizeHint(self) -> QSize:
        return QSize(240, 240)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 120)

    def show_plane(self, plane: Plane | None, results: Results | None) -> None:
        """Show another network."""
        self._plane, self._results = plane, results
        self._apply_theme()

    def mark(self, place: tuple[float, float] | None) -> None:
        """Mark the place that is asked about."""
        self._place = place
        self.update()

    def area(self) -> QRectF:
        """Where the plane is: a square in the middle."""
        room = QRectF(self.rect()).adjusted(_MARGIN, 4, -4, -_MARGIN)
        side = max(0.0, min(room.width(), room.height()))
        made = QRectF(0, 0, side, side)
        made.moveCenter(room.center())
        return made

    def _apply_theme(self) -> None:
        self._image = None if self._plane is None else image_of(_pixels(self._plane))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        plane = self._plane
        if plane is None or self._image is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self.area()
        painter.drawImage(area, self._image)
        self._paint_samples(painter, plane, area)
        painter.setPen(QPen(theme.colour("hairline"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area)
        self._paint_axes(painter, plane, area)
        if self._place is not None:
            place = _to_area(plane, area, *self._place)
            painter.setPen(QPen(theme.colour("text"), 2))
            painter.drawEllipse(place, 6, 6)
        painter.end()

    def _paint_samples(self, painter: QPainter, plane: Plane, area: QRectF) -> None:
        if self._results is None:
            return
        outcome = self._results.outcome
        rows = self._results.inputs[0][:].reshape(len(self._results), -1)
        for n, (x, y) in enumerate(rows.astype(np.float64).tolist()):
            place = _to_area(plane, area, x, y)
            wrong = isinstance(outcome, Classification) and bool(outcome.wrong[n])
            number = 0
            if isinstance(outcome, Classification) and outcome.truth.ndim == 1:
                number = int(outcome.truth[n])
            # Wrong ones are told by their shape as well.
            painter.setPen(QPen(theme.colour("error" if wrong else "dock"), 1.6 if wrong else 0.8))
            painter.setBrush(theme.colour(f"series.{number % 8}"))
            if wrong:
                painter.drawRect(QRectF(place.x() - 3.2, place.y() - 3.2, 6.4, 6.4))
            else:
                painter.drawEllipse(place, _DOT, _DOT)

    def _paint_axes(self, painter: QPainter, plane: Plane, area: QRectF) -> None:
        painter.setPen(theme.colour("text3"))
        painter.setFont(self.font())
        bottom = QRectF(area.left(), area.bottom() + 2, area.width(), _MARGIN - 4)
        ends = [numbers.number(v, 2) for v in plane.x]
        painter.drawText(bottom, Qt.AlignmentFlag.AlignLeft, ends[0])
        painter.drawText(bottom, Qt.AlignmentFlag.AlignRight, ends[1])
        painter.drawText(bottom, Qt.AlignmentFlag.AlignHCenter, plane.names[0])
        painter.save()
        painter.translate(area.left() - _MARGIN, area.bottom())
        painter.rotate(-90)
        side = QRectF(0, 0, area.height(), _MARGIN - 4)
        painter.drawText(side, Qt.AlignmentFlag.AlignHCenter, plane.names[1])
        painter.drawText(side, Qt.AlignmentFlag.AlignLeft, numbers.number(plane.y[0], 2))
        painter.drawText(side, Qt.AlignmentFlag.AlignRight, numbers.number(plane.y[1], 2))
        painter.restore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pick(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._pick(event.position())

    def _pick(self, place: QPointF) -> None:
        plane, area = self._plane, self.area()
        if plane is None or area.width() <= 0 or area.height() <= 0:
            return
        across = min(max((place.x() - area.left()) / area.width(), 0.0), 1.0)
        up = min(max((area.bottom() - place.y()) / area.height(), 0.0), 1.0)
        x = plane.x[0] + across * (plane.x[1] - plane.x[0])
        y = plane.y[0] + up * (plane.y[1] - plane.y[0])
        self.mark((x, y))
        self.picked.emit(x, y)


def _to_area(plane: Plane, area: QRectF, x: float, y: float) -> QPointF:
    across = (x - plane.x[0]) / (plane.x[1] - plane.x[0])
    up = (y - plane.y[0]) / (plane.y[1] - plane.y[0])
    return QPointF(area.left() + across * area.width(), area.bottom() - up * area.height())


def _pixels(plane: Plane) -> npt.NDArray[np.uint8]:
    """The plane in colours: each class in its own, the surer the stronger."""
    count = plane.values.shape[2]
    ground = _rgb("dock")
    if plane.classes:
        hues = np.array([_rgb(f"series.{n % 8}") for n in range(count)])
        shares = np.clip(np.nan_to_num(plane.values), 0.0, 1.0)
        mixed = shares @ hues
        least = 1.0 / max(2, count)
        sure = np.clip((shares.max(axis=2) - least) / (1.0 - least), 0.0, 1.0)
        strength = (0.15 + 0.85 * sure[..., np.newaxis]) * _STRENGTH
    else:
        values = plane.values[..., 0]
        spread = np.ptp(values) or 1.0
        mixed = np.broadcast_to(_rgb("accent"), (*values.shape, 3))
        strength = ((values - values.min()) / spread)[..., np.newaxis] * _STRENGTH
    pixels = ground + (mixed - ground) * strength
    # Row 0 of the plane is the lowest; of a picture it is the highest.
    return np.asarray(np.rint(np.clip(pixels[::-1], 0, 255)), np.uint8)


def _rgb(role: str) -> npt.NDArray[np.float64]:
    found = theme.colour(role)
    return np.array([found.red(), found.green(), found.blue()], float)
