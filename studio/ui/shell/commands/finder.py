"""A field with a list under it that opens over the window: type, choose, Enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QStyle,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from studio.widgets import icons, theme
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel
from studio.widgets.record_table.views import CellPainter, RecordList

WIDTH = 640
_ROW = 32
_ROWS = 12
_TOP = 96
_PAD = 12


@dataclass(frozen=True)
class Found:
    """One line of the list.

    Attributes:
        text: what it is.
        act: does it, or goes there.
        detail: what stands beside it: where it is, what kind it is.
        keys: its key, as people read it.
        reason: why it cannot be done now; empty when it can.
        icon: name of its picture.
        places: letters of the text that were typed.
        tip: a sentence about it.
    """

    text: str
    act: Callable[[], object]
    detail: str = ""
    keys: str = ""
    reason: str = ""
    icon: str = ""
    places: tuple[int, ...] = ()
    tip: str = ""


Search = Callable[[str], Sequence[Found]]


class _Line(CellPainter[Found]):
    """Draws a line: icon, text with the typed letters strong, detail, key."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(WIDTH // 2, _ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        found = self.record(index)
        if found is None:
            return
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.mixed("accent", "dock", 0.24))
            painter.drawRoundedRect(QRectF(rect).adjusted(4, 1, -4, -1), 4, 4)
        inner = rect.adjusted(_PAD, 0, -_PAD, 0)
        if found.icon:
            side = QRectF(inner.left(), rect.center().y() - 7, 16, 16)
            icons.paint(painter, found.icon, side, theme.colour("text2"))
        inner.setLeft(inner.left() + 28)
        for text, role in ((found.keys, "text2"), (found.reason or found.detail, "text3")):
            if text:
                inner.setRight(_draw_end(painter, text, inner, role))
        _draw_text(painter, found, inner)
        painter.restore()


def _spoken(found: Found) -> str:
    parts = (found.text, found.detail, found.keys, found.reason)
    return ", ".join(part for part in parts if part)


_COLUMN: Column[Found] = Column(
    "found", "Found", lambda found: found.text,
    tooltip=lambda found: f"{found.tip}\n{found.reason}".strip(), spoken=_spoken, painter=_Line,
)  # fmt: skip


def _draw_end(painter: QPainter, text: str, inner: QRect, role: str) -> int:
    """Draw a text at the right end; returns where what stands before it must end."""
    metrics = QFontMetrics(painter.font())
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, inner.width() // 2)
    painter.setPen(theme.colour(role))
    flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    painter.drawText(inner, int(flags), shown)
    return inner.right() - metrics.horizontalAdvance(shown) - 16


def _draw_text(painter: QPainter, found: Found, inner: QRect) -> None:
    """Draw the text, the letters that were typed in the accent's colour."""
    metrics = QFontMetrics(painter.font())
    shown = metrics.elidedText(found.text, Qt.TextElideMode.ElideRight, inner.width())
    plain = theme.colour("text3" if found.reason else "text")
    flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    marked = set(found.places)
    left = inner.left()
    for stretch, is_marked in _stretches(shown, marked):
        painter.setPen(theme.colour("accent") if is_marked else plain)
        width = metrics.horizontalAdvance(stretch)
        painter.drawText(QRect(left, inner.top(), width + 4, inner.height()), flags, stretch)
        left += width


def _stretches(text: str, marked: set[int]) -> list[tuple[str, bool]]:
    """The text in pieces that are marked or not as a whole."""
    pieces: list[tuple[str, bool]] = []
    for place, letter in enumerate(text):
        on = place in marked
        if pieces and pieces[-1][1] == on:
            pieces[-1] = (pieces[-1][0] + letter, on)
        else:
            pieces.append((letter, on))
    return pieces


class Finder(QFrame):
    """The field and its list; closes when something is chosen or the user looks elsewhere.

    Args:
        search: finds lines for what is typed.
        placeholder: says what can be found.
        name: of the field, for screen readers.
        window: the window it opens over.
    """

    def __init__(self, search: Search, placeholder: str, name: str, window: QWidget) -> None:
        super().__init__(window, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setObjectName("finder")
        self.setAccessibleName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFrameShape(QFrame.Shape.Box)
        self._search = search
        self._field = QLineEdit(self)
        self._field.setObjectName("finder_field")
        self._field.setAccessibleName(name)
        self._field.setPlaceholderText(placeholder)
        self._field.setFont(theme.font("title"))
        self._field.setMinimumHeight(36)
        self._found: RecordModel[Found] = RecordModel((_COLUMN,), parent=self)
        self._list = RecordList(self._found, "finder_list", "Found", self, is_under_field=True)
        self._empty = QLabel("Nothing found", self)
        self._empty.setProperty("role", "faint")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setFixedHeight(_ROW * 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(8)
        for widget in (self._field, self._list, self._empty):
            column.addWidget(widget)
        self._field.installEventFilter(self)
        self._field.textChanged.connect(self.look)
        self._list.clicked.connect(self._clicked)
        self.setFixedWidth(min(WIDTH, window.width() - 64))
        self.look("")

    @property
    def found(self) -> Sequence[Found]:
        """The lines shown."""
        return self._found.rows

    @property
    def chosen(self) -> Found | None:
        """The line Enter takes."""
        return self._found.record(self._list.row)

    def open_over(self, window: QWidget) -> None:
        """Show it in the upper middle of the window."""
        self._fit()
        corner = window.mapToGlobal(QPoint((window.width() - self.width()) // 2, _TOP))
        self.move(corner)
        self.show()
        self._field.setFocus(Qt.FocusReason.PopupFocusReason)

    def type(self, text: str) -> None:
        """Put a text into the field."""
        self._field.setText(text)

    def look(self, typed: str) -> None:
        """Find lines for what is typed."""
        found = self._search(typed)
        self._found.take(found)
        self._list.setVisible(bool(found))
        self._empty.setVisible(not found)
        self._empty.setText(
            f"Nothing is called \u201c{typed.strip()}\u201d" if typed else "Nothing"
        )
        if found:
            self._list.setCurrentIndex(self._found.at(0))
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        steps = {
            Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_Tab: 1, Qt.Key.Key_Backtab: -1,
            Qt.Key.Key_PageDown: _ROWS - 1, Qt.Key.Key_PageUp: 1 - _ROWS,
        }  # fmt: skip
        key = Qt.Key(event.key())
        if key in steps:
            self._move(steps[key], around=abs(steps[key]) == 1)
            return True
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._take(self.chosen)
            return True
        if key == Qt.Key.Key_Escape:
            self.close()
            return True
        return False

    def _move(self, step: int, *, around: bool) -> None:
        count = self._found.rowCount()
        if count:
            row = self._list.currentIndex().row() + step
            row = row % count if around else min(max(row, 0), count - 1)
            self._list.setCurrentIndex(self._found.at(row))

    def _clicked(self, index: QModelIndex) -> None:
        self._take(self._found.record(index.row()))

    def _take(self, found: Found | None) -> None:
        if found is None or found.reason:
            return
        # Closed first: what is done may open something in the same place.
        self.close()
        found.act()

    def _fit(self) -> None:
        rows = min(self._found.rowCount(), _ROWS)
        if rows:
            self._list.setFixedHeight(rows * _ROW + 2)
        self.adjustSize()
