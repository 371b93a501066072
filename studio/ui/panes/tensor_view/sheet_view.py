"""The picture of a tensor view: painted here, or drawn by the device where the tensor lies."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.engine.gl.live.live import GlSnapshot
from studio.engine.gl.live.painter import View
from studio.session.tensor_view.colours import CHOICES, palette
from studio.session.tensor_view.picture import bars_of
from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.session.tensor_view.view_state import moved, zoomed
from studio.session.tensor_view.words import aside_text
from studio.ui.panes.tensor_view.sheet_painting import (
    ground,
    ground_between_cells,
    paint_badge,
    paint_bars,
    paint_cells,
    paint_number,
    paint_pick,
)
from studio.widgets.gl_sheet_view import GlSheetView

_ZOOM = 1.25
_HEAD = 24.0
"""Pixels above the picture, where mode and moment are said."""


class SheetView(QWidget):
    """Shows what a `TensorViewModel` shows, and takes the pointer's wishes.

    Args:
        view: what is shown.
        parent: the widget it stands in.
    """

    broke = Signal(str)
    """The device cannot draw; the picture is made from copies from now on."""

    def __init__(self, view: TensorViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_picture")
        self.setAccessibleName("Tensor")
        self.setMinimumSize(96, 96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._view = view
        self._surface: GlSheetView | None = None
        self._dragged: QPointF | None = None
        self._palette: tuple[object, object] = (None, None)

    @property
    def surface(self) -> GlSheetView | None:
        """The widget the device draws in; None while pictures are painted."""
        return self._surface

    def refresh(self) -> None:
        """Show what there is now."""
        frame = self._view.frame
        snapshot = None if frame is None else frame.snapshot
        if self._view.drawn_from_device and isinstance(snapshot, GlSnapshot):
            self._draw_on_device(snapshot)
        elif self._surface is not None:
            self._surface.clear()
            self._surface.hide()
        self.update()
        self.setAccessibleDescription(f"{self._view.badge}. {self._view.status.text}")

    def forget_device(self) -> None:
        """Give back what is drawn from the device, if the tensor has left it."""
        frame = self._view.frame
        if self._surface is not None and (
            frame is None or not isinstance(frame.snapshot, GlSnapshot)
        ):
            self._surface.clear()
            self._surface.hide()

    def close_surface(self) -> None:
        """Draw on the device no longer."""
        surface, self._surface = self._surface, None
        if surface is not None:
            surface.clear()
            surface.setParent(None)
            surface.deleteLater()

    # -- events ---------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._view.set_size(float(self.width()), max(1.0, self.height() - _HEAD))
        if self._surface is not None:
            self._surface.setGeometry(self.rect())
        super().resizeEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        kind = None if self._view.sheet_layout is None else self._view.kind
        painter.fillRect(self.rect(), ground(kind))
        if self._surface is None or not self._surface.isVisible():
            self._paint(painter)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self._point(event.position())
        elif event.button() == Qt.MouseButton.MiddleButton:
            self._dragged = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._point(event.position())
            return
        shape, start = self._view.shape, self._dragged
        if start is not None and shape is not None:
            by = event.position() - start
            region = moved(self._view.view_state, shape, by.x(), by.y())
            if region != self._view.view_state.region:
                self._dragged = event.position()
                self._view.zoom(region)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.MiddleButton:
            self._dragged = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """One of several tiles opens; one by itself goes back among the others."""
        sheet_layout = self._view.sheet_layout
        if sheet_layout is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if self._view.view_state.tile is not None:
            self._view.open_tile(None)
            return
        hit = sheet_layout.hit(event.position().x(), event.position().y() - _HEAD)
        if hit is not None and sheet_layout.tiles > 1:
            self._view.open_tile(sheet_layout.first + hit[0])

    def wheelEvent(self, event: QWheelEvent) -> None:
        shape = self._view.shape
        notches = event.angleDelta().y() / 120
        if shape is None or not notches:
            event.ignore()
            return
        at = event.position()
        self._view.zoom(
            zoomed(self._view.view_state, shape, at.x(), at.y() - _HEAD, _ZOOM**notches)
        )
        event.accept()

    # -- inside ---------------------------------------------------------------------------------

    def _point(self, at: QPointF) -> None:
        if self._view.kind == "bars":
            self._view.pointing.at(at.x(), 0.5)
        else:
            self._view.pointing.at(at.x(), at.y() - _HEAD)

    def _paint(self, painter: QPainter) -> None:
        view = self._view
        box = QRectF(0, 0, self.width(), max(1.0, self.height() - _HEAD))
        frame, sheet_layout = view.frame, view.sheet_layout
        painter.save()
        painter.translate(0, _HEAD)
        if frame is not None and sheet_layout is not None:
            if view.kind == "number":
                tile = frame.tile
                value = None if tile is None or tile.values is None else tile.values.reshape(-1)
                number = None if value is None or not value.size else value[0]
                paint_number(painter, box, number, view.history)
            elif view.kind == "bars" and frame.tile is not None:
                paint_bars(painter, bars_of(frame.tile), sheet_layout, view.colours, box.height(),
                           view.pointing.index)  # fmt: skip
            else:
                picture = view.picture()
                if picture is not None:
                    paint_cells(painter, picture)
                paint_pick(painter, sheet_layout, view.pointing.index)
        painter.restore()
        self._paint_words(painter)

    def _paint_over(self, painter: QPainter) -> None:
        """What is painted over a picture the device has drawn."""
        sheet_layout = self._view.sheet_layout
        if sheet_layout is not None:
            painter.save()
            painter.translate(0, _HEAD)
            paint_pick(painter, sheet_layout, self._view.pointing.index)
            painter.restore()
        self._paint_words(painter)

    def _paint_words(self, painter: QPainter) -> None:
        view, box = self._view, QRectF(self.rect())
        paint_badge(painter, view.badge, box, stale=view.is_stale)
        aside = aside_text(view.sheet_layout, view.choice)
        if aside and view.frame is not None:
            lower = QRectF(box.left(), box.bottom() - 24, box.width(), 20)
            paint_badge(painter, aside, lower, stale=False)

    def _draw_on_device(self, snapshot: GlSnapshot) -> None:
        sheet_layout, view = self._view.sheet_layout, self._view
        if sheet_layout is None:
            return
        if self._surface is None:
            self._surface = GlSheetView(self._paint_over, self)
            self._surface.setObjectName("tensor_surface")
            self._surface.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._surface.broke.connect(self.broke)
            self._surface.setGeometry(self.rect())
        empty = ground_between_cells()
        key = (view.colours.map_name, empty)
        if self._palette[0] != key:
            self._palette = (key, palette(view.colours.map_name, empty))
        self._surface.show_snapshot(
            snapshot,
            View(
                sheet_layout.sheet, sheet_layout.across, sheet_layout.gap,
                sheet_layout.left, sheet_layout.top + _HEAD,
                (sheet_layout.cell, sheet_layout.cell), view.colours.low, view.colours.high,
                CHOICES.index(view.choice),
            ),
            self._palette[1],  # type: ignore[arg-type]
        )  # fmt: skip
        self._surface.show()
