"""The confusion matrix: a click on a cell shows the samples behind it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.engine.train.network.measures import Classes, Classification
from studio.widgets import binding, numbers, theme

_MOST_CELL = 76.0
_SEPARATE = 8.0
"""Pixels from which on cells are drawn one by one, with gaps and numbers."""
_MANY = 40
"""Above this many classes cells are drawn as one image, whatever their size."""
_TONES = 255
_LABEL = 16
_NAME = 96
_TEXT_ROOM = 3

Cell = tuple[int, int]


class MatrixView(QWidget):
    """Rows are what samples are, columns what they are taken for.

    Attributes:
        chosen: a cell was chosen, (truth, predicted), or None for all.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("confusion_matrix")
        self.setAccessibleName("Confusion matrix")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setFont(theme.font("small"))
        self._names: tuple[str, ...] = ()
        self._counts: Classes | None = None
        self._shares = False
        self._marked: Cell | None = None
        self._over: Cell | None = None
        self._caret: Cell = (0, 0)
        self._laid: tuple[float, float, float] | None = None
        self._image: QImage | None = None
        binding.connect(self, theme.changed, self._lay_out_again)

    def sizeHint(self) -> QSize:
        return QSize(320, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(140, 120)

    @property
    def counts(self) -> Classes | None:
        return self._counts

    def show_outcome(self, outcome: Classification | None) -> None:
        """Show another measurement."""
        self._names = () if outcome is None else outcome.names
        self._counts = None if outcome is None else outcome.confusion()
        self._caret = (0, 0)
        self._lay_out_again()
        if outcome is not None:
            wrong = int(outcome.wrong.sum())
            total = numbers.count(int(outcome.counts.reshape(len(outcome.truth), -1).any(1).sum()))
            text = f"{numbers.count(wrong)} of {total} samples misclassified"
            self.setAccessibleDescription(text)

    def show_shares(self, on: bool) -> None:
        """Show the share of each row instead of counts."""
        self._shares = on
        self.update()

    def mark(self, cell: Cell | None) -> None:
        """Mark the cell whose samples are shown."""
        self._marked = cell
        self.update()

    def cell_rect(self, cell: Cell) -> QRectF:
        """Where a cell is."""
        left, top, side = self._geometry()
        return QRectF(left + cell[1] * side, top + cell[0] * side, side, side)

    def cell_at(self, place: QPointF) -> Cell | None:
        """The cell at a place."""
        left, top, side = self._geometry()
        count = len(self._names)
        row, column = int((place.y() - top) // side), int((place.x() - left) // side)
        if not (0 <= row < count and 0 <= column < count):
            return None
        if side >= 1 or self._counts is None:
            return row, column
        # Of the cells that share a pixel the largest count is meant.
        reach = int(np.ceil(1 / side))
        found = self._counts[row : row + reach, column : column + reach]
        down, across = np.unravel_index(int(found.argmax()), found.shape)
        return row + int(down), column + int(across)

    def text_of(self, cell: Cell) -> str:
        """What a cell says."""
        if self._counts is None:
            return ""
        count = int(self._counts[cell])
        if not self._shares:
            return numbers.count(count) if count else ""
        whole = int(self._counts[cell[0]].sum())
        return f"{100 * count / whole:.0f}" if count and whole else ""

    def sentence(self, cell: Cell) -> str:
        """A cell in words."""
        if self._counts is None:
            return ""
        count, whole = int(self._counts[cell]), int(self._counts[cell[0]].sum())
        share = numbers.share(count / whole, 2) if whole else numbers.DASH
        truth, said = self._names[cell[0]], self._names[cell[1]]
        how = "recognised" if cell[0] == cell[1] else f"predicted {said}"
        return f"{numbers.count(count)} of {numbers.count(whole)} {truth} {how} ({share})"

    # -- painting -------------------------------------------------------------------------------

    def _lay_out_again(self) -> None:
        self._laid = self._image = None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out_again()

    def _geometry(self) -> tuple[float, float, float]:
        """Left and upper edge of the first cell, and the side of a cell; all cells fit in."""
        if self._laid is None:
            self._laid = self._measured()
        return self._laid

    def _measured(self) -> tuple[float, float, float]:
        count = max(1, len(self._names))
        metrics = QFontMetricsF(self.font())
        wide = max((metrics.horizontalAdvance(n) for n in self._names), default=0.0)
        left = _LABEL + min(wide, _NAME) + 8
        top = _LABEL + metrics.height() + 4
        room = min(self.width() - left - 4, self.height() - top - 4)
        if room / count < metrics.height() - 3:
            # The names would not fit below one another: their room is the cells'.
            left, top = _LABEL + 2.0, _LABEL + 2.0
            room = min(self.width() - left - 4, self.height() - top - 4)
        side = min(max(room, 1.0) / count, _MOST_CELL)
        return left, top, float(int(side)) if side >= _SEPARATE else side

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._counts is not None:
            self._paint(painter, self._counts)
        painter.end()

    def _paint(self, painter: QPainter, counts: Classes) -> None:
        left, top, side = self._geometry()
        count = len(self._names)
        metrics = QFontMetricsF(self.font())
        painter.setPen(theme.colour("text3"))
        middle = Qt.AlignmentFlag.AlignCenter
        wide = max(count * side, metrics.horizontalAdvance("predicted") + 2)
        high = max(count * side, metrics.horizontalAdvance("actual") + 2)
        painter.drawText(QRectF(left, 0, wide, _LABEL), middle, "predicted")
        painter.save()
        painter.translate(0, top + count * side)
        painter.rotate(-90)
        painter.drawText(QRectF(0, 0, high, _LABEL), middle, "actual")
        painter.restore()
        painter.setPen(theme.colour("text2"))
        # Names that do not fit below one another are left out: the tip has them.
        if top > _LABEL + 2:
            self._paint_names(painter, metrics, left, top, side)
        if count > _MANY or side < _SEPARATE:
            self._paint_image(painter, counts)
        else:
            rows = counts.sum(axis=1)
            most = _most_wrong(counts)
            for row in range(count):
                for column in range(count):
                    self._paint_cell(painter, (row, column), int(rows[row]), most)
        for cell, width, role in ((self._over, 1.0, "text2"), (self._marked, 2.0, "accent")):
            if cell is not None:
                painter.setPen(QPen(theme.colour(role), width))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(self.cell_rect(cell).adjusted(0.5, 0.5, -0.5, -0.5))
        if self.hasFocus():
            painter.setPen(QPen(theme.colour("accent"), 1.0, Qt.PenStyle.DotLine))
            painter.drawRect(self.cell_rect(self._caret).adjusted(2, 2, -2, -2))

    def _paint_image(self, painter: QPainter, counts: Classes) -> None:
        """All cells at once: one by one a thousand classes would take minutes."""
        left, top, side = self._geometry()
        count = len(self._names)
        area = QRectF(left, top, side * count, side * count)
        if self._image is None:
            self._image = _image_of(counts, max(1, round(side * count * self.devicePixelRatioF())))
        painter.drawImage(area, self._image)

    def _paint_names(
        self, painter: QPainter, metrics: QFontMetricsF, left: float, top: float, side: float
    ) -> None:
        for n, name in enumerate(self._names):
            wide = left - _LABEL - 6
            text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, wide)
            place = QRectF(_LABEL, top + n * side, wide, side)
            painter.drawText(
                place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text
            )
            text = metrics.elidedText(name, Qt.TextElideMode.ElideRight, side - 1)
            place = QRectF(left + n * side, _LABEL, side, top - _LABEL - 2)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_cell(self, painter: QPainter, cell: Cell, whole: int, most: int) -> None:
        if self._counts is None:
            return
        rect = self.cell_rect(cell).adjusted(0.5, 0.5, -0.5, -0.5)
        count = int(self._counts[cell])
        right = cell[0] == cell[1]
        strength = count / max(1, whole) if right else count / most
        ground = theme.colour("field")
        if count:
            # Right ones are told by the strength of one colour, wrong ones of another.
            ground = theme.mixed("accent" if right else "error", "field", 0.15 + 0.75 * strength)
        painter.fillRect(rect, ground)
        text = self.text_of(cell)
        metrics = QFontMetricsF(self.font())
        if text and metrics.horizontalAdvance(text) + _TEXT_ROOM <= rect.width():
            painter.setPen(_readable(ground))
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)

    # -- events ---------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._over = self.cell_at(event.position())
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._over = None
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton:
            if cell is not None:
                self._caret = cell
            self._choose(cell)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {
            Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0),
            Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1),
        }  # fmt: skip
        move = moves.get(Qt.Key(event.key()))
        last = len(self._names) - 1
        if move is not None and last >= 0:
            row, column = self._caret
            self._caret = (
                min(max(row + move[0], 0), last), min(max(column + move[1], 0), last)
            )  # fmt: skip
            self.setAccessibleDescription(self.sentence(self._caret))
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self._caret)
        elif event.key() == Qt.Key.Key_Escape and self._marked is not None:
            self._choose(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            cell = self.cell_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.sentence(cell) if cell else "", self)
            return True
        return super().event(event)

    def _choose(self, cell: Cell | None) -> None:
        self.chosen.emit(None if cell == self._marked else cell)


def _most_wrong(counts: Classes) -> int:
    """The largest count beside the diagonal, at least 1."""
    off = counts.copy()
    np.fill_diagonal(off, 0)
    return max(1, int(off.max()))


def _image_of(counts: Classes, pixels: int) -> QImage:
    """The cells as an image; of cells that share a pixel the strongest is seen.

    Args:
        counts: [classes, classes].
        pixels: side of the image.
    """
    diagonal = np.diag(np.diag(counts) / np.maximum(1, counts.sum(axis=1)))
    wrong = counts / _most_wrong(counts)
    np.fill_diagonal(wrong, 0.0)
    right, missed = _as_tones(diagonal, pixels), _as_tones(wrong, pixels)
    shown = np.empty((*right.shape, 4), np.uint8)
    shown[:] = _rgba(theme.colour("field"))
    for role, tones in (("accent", right), ("error", missed)):
        colours = np.array(
            [
                _rgba(theme.mixed(role, "field", 0.15 + 0.75 * n / _TONES))
                for n in range(_TONES + 1)
            ],
            np.uint8,
        )
        found = tones > 0 if role == "accent" else (tones > 0) & (right == 0)
        shown[found] = colours[tones[found]]
    wide = len(shown)
    image = QImage(shown.tobytes(), wide, wide, 4 * wide, QImage.Format.Format_RGBA8888)
    return image.copy()


def _as_tones(shares: npt.NDArray[np.float64], pixels: int) -> npt.NDArray[np.intp]:
    """Shares as 1 … 255, and 0 for none, [side, side] with at most ``pixels`` a side."""
    count = len(shares)
    if pixels < count:
        starts = np.arange(pixels) * count // pixels
        shares = np.maximum.reduceat(np.maximum.reduceat(shares, starts, axis=0), starts, axis=1)
    tones = np.ceil(shares * _TONES).astype(np.intp)
    return np.asarray(tones)


def _rgba(colour: QColor) -> tuple[int, int, int, int]:
    return colour.red(), colour.green(), colour.blue(), 255


def _readable(ground: QColor) -> QColor:
    """Black or white, whichever can be read on a colour."""

    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.03928 else ((channel + 0.055) / 1.055) ** 2.4

    light = sum(
        share * linear(channel)
        for share, channel in zip(
            (0.2126, 0.7152, 0.0722), (ground.redF(), ground.greenF(), ground.blueF()), strict=True
        )
    )
    return QColor("#000000" if light > 0.179 else "#FFFFFF")
