"""Samples before and after augmentation, side by side."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.session.data.augmentation import EPOCHS, AugmentationPreview
from studio.session.data.samples import picture
from studio.widgets import binding, theme
from studio.widgets.pixels import image_of, paint_pixels

_GAP = 4
_BREAK = 10
_MOST, _STEP = 56, 8


class ChangesView(QWidget):
    """A row for each sample: as stored, then what the first epochs make of it.

    Args:
        preview: makes the pictures.
        parent: the widget it stands in.
    """

    def __init__(self, preview: AugmentationPreview, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("augmentation_preview")
        self.setAccessibleName("Samples before and after augmentation")
        self.setToolTip(
            "Left: the stored sample; then: the sample in the first epochs. Click "
            "for other samples."
        )
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(120)
        self._preview = preview
        self._range: tuple[float, float] | None = None
        binding.connect(self, theme.changed, self.update)
        binding.connect(self, preview.changed, self._changed)
        self._changed()

    def show_range(self, value_range: tuple[float, float] | None) -> None:
        """Raw values that are black and white."""
        self._range = value_range
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, self._height())

    def mousePressEvent(self, _event: object) -> None:
        self._preview.show_others()

    def resizeEvent(self, _event: object) -> None:
        self.setFixedHeight(self._height())

    def _changed(self) -> None:
        self.setFixedHeight(self._height())
        self.update()

    def _cell(self) -> int:
        room = (self.width() - EPOCHS * _GAP - _BREAK) // (EPOCHS + 1)
        # In steps, so that a scroll bar beside the pane does not change the height.
        return max(_STEP, min(_MOST, room // _STEP * _STEP))

    def _height(self) -> int:
        result = self._preview.result
        line = self.fontMetrics().height()
        if result is None:
            return 2 * line
        return len(result.before) * (self._cell() + _GAP) + line + 4

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.colour("text3"))
        result = self._preview.result
        if result is None:
            error = self._preview.error
            text = error.message if error is not None else (
                "Making a preview…" if self._preview.is_busy else "No augmentation."
            )  # fmt: skip
            painter.drawText(self.rect(), _WRAPPED, text)
            painter.end()
            return
        cell, line = self._cell(), painter.fontMetrics().height()
        for column in range(EPOCHS + 1):
            room = QRect(self._left(column), 0, cell, line)
            title = "stored" if column == 0 else f"epoch {column}"
            shown = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, cell)
            painter.drawText(room, Qt.AlignmentFlag.AlignHCenter, shown)
        painter.setOpacity(0.5 if self._preview.is_busy else 1.0)
        for row, before in enumerate(result.before):
            top = line + 4 + row * (cell + _GAP)
            columns = [before, *result.after[row]]
            for column, values in enumerate(columns):
                room_f = QRectF(self._left(column), top, cell, cell)
                painter.fillRect(room_f, theme.colour("canvas"))
                paint_pixels(painter, image_of(picture(values, self._range)), room_f)
        painter.end()

    def _left(self, column: int) -> int:
        return column * (self._cell() + _GAP) + (_BREAK if column else 0)


_WRAPPED = int(
    Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
)
