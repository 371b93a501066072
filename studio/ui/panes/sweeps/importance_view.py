"""Bars of how much each thing that a sweep varied mattered."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.engine.scale.sweep.folder import TrialRow
from studio.engine.scale.sweep.search_space import Axis
from studio.session.sweeps.importance import NEEDED, Importance, ImportanceReport, importance_of
from studio.widgets import binding, numbers, theme

_ROW, _EDGE, _GAP = 22, 8, 8
_NUMBER = 44
_BAR = 8
_MOST_NAME = 0.45


class ImportanceView(QWidget):
    """A row for each axis: its name, a bar and the number."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("importance")
        self.setAccessibleName("Importance of what is varied")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFont(theme.font("small"))
        self._report = ImportanceReport(0)
        binding.connect(self, theme.changed, self.update)

    def sizeHint(self) -> QSize:
        rows = max(len(self._report.items), 2)
        return QSize(240, rows * _ROW + 2 * _EDGE)

    def minimumSizeHint(self) -> QSize:
        return QSize(140, self.sizeHint().height())

    @property
    def report(self) -> ImportanceReport:
        return self._report

    def show_trials(self, rows: Sequence[TrialRow], axes: Sequence[Axis]) -> None:
        """Show what the trials of a sweep tell."""
        self._report = importance_of(rows, axes)
        said = [f"{each.name} {self.number_text(each)}" for each in self._report.items]
        self.setAccessibleDescription("; ".join([*said, self._report.explanation]))
        self.updateGeometry()
        self.update()

    @staticmethod
    def number_text(item: Importance) -> str:
        """The number of a row; a dash where the trials cannot tell."""
        return numbers.DASH if math.isnan(item.share) else f"{item.share:.0%}"

    def row_box(self, number: int) -> QRectF:
        """Where a row stands."""
        return QRectF(_EDGE, _EDGE + number * _ROW, self.width() - 2 * _EDGE, _ROW)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.colour("dock"))
        report = self._report
        if not report.is_enough:
            painter.setPen(theme.colour("text3"))
            text = f"Too few trials: {report.trials} of {NEEDED} with a result"
            box = QRectF(self.rect()).adjusted(_EDGE, 0, -_EDGE, 0)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(box, int(flags), text)
            painter.end()
            return
        metrics = QFontMetricsF(self.font())
        wide = max((metrics.horizontalAdvance(each.name) for each in report.items), default=0.0)
        name = min(wide + 1, (self.width() - 2 * _EDGE) * _MOST_NAME)
        for number, item in enumerate(report.items):
            self._paint_row(painter, self.row_box(number), item, name, metrics)
        painter.end()

    def _paint_row(
        self, painter: QPainter, box: QRectF, item: Importance, name: float, metrics: QFontMetricsF
    ) -> None:
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(theme.colour("text"))
        # The end of layer.option tells axes apart.
        text = metrics.elidedText(item.name, Qt.TextElideMode.ElideLeft, name)
        painter.drawText(QRectF(box.left(), box.top(), name, _ROW),
                         middle | Qt.AlignmentFlag.AlignLeft, text)  # fmt: skip
        left = box.left() + name + _GAP
        room = max(box.right() - _NUMBER - left, 8.0)
        track = QRectF(left, box.center().y() - _BAR / 2, room, _BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour("field"))
        painter.drawRoundedRect(track, 2, 2)
        share = 0.0 if math.isnan(item.share) else item.share
        if share > 0.0:
            track.setWidth(max(room * share, 2.0))
            painter.setBrush(theme.colour("accent", 255 if item.is_clear else 90))
            painter.drawRoundedRect(track, 2, 2)
        painter.setPen(theme.colour("text" if item.is_clear else "text3"))
        painter.drawText(QRectF(box.right() - _NUMBER, box.top(), _NUMBER, _ROW),
                         middle | Qt.AlignmentFlag.AlignRight, self.number_text(item))  # fmt: skip

    def tip_at(self, y: float) -> str:
        """What is said at a height: of the row there, and what the numbers are."""
        report = self._report
        for number, item in enumerate(report.items):
            box = self.row_box(number)
            if box.top() <= y < box.bottom():
                return f"{_sentence(item)}\n{report.explanation}"
        return report.explanation

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos().y()), self)
            return True
        return super().event(event)


def _sentence(item: Importance) -> str:
    if math.isnan(item.share):
        return f"{item.name}: the trials cannot tell; they do not differ in it enough."
    clear = "more than chance leaves" if item.is_clear else "chance may leave as much"
    return f"{item.name}: {item.share:.1%}, from {item.groups} groups of values; {clear}."
