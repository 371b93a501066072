"""The kernel table: its columns, how its cells are painted, and which rows are marked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import cast

from PySide6.QtCore import QModelIndex, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractItemView, QMenu, QStyle, QStyleOptionViewItem, QWidget

from studio.session.core.record_order import sortable
from studio.session.profiling.columns import BY_ID, COLUMNS, Form
from studio.session.profiling.columns import Column as KernelColumn
from studio.session.profiling.kernel_rows import KernelRow
from studio.widgets import binding, numbers, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.menus import own_keys
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel
from studio.widgets.record_table.views import CellPainter, RecordTable

PLACES = {column.id: place for place, column in enumerate(COLUMNS)}
_LEAST_NAME = 11
_MORE_LAYERS = 14

_BAND = 3
_PAD = 7
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_BARS = {"share": "accent", "peak": "ok"}
_CARD = (
    "section", "kernel", "calls", "median", "mean", "p95", "min", "max", "gflops", "gbytes",
    "bound",
)  # fmt: skip


class KernelTable(RecordTable):
    """Kernels, one row each.

    Attributes:
        picked: the user chose rows, with the mouse or the keyboard.
        opened: the user wants to see where a row's kernel comes from.
    """

    picked = Signal(object)
    opened = Signal(object)

    copies_rows = True

    def __init__(self, parent: QWidget | None = None) -> None:
        entries = RecordModel(
            tuple(map(_column, COLUMNS)),
            key=lambda row: row.id,
            face=_face,
            says_order=True,
            heading="small",
        )
        super().__init__(entries, "kernel_table", "Kernels", parent)
        self._marked: frozenset[int] = frozenset()
        self._primary: frozenset[int] = frozenset()
        self._own_change = False
        # GRADS_CONV2D and GRADS_CONCAT differ at their ends.
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSortingEnabled(True)
        # Figures of one width, so that digits stand below each other.
        self.figures = theme.font("small")
        self.figures.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(self.figures)
        self.viewport().setMouseTracking(True)
        header = self.horizontalHeader()
        header.setSortIndicatorShown(False)
        header.setMinimumSectionSize(40)
        self.offer_columns()
        for place, column in enumerate(COLUMNS):
            self.setColumnHidden(place, not column.shown)
        self._size_columns()
        self.sortByColumn(PLACES["share"], Qt.SortOrder.DescendingOrder)
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        self.doubleClicked.connect(self.enter)
        self.fades = SideFades(self)
        binding.refresh(self, self._theme_changed, theme.changed)

    # -- columns --------------------------------------------------------------------------------

    def show_column(self, key: str, shown: bool = True) -> None:
        """Show a column, or hide it; the last one stays."""
        if shown or self.shown_columns() != (key,):
            super().show_column(key, shown)

    def sort_by(self, column_id: str) -> None:
        """Sort by a column, names upwards and numbers downwards; it is shown then."""
        if column_id not in self.shown_columns():
            self.show_column(column_id)
        way = Qt.SortOrder
        is_text = COLUMNS[PLACES[column_id]].form == "text"
        self.sortByColumn(PLACES[column_id], way.AscendingOrder if is_text else way.DescendingOrder)

    def sort_menu(self, parent: QWidget) -> QMenu:
        """The columns to sort by."""
        menu = own_keys(QMenu("Sort by", parent))
        for column in COLUMNS:
            action = menu.addAction(column.title)
            action.setObjectName(f"sort.{column.id}")
            action.setToolTip(column.tip)
            action.setCheckable(True)
            action.setChecked(column.id == self.entries.order[0])
            action.triggered.connect(lambda _=False, name=column.id: self.sort_by(name))
        return menu

    def _size_columns(self) -> None:
        figure = self.fontMetrics().horizontalAdvance("0")
        for place, column in enumerate(COLUMNS):
            self.setColumnWidth(place, figure * column.width + 12)
        self.fit()

    def fit_columns(self) -> None:
        """Give what is left of the width to the first column of names that is shown."""
        self._show_roomy()
        name = self.search_column()
        if name:
            figure = self.fontMetrics().horizontalAdvance("0")
            fit_column(self, PLACES[name], _LEAST_NAME * figure)

    def search_column(self) -> str:
        """The first column of names that is shown."""
        shown = self.shown_columns()
        return next((each for each in ("instruction", "kernel", "layer") if each in shown), "")

    def _show_roomy(self) -> None:
        """Show more columns where there is room for them, until the user chooses some."""
        if self._choices:
            return
        figure = self.fontMetrics().horizontalAdvance("0")
        usual = (column for column in COLUMNS if column.shown)
        room = self.viewport().width() - sum(figure * c.width + 12 for c in usual)
        for place, column in enumerate(COLUMNS):
            if column.roomy:
                wide = figure * column.width + 12
                self.setColumnHidden(place, wide > room)
                room -= 0 if self.isColumnHidden(place) else wide
        # Fused kernels work for several layers.
        layer = PLACES["layer"]
        more = min(max(0, room // 3), figure * _MORE_LAYERS)
        self.setColumnWidth(layer, figure * COLUMNS[layer].width + 12 + more)

    # -- rows -----------------------------------------------------------------------------------

    def set_rows(self, rows: Iterable[KernelRow]) -> None:
        """Show these rows; those chosen stay chosen."""
        chosen = {row.id for row in self.chosen()}
        self._own_change = True
        try:
            self.entries.take(tuple(rows))
            if chosen and not self.selectionModel().hasSelection():
                self.choose(n for n, row in enumerate(self.entries.rows) if row.id in chosen)
        finally:
            self._own_change = False

    def chosen(self) -> tuple[KernelRow, ...]:
        """The rows the user chose, from above."""
        return tuple(self.entries.rows[row] for row in self.chosen_rows())

    def mark(self, marked: frozenset[int], primary: frozenset[int], *, follow: bool) -> None:
        """Mark the rows of these instructions.

        Args:
            marked: instructions that belong to what is selected.
            primary: those of its primary thing.
            follow: the selection came from another view: forget the choice made here, and bring
                the first primary row into sight if it is out of it.
        """
        self._marked, self._primary = marked, primary
        if follow:
            self._own_change = True
            self.clearSelection()
            self._own_change = False
            self._reveal()
        self.viewport().update()

    def marked_rows(self) -> tuple[KernelRow, ...]:
        """The rows that are marked."""
        return tuple(row for row in self.entries.rows if self.mark_of(row))

    def mark_of(self, row: KernelRow) -> str:
        """``primary``, ``other``, or empty for a row that is not marked."""
        if self._primary.intersection(row.indices):
            return "primary"
        return "other" if self._marked.intersection(row.indices) else ""

    def _reveal(self) -> None:
        places = [n for n, row in enumerate(self.entries.rows) if self.mark_of(row) == "primary"]
        if not places:
            return
        shown = self.viewport().rect()
        index = self.entries.at(places[0])
        top = self.rowViewportPosition(places[0])
        if top < 0 or top + self.rowHeight(places[0]) > shown.height():
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    def _selection_changed(self) -> None:
        if not self._own_change:
            self.picked.emit(self.chosen())

    def enter(self, index: QModelIndex) -> bool:
        """Show where the kernel of a row comes from."""
        row = self.entries.record(index.row())
        if row is not None:
            self.opened.emit(row)
        return True

    def _theme_changed(self) -> None:
        self._size_columns()
        self.viewport().update()


def _column(column: KernelColumn) -> Column[KernelRow]:
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


def _face(row: KernelRow) -> object:
    """All that is shown of a row: it looks the same until a sample comes in."""
    return {**vars(row), "recent": row.recent.tobytes()}


def _tip(column: KernelColumn, row: KernelRow) -> str:
    """The exact value, and what cannot be said in its cell."""
    value = column.value(row)
    exact = "unknown" if value is None else f"{value}"
    if column.form == "text":
        facts = (f"{BY_ID[i].title}: {shown_text(BY_ID[i], row)}" for i in _CARD)
        return "\n".join((exact, *facts))
    return f"{column.title}: {exact}\n{column.tip}"


class _KernelPainter(CellPainter[KernelRow]):
    """Paints shares as bars, the latest samples as a line, and marks at the left edge."""

    def __init__(
        self, view: QAbstractItemView, column: Column[KernelRow], value: KernelColumn
    ) -> None:
        super().__init__(view, column)
        self._table = cast("KernelTable", view)
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


def shown_text(column: KernelColumn, row: KernelRow) -> str:
    """A cell of the table."""
    value = column.value(row)
    if value is None or value == "":
        return numbers.DASH
    if isinstance(value, str):
        return value
    return _WRITERS[column.form](float(value))


def _time(value: float) -> str:
    # One decimal everywhere, so that the points of a column stand below each other.
    return f"{value:,.1f}".replace(",", numbers.THIN)


def _share(value: float) -> str:
    return f"{value * 100:.1f}{numbers.THIN}%"


_WRITERS: Mapping[Form, Callable[[float], str]] = {
    "count": lambda value: numbers.count(round(value)),
    "time_us": _time,
    "time_ms": _time,
    "share": _share,
    "bytes": lambda value: numbers.memory(round(value)),
    "number": lambda value: numbers.quantity(value),
}
