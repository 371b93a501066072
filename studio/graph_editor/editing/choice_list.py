"""The list under a search field on the canvas: icon, name, port, shape in each row."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from studio.graph_editor.editing.choosing import Choice
from studio.widgets import icons, theme
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel
from studio.widgets.record_table.views import CellPainter, RecordList

_PAD = 8.0
_ICON = 16.0


class ChoicePainter(CellPainter[Choice]):
    """Paints a row."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, theme.ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        choice = self.record(index)
        if choice is None:
            return
        area = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._ground(painter, option, area)
        middle = area.center().y()
        icon = QRectF(area.left() + _PAD, middle - _ICON / 2, _ICON, _ICON)
        icons.paint(
            painter, f"family-{choice.family}", icon, theme.colour(f"family.{choice.family}")
        )
        left = icon.right() + _PAD
        flags = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        right = area.right() - _PAD
        if choice.shape:
            painter.setFont(theme.font("numbers"))
            painter.setPen(theme.colour("text2"))
            width = QFontMetricsF(painter.font()).horizontalAdvance(choice.shape)
            place = QRectF(right - width, area.top(), width + 1, area.height())
            painter.drawText(place, flags, choice.shape)
            right -= width + _PAD
        painter.setFont(theme.font("ui"))
        painter.setPen(theme.colour("text"))
        metrics = QFontMetricsF(painter.font())
        title = metrics.elidedText(choice.title, Qt.TextElideMode.ElideRight, right - left)
        painter.drawText(QRectF(left, area.top(), right - left, area.height()), flags, title)
        left += metrics.horizontalAdvance(title) + _PAD
        if choice.port and left < right - 24:
            painter.setFont(theme.font("small"))
            painter.setPen(theme.colour("text3"))
            port = QFontMetricsF(painter.font()).elidedText(
                choice.port, Qt.TextElideMode.ElideRight, right - left
            )
            painter.drawText(QRectF(left, area.top(), right - left, area.height()), flags, port)
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, area: QRectF) -> None:
        state = option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.mixed("accent", "dock", 0.24))
            painter.drawRoundedRect(area.adjusted(2, 1, -2, -1), 4, 4)


def _spoken(choice: Choice) -> str:
    parts = (choice.title, choice.port, choice.shape and f"output {choice.shape}")
    return ", ".join(part for part in parts if part)


_COLUMN: Column[Choice] = Column(
    "choice", "Layers found", lambda choice: choice.title, tooltip=lambda choice: choice.doc,
    spoken=_spoken, painter=ChoicePainter,
)  # fmt: skip


class ChoiceList(RecordList):
    """The list; its current row is what Enter takes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        entries: RecordModel[Choice] = RecordModel((_COLUMN,))
        super().__init__(entries, "choice_list", "Layers found", parent, is_under_field=True)

    def go_round(self, row: int) -> None:
        """Make a row the current one, going round at the ends."""
        count = len(self.entries.rows)
        if count:
            self.go_to(row % count)
