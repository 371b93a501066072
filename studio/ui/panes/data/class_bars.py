"""How many samples each class has in every part, as bars; a click shows only that class."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from studio.session.data.parts import Part, PartName
from studio.widgets import binding, numbers, theme

ROLES: dict[PartName, str] = {
    "training": "accent",
    "validation": "series.1",
    "test": "outline",
}
"""Colour of each part."""

_ROW = 20
_MOST_ROWS = 12
_NAME_SHARE = 0.4
_COUNT_WIDTH = 48
_GAP = 6
_MEASURED = 200


class ClassBars(QAbstractScrollArea):
    """One bar per class, a section for each part."""

    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("class_bars")
        self.setAccessibleName("Samples of each class")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._names: tuple[str, ...] = ()
        self._parts: tuple[Part, ...] = ()
        self._chosen = -1
        binding.connect(self, theme.changed, self.viewport().update)

    def show_parts(self, names: tuple[str, ...], parts: tuple[Part, ...]) -> None:
        """Show the classes of some parts."""
        if names != self._names:
            self._chosen = -1
        self._names, self._parts = names, parts
        self.setFixedHeight(min(len(names), _MOST_ROWS) * _ROW)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, len(names) * _ROW - self.height()))
        bar.setSingleStep(_ROW)
        bar.setPageStep(self.height())
        self.viewport().update()

    @property
    def chosen_class(self) -> int:
        """Index of the only class shown; -1 for all."""
        return self._chosen

    def choose(self, klass: int) -> None:
        """Show only a class, or all with -1."""
        if klass != self._chosen:
            self._chosen = klass
            self.viewport().update()
            self.chosen.emit(klass)

    def sizeHint(self) -> QSize:
        return QSize(240, self.height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        klass = self._class_at(event.position().toPoint())
        if klass >= 0 and event.button() is Qt.MouseButton.LeftButton:
            self.choose(-1 if klass == self._chosen else klass)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is not None and self._names:
            self.choose(min(max(-1, self._chosen + step), len(self._names) - 1))
        elif event.key() == Qt.Key.Key_Escape and self._chosen >= 0:
            self.choose(-1)
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            klass = self._class_at(event.pos())
            if klass < 0:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), self.text_of(klass), self.viewport())
            return True
        return super().viewportEvent(event)

    def text_of(self, klass: int) -> str:
        """What there is to say of a class."""
        lines = [f"{numbers.count(int(p.counts[klass]))} {p.title}" for p in self._parts]
        return f"{self._names[klass]}: " + ", ".join(lines)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setFont(theme.font("small"))
        totals = sum((p.counts for p in self._parts[1:]), self._parts[0].counts.copy())
        most = max(1, int(totals.max())) if len(totals) else 1
        top = self.verticalScrollBar().value()
        first = top // _ROW
        for klass in range(first, min(len(self._names), first + _MOST_ROWS + 2)):
            self._paint_class(painter, klass, klass * _ROW - top, int(totals[klass]), most)
        painter.end()

    def _paint_class(self, painter: QPainter, klass: int, y: int, total: int, most: int) -> None:
        width = self.viewport().width()
        metrics = painter.fontMetrics()
        longest = max(metrics.horizontalAdvance(name) for name in self._names[:_MEASURED])
        name_width = min(longest + 12, int(width * _NAME_SHARE))
        room = QRect(0, y, name_width - _GAP, _ROW)
        is_chosen = klass == self._chosen
        if is_chosen:
            painter.fillRect(QRect(0, y, width, _ROW), theme.mixed("accent", "dock", 0.18))
        painter.setPen(theme.colour("text" if is_chosen else "text2"))
        name = painter.fontMetrics().elidedText(
            self._names[klass], Qt.TextElideMode.ElideRight, room.width() - 2
        )
        painter.drawText(room.adjusted(2, 0, 0, 0), _LEFT, name)
        left = float(name_width)
        full = max(1.0, width - name_width - _COUNT_WIDTH)
        for part in self._parts:
            length = full * int(part.counts[klass]) / most
            painter.fillRect(QRectF(left, y + 5, length, _ROW - 10), theme.colour(ROLES[part.name]))
            left += length
        painter.setPen(theme.colour("text2"))
        painter.drawText(QRect(0, y, width - 2, _ROW), _RIGHT, numbers.count(total))
        if self.hasFocus() and is_chosen:
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(QRect(0, y, width - 1, _ROW - 1))

    def _class_at(self, point: QPoint) -> int:
        klass = (point.y() + self.verticalScrollBar().value()) // _ROW
        return klass if 0 <= klass < len(self._names) else -1


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class PartsBar(QWidget):
    """The parts of the data as one bar, with their sizes below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("parts_bar")
        self._parts: tuple[Part, ...] = ()
        self.setFixedHeight(34)
        self.setMinimumWidth(80)
        binding.connect(self, theme.changed, self.update)

    def show_parts(self, parts: tuple[Part, ...]) -> None:
        """Show these parts."""
        self._parts = parts
        self.setAccessibleName(
            ", ".join(f"{numbers.count(len(p))} {p.title}" for p in parts) or "no parts"
        )
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        total = sum(len(part) for part in self._parts)
        if not total:
            return
        painter = QPainter(self)
        painter.setFont(theme.font("small"))
        left, text_left = 0.0, 0
        for part in self._parts:
            length = self.width() * len(part) / total
            painter.fillRect(QRectF(left, 2, max(1.0, length - 1), 10),
                             theme.colour(ROLES[part.name]))  # fmt: skip
            left += length
            text = f"{numbers.count(len(part))} {part.title}"
            painter.fillRect(QRectF(text_left, 21, 7, 7), theme.colour(ROLES[part.name]))
            painter.setPen(theme.colour("text2"))
            painter.drawText(QRect(text_left + 10, 15, self.width(), 18), _LEFT, text)
            text_left += painter.fontMetrics().horizontalAdvance(text) + 22
        painter.end()
