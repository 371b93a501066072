"""The gestures of a plot: a drag zooms, Ctrl and the wheel too, a double click follows again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyqtgraph as pg  # type: ignore[import-untyped]
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtWidgets import QGraphicsRectItem, QWidget

from studio.session.runs.curves_display import View
from studio.ui.panes.plots import strokes
from studio.widgets import theme

_NARROW = 8
_NOTCH = 120.0
_STEP = 1.2
_FAR = 1.02


@dataclass(frozen=True)
class Gestures:
    """What a plot's gestures lead to.

    Attributes:
        zoom: show a part of the axis, and of the values where that is meant too.
        follow: show everything again.
        menu: open the menu at a place of the screen.
        holds_space: whether the space bar is down.
        extent: the whole axis.
    """

    zoom: Callable[[View, View | None], object]
    follow: Callable[[], object]
    menu: Callable[[Any], object]
    holds_space: Callable[[], bool]
    extent: Callable[[], View]


class PlotBox(pg.ViewBox):  # type: ignore[misc]
    """The area curves are drawn in.

    Args:
        gestures: what its gestures lead to.
    """

    def __init__(self, gestures: Gestures) -> None:
        super().__init__(enableMenu=False)
        self._gestures = gestures
        self.disableAutoRange()
        self.setMouseEnabled(False, False)
        self.setDefaultPadding(0.0)
        self._frame = QGraphicsRectItem()
        self._frame.setZValue(1e6)
        self._frame.setVisible(False)
        self.addItem(self._frame, ignoreBounds=True)
        self._from: tuple[View, View] | None = None

    @property
    def frame(self) -> QGraphicsRectItem:
        return self._frame

    def mouseDragEvent(self, event: Any, axis: Any = None) -> None:
        """Zoom into a box, or move what is shown."""
        event.accept()
        middle = event.button() == Qt.MouseButton.MiddleButton
        left = event.button() == Qt.MouseButton.LeftButton
        if middle or (left and (self._gestures.holds_space() or self._from is not None)):
            self._pan(event)
        elif left:
            self._zoom_box(event)

    def wheelEvent(self, event: Any, axis: Any = None) -> None:
        """Zoom at the pointer with Ctrl; the wheel alone belongs to whatever scrolls."""
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
            return
        event.accept()
        place = self.mapToView(event.pos())
        factor = _STEP ** (-event.delta() / _NOTCH)
        (low, high), rows = self.viewRange()
        view = (place.x() - (place.x() - low) * factor, place.x() + (high - place.x()) * factor)
        height: View | None = None
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            below, above = rows
            y = place.y()
            view, height = (low, high), (y - (y - below) * factor, y + (above - y) * factor)
        self._show(view, height)

    def mouseDoubleClickEvent(self, event: Any) -> None:
        """Follow again."""
        event.accept()
        self._gestures.follow()

    def mouseClickEvent(self, event: Any) -> None:
        """Open the menu with the right button."""
        if event.double() and event.button() == Qt.MouseButton.LeftButton:
            event.accept()
            self._gestures.follow()
        elif event.button() == Qt.MouseButton.RightButton:
            event.accept()
            self._gestures.menu(event.screenPos())

    def _zoom_box(self, event: Any) -> None:
        start, end = event.buttonDownPos(), event.pos()
        low = abs(end.y() - start.y()) < _NARROW
        if low:
            # A drag along the axis means all values there.
            start = QPointF(start.x(), 0.0)
            end = QPointF(end.x(), self.height())
        rect = QRectF(self.mapToView(start), self.mapToView(end)).normalized()
        if not event.isFinish():
            self._frame.setPen(strokes.thin(theme.colour("accent"), self._ratio()))
            self._frame.setBrush(theme.colour("accent", 40))
            self._frame.setRect(rect)
            self._frame.setVisible(True)
            return
        self._frame.setVisible(False)
        if abs(end.x() - start.x()) >= _NARROW:
            height = None if low else (rect.top(), rect.bottom())
            self._gestures.zoom((rect.left(), rect.right()), height)

    def _ratio(self) -> float:
        """Device pixels to one of the plot's."""
        view: QWidget | None = self.getViewWidget()
        return 1.0 if view is None else view.devicePixelRatioF()

    def _pan(self, event: Any) -> None:
        if event.isStart() or self._from is None:
            (left, right), (below, above) = self.viewRange()
            self._from = ((left, right), (below, above))
        moved = self.mapToView(event.pos()) - self.mapToView(event.buttonDownPos())
        (left, right), (below, above) = self._from
        rows: View | None = (below - moved.y(), above - moved.y())
        if abs(event.pos().y() - event.buttonDownPos().y()) < _NARROW:
            rows = None
        self._gestures.zoom((left - moved.x(), right - moved.x()), rows)
        if event.isFinish():
            self._from = None

    def _show(self, view: View, height: View | None) -> None:
        low, high = self._gestures.extent()
        if height is None and view[1] - view[0] >= (high - low) * _FAR:
            self._gestures.follow()
        else:
            self._gestures.zoom(view, height)
