"""The legend: a chip for each curve; a click hides it, with Shift it is shown alone."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QLayout, QLayoutItem, QSizePolicy, QWidget

from studio.session.runs.curves_display import CurveKey, CurvesDisplay, Entry
from studio.ui.panes.plots import strokes
from studio.widgets import theme

_SAMPLE = 20
_HIGH = 22
_GAP = 6
_TIP = "Click to hide or show, Shift+click to show only this"


class Chip(QAbstractButton):
    """One curve of the legend."""

    hovered = Signal(object)
    soloed = Signal(object)

    def __init__(self, entry: Entry, parent: QWidget) -> None:
        super().__init__(parent)
        self.entry = entry
        self.setCheckable(True)
        self.setFont(theme.font("small"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_entry(entry)

    def show_entry(self, entry: Entry) -> None:
        """Show another curve, or the same in another state."""
        self.entry = entry
        self.setObjectName(f"chip.{entry.key.run}.{entry.key.part}")
        self.setText(entry.legend)
        self.setChecked(entry.visible)
        self.setAccessibleName(entry.legend)
        state = "shown" if entry.visible else "hidden"
        self.setAccessibleDescription(f"{state}; {entry.note}" if entry.note else state)
        self.setToolTip(f"{entry.label}: {entry.note}\n{_TIP}" if entry.note else _TIP)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        wide = QFontMetrics(self.font()).horizontalAdvance(self.text())
        return QSize(_SAMPLE + _GAP + wide + 8, _HIGH)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.hovered.emit(self.entry.key)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self.isDown():
            self.setDown(False)
            self.soloed.emit(self.entry.key)
            return
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and (
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            self.soloed.emit(self.entry.key)
            return
        super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.hasFocus():
            painter.setPen(theme.colour("accent") if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour("hover"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        visible, style = self.entry.visible, self.entry.style
        painter.setOpacity(1.0 if visible else 0.35)
        middle = self.height() / 2
        if self.entry.seeds:
            painter.fillRect(QRectF(4, middle - 5, _SAMPLE - 2, 10),
                             strokes.colour(style, strokes.BAND))  # fmt: skip
        painter.setPen(strokes.pen(style, 2.0, ratio=self.devicePixelRatioF()))
        painter.drawLine(QPointF(4, middle), QPointF(4 + _SAMPLE - 2, middle))
        if style.dotted:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(strokes.colour(style))
            painter.drawEllipse(QPointF(4 + _SAMPLE / 2 - 1, middle), 3, 3)
        painter.setOpacity(1.0)
        painter.setPen(theme.colour("text" if visible else "text3"))
        font = self.font()
        font.setStrikeOut(not visible)
        painter.setFont(font)
        place = QRectF(_SAMPLE + _GAP + 2, 0, self.width() - _SAMPLE - _GAP, self.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()


class Legend(QWidget):
    """The chips, as many lines as they need.

    Args:
        display: what is drawn.
        parent: the pane.
    """

    def __init__(self, display: CurvesDisplay, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("plot_legend")
        self.setAccessibleName("Legend")
        self._display = display
        self._flow = FlowLayout(self)
        self._chips: list[Chip] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The chips shown."""
        return tuple(self._chips)

    def refresh(self) -> None:
        """Show the curves there are now."""
        entries = self._display.entries()
        while len(self._chips) > len(entries):
            chip = self._chips.pop()
            self._flow.removeWidget(chip)
            chip.deleteLater()
        while len(self._chips) < len(entries):
            chip = Chip(entries[len(self._chips)], self)
            chip.clicked.connect(lambda _on=False, made=chip: self._toggle(made))
            chip.soloed.connect(self._solo)
            chip.hovered.connect(self._hover)
            self._flow.addWidget(chip)
            self._chips.append(chip)
        for chip, entry in zip(self._chips, entries, strict=True):
            if chip.entry != entry:
                chip.show_entry(entry)

    def _toggle(self, chip: Chip) -> None:
        self._display.toggle(chip.entry.key)

    def _solo(self, key: CurveKey) -> None:
        self._display.solo(key)

    def _hover(self, key: CurveKey | None) -> None:
        self._display.hover(key)


class FlowLayout(QLayout):
    """Widgets side by side, on as many lines as they need."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self._items: list[QLayoutItem] = []

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        wide = sum(item.sizeHint().width() + _GAP for item in self._items)
        return QSize(wide, _HIGH)

    def minimumSize(self) -> QSize:
        return QSize(max((i.sizeHint().width() for i in self._items), default=0), _HIGH)

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        x, y = rect.left(), rect.top()
        for item in self._items:
            size = item.sizeHint()
            if x > rect.left() and x + size.width() > rect.right() + 1:
                x, y = rect.left(), y + _HIGH
            if move:
                item.setGeometry(QRect(x, y, min(size.width(), rect.width()), size.height()))
            x += size.width() + _GAP
        return y + _HIGH - rect.top() if self._items else 0
