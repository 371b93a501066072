"""Columns of the kernel table for the view: what its cells say, and how they are painted."""

from __future__ import annotations

from functools import partial
from typing import Protocol, cast

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyleOptionViewItem

from studio.session.core.record_order import sortable
from studio.session.profiling.columns import BY_ID, COLUMNS
from studio.session.profiling.columns import Column as KernelColumn
from studio.session.profiling.table import KernelRow
from studio.ui.panes.profiler.cell_text import shown_text
from studio.widgets import theme
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index
from studio.widgets.record_table.views import CellPainter

_BAND = 3
_PAD = 7
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_BARS = {"share": "accent", "peak": "ok"}
_CARD = (
    "section", "kernel", "calls", "median", "mean", "p95", "min", "max", "gflops", "gbytes",
    "bound",
)  # fmt: skip


def cells() -> tuple[Column[KernelRow], ...]:
    """The columns of the table."""
    return tuple(_cells(column) for column in COLUMNS)


def _cells(column: KernelColumn) -> Column[KernelRow]:
    def exact(row: KernelRow) -> str:
        value = column.value(row)
        return "" if value is None else str(value)

    is_line = column.form == "line"
    return Column(
        column.id, column.title, (lambda _: "") if is_line else partial(shown_text, column),
        tip=column.tip, tooltip=partial(_tip, column), exact=exact,
        order=lambda row: sortable(column.value(row)), is_number=column.form != "text",
        is_shown=column.shown, is_copied=not is_line,
        painter=lambda view, shown: _KernelPainter(view, shown, column),
    )  # fmt: skip


def face_of(row: KernelRow) -> object:
    """All that is shown of a row: it looks the same until a sample comes in."""
    return {**vars(row), "recent": row.recent.tobytes()}


def _tip(column: KernelColumn, row: KernelRow) -> str:
    """The exact value, and what cannot be said in its cell."""
    value = column.value(row)
    exact = "not known" if value is None else f"{value}"
    if column.form == "text":
        facts = (f"{BY_ID[i].title}: {shown_text(BY_ID[i], row)}" for i in _CARD)
        return "\n".join((exact, *facts))
    return f"{column.title}: {exact}\n{column.tip}"


class MarkedTable(Protocol):
    """What the painter asks of the table."""

    figures: QFont

    def mark_of(self, row: KernelRow) -> str: ...

    def shown_columns(self) -> tuple[str, ...]: ...

    def fontMetrics(self) -> QFontMetrics: ...

    def textElideMode(self) -> Qt.TextElideMode: ...


class _KernelPainter(CellPainter[KernelRow]):
    """Paints shares as bars, the latest samples as a line, and marks at the left edge."""

    def __init__(
        self, view: QAbstractItemView, column: Column[KernelRow], value: KernelColumn
    ) -> None:
        super().__init__(view, column)
        self._table = cast("MarkedTable", view)
        self._value = value

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        # Drawn here and not by the style, which takes ten times as long and shows no more.
        row, column = self.record(index), self._value
        if row is None:
            return
        mark = self._table.mark_of(row)
        area = QRectF(option.rect)
        painter.save()
        self._paint_ground(painter, area, option, mark)
        if column.id in _BARS:
            self._paint_bar(painter, area, row)
        if column.form == "line":
            self._paint_line(painter, area.adjusted(7, 4, -7, -4), row)
        else:
            self._paint_text(painter, area.adjusted(_PAD, 0, -_PAD, 0), row)
        if mark and self._table.shown_columns()[0] == column.id:
            self._paint_mark(painter, area, mark)
        painter.restore()

    def _paint_ground(
        self, painter: QPainter, area: QRectF, option: QStyleOptionViewItem, mark: str
    ) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, theme.colour("accent", 70))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(area, theme.colour("hover"))
        if mark:
            painter.fillRect(area, theme.colour("accent", 46 if mark == "primary" else 22))

    def _paint_text(self, painter: QPainter, area: QRectF, row: KernelRow) -> None:
        painter.setFont(self._table.figures)
        painter.setPen(theme.colour("text"))
        text = self.column.text(row)
        if self._value.form == "text":
            metrics = self._table.fontMetrics()
            text = metrics.elidedText(text, self._table.textElideMode(), int(area.width()))
            painter.drawText(area, _LEFT, text)
        else:
            painter.drawText(area, _RIGHT, text)

    def _paint_mark(self, painter: QPainter, area: QRectF, mark: str) -> None:
        band = QRectF(area.left() + 1, area.top() + 2, _BAND, area.height() - 4)
        if mark == "primary":
            painter.fillRect(band, theme.colour("accent"))
        else:
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(band)

    def _paint_bar(self, painter: QPainter, area: QRectF, row: KernelRow) -> None:
        value = self._value.value(row)
        if not isinstance(value, float):
            return
        wide = (area.width() - 4) * min(1.0, max(0.0, value))
        bar = QRectF(area.right() - 2 - wide, area.top() + 3, wide, area.height() - 6)
        painter.fillRect(bar, theme.colour(_BARS[self._value.id], 56))

    def _paint_line(self, painter: QPainter, area: QRectF, row: KernelRow) -> None:
        samples = row.recent
        if len(samples) < 2:
            return
        # From zero, or a kernel as steady as a rock would look like a mountain range.
        top = float(samples.max()) or 1.0
        step = area.width() / (len(samples) - 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("series.0"), 1))
        painter.drawPolyline(
            QPolygonF(
                [
                    QPointF(area.left() + step * n, area.bottom() - area.height() * value / top)
                    for n, value in enumerate(samples.tolist())
                ]
            )
        )
