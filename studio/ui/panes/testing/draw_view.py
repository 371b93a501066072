"""A sheet to draw on with the pointer; the network answers while the line grows."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.session.evaluation.drawing import Drawing, Sheet
from studio.widgets import binding, theme
from studio.widgets.pixels import image_of

WIDTHS = (0.04, 0.08, 0.12, 0.18)
_SIDE = 200
_MARGIN = 4


class DrawView(QWidget):
    """Draws with the left button and takes ink away with the right one.

    Attributes:
        drawn: the drawing changed.
    """

    drawn = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("draw_sheet")
        self.setAccessibleName("Drawing area")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setToolTip("Draw with the left mouse button, erase with the right")
        self.width_of_line = WIDTHS[2]
        self._drawing: Drawing | None = None
        self._last: QPointF | None = None
        self._erases = False
        self._inverted = False
        binding.connect(self, theme.changed, self.update)

    def sizeHint(self) -> QSize:
        return QSize(_SIDE, _SIDE)

    def minimumSizeHint(self) -> QSize:
        return QSize(96, 96)

    @property
    def drawing(self) -> Drawing | None:
        return self._drawing

    def set_sheet(self, sheet: Sheet | None) -> None:
        """Draw on another sheet; what was drawn on the same one stays."""
        if sheet is None:
            self._drawing = None
        elif self._drawing is None or self._drawing.sheet != sheet:
            self._drawing = Drawing(sheet)
        self.update()

    def set_inverted(self, on: bool) -> None:
        """Show the drawing as the network gets it: with ink and ground exchanged, or not."""
        if on != self._inverted:
            self._inverted = on
            self.update()

    def clear(self) -> None:
        """Take everything away."""
        if self._drawing is not None:
            self._drawing.clear()
            self._changed()

    def undo(self) -> None:
        """Take the last stroke back."""
        if self._drawing is not None and self._drawing.undo():
            self._changed()

    def area(self) -> QRectF:
        """Where the sheet is, as large as fits with its proportions."""
        if self._drawing is None:
            return QRectF()
        height, width, _ = self._drawing.sheet.shape
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        side = min(room.width() / width, room.height() / height)
        made = QRectF(0, 0, side * width, side * height)
        made.moveCenter(room.center())
        return made

    # -- painting -------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._drawing is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        area = self.area()
        painter.drawImage(area, self._picture(self._drawing))
        height, width, _ = self._drawing.sheet.shape
        dark = self._drawing.sheet.is_dark is not self._inverted
        if max(height, width) <= 32:
            # The cells the network sees.
            painter.setPen(QPen(QColor(255, 255, 255, 26) if dark else QColor(0, 0, 0, 26), 1))
            for n in range(1, width):
                x = area.left() + n * area.width() / width
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            for n in range(1, height):
                y = area.top() + n * area.height() / height
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.setPen(QPen(theme.colour("accent" if self.hasFocus() else "outline"), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area)
        if self._drawing.is_empty:
            painter.setFont(theme.font("small"))
            painter.setPen(QColor(255, 255, 255, 150) if dark else QColor(0, 0, 0, 150))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, "Draw here")
        painter.end()

    def _picture(self, drawing: Drawing) -> QImage:
        is_dark = drawing.sheet.is_dark is not self._inverted
        ink = drawing.ink if is_dark else 1.0 - drawing.ink
        return image_of(np.rint(ink * 255.0).astype(np.uint8))

    # -- drawing --------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        buttons = (Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton)
        if self._drawing is None or event.button() not in buttons:
            return
        self._drawing.begin()
        self._erases = event.button() == Qt.MouseButton.RightButton
        self._last = event.position()
        self._line_to(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._last is not None:
            self._line_to(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._last = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear()
        elif event.key() == Qt.Key.Key_Z and control:
            self.undo()
        else:
            super().keyPressEvent(event)

    def _line_to(self, place: QPointF) -> None:
        drawing, last = self._drawing, self._last
        if drawing is None or last is None:
            return
        area = self.area()

        def share(point: QPointF) -> tuple[float, float]:
            return (
                (point.x() - area.left()) / area.width(),
                (point.y() - area.top()) / area.height(),
            )

        drawing.line(share(last), share(place), self.width_of_line, erase=self._erases)
        self._last = place
        self._changed()

    def _changed(self) -> None:
        self.update()
        self.drawn.emit()
