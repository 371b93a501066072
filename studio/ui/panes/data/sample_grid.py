"""Pictures of a data set in a grid that scrolls through any number of them."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QImage, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from studio.engine.train.data.normalization import Array
from studio.session.data.samples import Sample, SampleBrowser, picture
from studio.widgets import binding, theme
from studio.widgets.pixels import image_of, paint_pixels

CELL = 48
"""Side of a picture; what the width has to spare goes between them."""

_GAP = 6
_KEPT = 600
_ROWS = 4
_SERIES = 8
_MASK_ALPHA = 130


class SampleGrid(QAbstractScrollArea):
    """Only what is in sight is read and drawn."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sample_grid")
        self.setAccessibleName("Samples")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self._browser: SampleBrowser | None = None
        self._images: OrderedDict[int, QImage] = OrderedDict()
        self._current = -1
        binding.connect(self, theme.changed, self._paint_again)
        self.setFixedHeight(_ROWS * (CELL + self.fontMetrics().height() + _GAP))

    def show_samples(self, browser: SampleBrowser) -> None:
        """Show the samples of a browser from the first on."""
        self._browser = browser
        self._images.clear()
        self._current = -1
        self._measure()
        self.verticalScrollBar().setValue(0)
        self.viewport().update()

    def _paint_again(self) -> None:
        """The colours of masks are those of the theme."""
        self._images.clear()
        self.viewport().update()

    @property
    def shown(self) -> list[Sample]:
        """The samples in sight."""
        if self._browser is None:
            return []
        first, count = self._in_sight()
        return self._browser.page(first, count)

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(CELL, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure()

    def paintEvent(self, _event: QPaintEvent) -> None:
        browser = self._browser
        if browser is None:
            return
        painter = QPainter(self.viewport())
        painter.setFont(theme.font("small"))
        first, count = self._in_sight()
        for sample, place in zip(browser.page(first, count), range(first, first + count),
                                 strict=False):  # fmt: skip
            self._paint_sample(painter, sample, place, browser)
        painter.end()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_tip(event)
            return True
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_tip(event)
            return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {
            Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1,
            Qt.Key.Key_Up: -self._columns(), Qt.Key.Key_Down: self._columns(),
            Qt.Key.Key_PageUp: -self._columns() * _ROWS,
            Qt.Key.Key_PageDown: self._columns() * _ROWS,
        }.get(Qt.Key(event.key()))  # fmt: skip
        if self._browser is None or len(self._browser) == 0:
            super().keyPressEvent(event)
        elif event.key() == Qt.Key.Key_Home:
            self._go(0)
        elif event.key() == Qt.Key.Key_End:
            self._go(len(self._browser) - 1)
        elif step is not None:
            self._go(max(0, self._current) + step if self._current >= 0 else 0)
        else:
            super().keyPressEvent(event)

    # -- places ---------------------------------------------------------------------------------

    def _go(self, place: int) -> None:
        if self._browser is None:
            return
        self._current = min(max(0, place), len(self._browser) - 1)
        row = self._current // self._columns()
        top, height = row * self._row_height(), self.viewport().height()
        bar = self.verticalScrollBar()
        if top < bar.value():
            bar.setValue(top)
        elif top + self._row_height() > bar.value() + height:
            bar.setValue(top + self._row_height() - _GAP - height)
        sample = self._browser.sample(self._current)
        self.setAccessibleDescription(f"sample {sample.index}, {sample.label}")
        self.viewport().update()

    def _columns(self) -> int:
        return max(1, (self.viewport().width() + _GAP) // (CELL + _GAP))

    def _rows(self) -> int:
        count = 0 if self._browser is None else len(self._browser)
        return -(-count // self._columns())

    def _row_height(self) -> int:
        # Not a matter of the width: a scroll bar beside the pane must not change the height.
        return CELL + self.fontMetrics().height() + _GAP

    def _measure(self) -> None:
        rows = min(_ROWS, max(1, self._rows()))
        self.setFixedHeight(rows * self._row_height() - _GAP)
        bar = self.verticalScrollBar()
        whole = self._rows() * self._row_height() - _GAP
        bar.setRange(0, max(0, whole - self.viewport().height()))
        bar.setSingleStep(self._row_height())
        bar.setPageStep(self.viewport().height())

    def _in_sight(self) -> tuple[int, int]:
        top = self.verticalScrollBar().value()
        first = top // self._row_height()
        last = (top + self.viewport().height()) // self._row_height() + 1
        return first * self._columns(), (last - first) * self._columns()

    def _room(self, place: int) -> QRect:
        """Where the sample at a place is drawn."""
        row, column = divmod(place, self._columns())
        columns = self._columns()
        spare = self.viewport().width() - columns * CELL
        left = column * CELL + round(column * spare / max(1, columns - 1))
        top = row * self._row_height() - self.verticalScrollBar().value()
        return QRect(left, top, CELL, self._row_height() - _GAP)

    def _place_at(self, point: QPoint) -> int:
        top = self.verticalScrollBar().value() + point.y()
        first = top // self._row_height() * self._columns()
        for place in range(first, first + self._columns()):
            if self._room(place).contains(point):
                return place
        return -1

    # -- painting -------------------------------------------------------------------------------

    def _paint_sample(
        self, painter: QPainter, sample: Sample, place: int, browser: SampleBrowser
    ) -> None:
        room, side = self._room(place), CELL
        cell = QRectF(room.left(), room.top(), side, side)
        painter.fillRect(cell, theme.colour("canvas"))
        paint_pixels(painter, self._image(sample, browser), cell)
        if place == self._current and self.hasFocus():
            painter.setPen(QPen(theme.colour("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(cell.adjusted(1, 1, -1, -1))
        painter.setPen(theme.colour("text2"))
        text = painter.fontMetrics().elidedText(sample.label, Qt.TextElideMode.ElideRight, side)
        label = QRect(room.left(), room.top() + side, side, room.height() - side)
        painter.drawText(label, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, text)

    def _image(self, sample: Sample, browser: SampleBrowser) -> QImage:
        found = self._images.pop(sample.index, None)
        if found is None:
            found = image_of(picture(sample.values, browser.array.value_range))
            if sample.mask is not None:
                found = _with_mask(found, sample.mask)
        self._images[sample.index] = found
        while len(self._images) > _KEPT:
            self._images.popitem(last=False)
        return found

    def _show_tip(self, event: QHelpEvent) -> None:
        place = self._place_at(event.pos())
        if self._browser is None or not 0 <= place < len(self._browser):
            QToolTip.hideText()
            return
        sample = self._browser.sample(place)
        size = " \N{MULTIPLICATION SIGN} ".join(str(n) for n in sample.values.shape)
        QToolTip.showText(
            event.globalPos(),
            f"sample {sample.index}: {sample.label}\n{size} {sample.values.dtype}",
            self.viewport(),
        )


def _with_mask(image: QImage, mask: Array) -> QImage:
    """A picture with the classes of its pixels over it in colour; class 0 shows the picture."""
    height, width = mask.shape
    over = np.zeros((height, width, 4), np.uint8)
    for klass in np.unique(mask):
        if klass:
            colour = theme.colour(f"series.{(int(klass) - 1) % _SERIES}")
            over[mask == klass] = (colour.red(), colour.green(), colour.blue(), _MASK_ALPHA)
    drawn = image.convertToFormat(QImage.Format.Format_RGB32)
    painter = QPainter(drawn)
    painter.drawImage(
        QRectF(drawn.rect()),
        QImage(over.data, width, height, 4 * width, QImage.Format.Format_RGBA8888),
    )
    painter.end()
    return drawn
