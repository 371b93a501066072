"""Lines of the log as records of a list, and how one is drawn."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from studio.session.notices.logbook import LogLine
from studio.session.notices.notices import Severity
from studio.widgets import icons, theme
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel
from studio.widgets.record_table.views import CellPainter

_SIGN = 14
_LEAST_WORDS = 120
"""Room that the sentence of a line is given before its clock and source are drawn."""
_ROLES: dict[Severity, str] = {
    "info": "text3", "ok": "ok", "warning": "warning", "error": "error",
}  # fmt: skip


class _LinePainter(CellPainter[LogLine]):
    """Draws clock, sign, source and sentence in columns."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(_LEAST_WORDS, theme.COMPACT_ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        line = self.record(index)
        if line is None:
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


LINE: Column[LogLine] = Column(
    "line", "Log", lambda line: line.plain().splitlines()[0],
    tooltip=lambda line: line.details or line.text, painter=_LinePainter,
)  # fmt: skip


def log_lines() -> RecordModel[LogLine]:
    """The lines that pass the filter; those there already keep their place and their selection."""
    # The last one may be said again: the same line, more often.
    return RecordModel(
        (LINE,), key=lambda line: line.number, face=lambda line: (line.text, line.times)
    )
