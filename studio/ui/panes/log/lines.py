"""Lines of the log as a list view wants them, and how one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.ui.kit import icons, theme
from studio.ui.models.logbook import LogLine
from studio.ui.models.notices import Severity

Index: TypeAlias = "QModelIndex | QPersistentModelIndex"

LINE_ROLE = Qt.ItemDataRole.UserRole
"""The `LogLine` of a row."""

_NONE = QModelIndex()
_SIGN = 14
_LEAST_WORDS = 120
"""Room that the sentence of a line is given before its clock and source are drawn."""
_ROLES: dict[Severity, str] = {
    "info": "text3", "ok": "ok", "warning": "warning", "error": "error",
}  # fmt: skip


class LogLines(QAbstractListModel):
    """The lines that pass the filter, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[LogLine, ...] = ()

    def set_lines(self, lines: Sequence[LogLine]) -> None:
        """Show these lines; those there already keep their place and their selection."""
        found, before = tuple(lines), self._lines
        if len(found) >= len(before) and all(a is b for a, b in zip(found, before, strict=False)):
            if len(found) > len(before):
                self.beginInsertRows(_NONE, len(before), len(found) - 1)
                self._lines = found
                self.endInsertRows()
            if before:
                # The last one may have been said again.
                self.dataChanged.emit(self.index(len(before) - 1), self.index(len(before) - 1))
            return
        self.beginResetModel()
        self._lines = found
        self.endResetModel()

    def line_at(self, place: int) -> LogLine:
        """The line in a row."""
        return self._lines[place]

    def place_of(self, line: LogLine) -> int:
        """The row of a line; -1 where it is not shown."""
        return next((at for at, each in enumerate(self._lines) if each is line), -1)

    def rowCount(self, parent: Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return line.plain().splitlines()[0]
        if role == Qt.ItemDataRole.ToolTipRole:
            return line.details or line.text
        if role == LINE_ROLE:
            return line
        return None


class LogLinePainter(QStyledItemDelegate):
    """Draws clock, sign, source and sentence in columns."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(_LEAST_WORDS, theme.COMPACT_ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        line = index.data(LINE_ROLE)
        if not isinstance(line, LogLine):
            return
        painter.save()
        area = QRectF(option.rect)
        state = option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, theme.mixed("accent", "dock", 0.30))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(area, theme.colour("hover"))
        small, ui = QFontMetricsF(theme.font("small")), QFontMetricsF(theme.font("ui"))
        clock = small.horizontalAdvance("00:00:00") + 10
        source = small.horizontalAdvance("compiler") + 12
        # What is said comes first: where it has no room, who said it and when give way.
        free = area.width() - 12 - _SIGN - 8
        has_clock = free - clock >= _LEAST_WORDS
        has_source = free - clock - source >= _LEAST_WORDS
        painter.setFont(theme.font("small"))
        painter.setPen(theme.colour("text2"))
        x = area.left() + 6
        if has_clock:
            painter.drawText(QRectF(x, area.top(), clock - 6, area.height()), _LEFT, line.clock)
            x += clock
        sign = QRectF(x, area.center().y() - _SIGN / 2, _SIGN, _SIGN)
        icons.paint(painter, line.severity, sign, theme.colour(_ROLES[line.severity]))
        x += _SIGN + 8
        if has_source:
            painter.drawText(QRectF(x, area.top(), source - 8, area.height()), _LEFT, line.source)
            x += source
        painter.setFont(theme.font("ui"))
        often = f"   {line.times} times" if line.times > 1 else ""
        room = area.right() - 6 - x - ui.horizontalAdvance(often)
        text = ui.elidedText(line.text.replace("\n", " "), Qt.TextElideMode.ElideRight, room)
        painter.setPen(theme.colour("error" if line.severity == "error" else "text"))
        painter.drawText(QRectF(x, area.top(), room + 2, area.height()), _LEFT, text)
        if often:
            painter.setPen(theme.colour("text2"))
            at = x + ui.horizontalAdvance(text)
            painter.drawText(
                QRectF(at, area.top(), ui.horizontalAdvance(often) + 2, area.height()),
                _LEFT, often,
            )  # fmt: skip
        painter.restore()


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
