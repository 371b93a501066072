"""The kernel table: sorted, marked by the selection, with columns the user chooses."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFont,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from studio.ui.kit import binding, contexts, theme
from studio.ui.kit.column_room import fit_column
from studio.ui.kit.side_fades import SideFades
from studio.ui.models.profiling_columns import COLUMNS, Column
from studio.ui.models.profiling_table import KernelRow
from studio.ui.panes.profiler.cell_text import shown_text
from studio.ui.panes.profiler.kernel_table_model import COLUMN_ROLE, ROW_ROLE, KernelTableModel

_BAND = 3
_PAD = 7
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEAST_NAME = 11
_MORE_LAYERS = 14
_PLACES = {column.id: place for place, column in enumerate(COLUMNS)}
_BARS = {"share": "accent", "peak": "ok"}


class KernelTable(QTableView):
    """Kernels, one row each.

    Attributes:
        picked: the user chose rows, with the mouse or the keyboard.
        opened: the user wants to see where a row's kernel comes from.
    """

    picked = Signal(object)
    opened = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("kernel_table")
        self.setAccessibleName("Kernels")
        self.kernels = KernelTableModel()
        self.setModel(self.kernels)
        self.setItemDelegate(_KernelDelegate(self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        # GRADS_CONV2D and GRADS_CONCAT differ at their ends.
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSortingEnabled(True)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.horizontalHeader().setSortIndicatorShown(False)
        # Figures of one width, so that digits stand below each other.
        self.figures = theme.font("small")
        self.figures.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(self.figures)
        self.viewport().setMouseTracking(True)
        self.horizontalHeader().setFont(theme.font("small"))
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(theme.COMPACT_ROW)
        self._marked: frozenset[int] = frozenset()
        self._primary: frozenset[int] = frozenset()
        self._own_change = False
        self._has_chosen = False
        self._prepare_header()
        self.sortByColumn(_PLACES["share"], Qt.SortOrder.DescendingOrder)
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        self.doubleClicked.connect(self._open)
        contexts.register("table", self)
        self.fades = SideFades(self)
        binding.refresh(self, self._theme_changed, theme.changed)

    # -- columns --------------------------------------------------------------------------------

    def shown_columns(self) -> tuple[str, ...]:
        """Ids of the columns that are shown, from left to right."""
        header = self.horizontalHeader()
        places = sorted(range(len(COLUMNS)), key=header.visualIndex)
        return tuple(COLUMNS[p].id for p in places if not self.isColumnHidden(p))

    def show_column(self, column_id: str, shown: bool = True) -> None:
        """Show a column, or hide it; the last one stays."""
        if not shown and self.shown_columns() == (column_id,):
            return
        self._has_chosen = True
        self.setColumnHidden(_PLACES[column_id], not shown)
        self._fill()

    def sort_by(self, column_id: str) -> None:
        """Sort by a column, names upwards and numbers downwards; it is shown then."""
        if column_id not in self.shown_columns():
            self.show_column(column_id)
        way = Qt.SortOrder
        is_text = COLUMNS[_PLACES[column_id]].form == "text"
        self.sortByColumn(
            _PLACES[column_id], way.AscendingOrder if is_text else way.DescendingOrder
        )

    def sort_menu(self, parent: QWidget) -> QMenu:
        """The columns to sort by."""
        menu = QMenu("Sort by", parent)
        for column in COLUMNS:
            action = menu.addAction(column.title)
            action.setObjectName(f"sort.{column.id}")
            action.setToolTip(column.tip)
            action.setCheckable(True)
            action.setChecked(column.id == self.kernels.order[0])
            action.triggered.connect(lambda _=False, name=column.id: self.sort_by(name))
        return menu

    def column_menu(self, parent: QWidget) -> QMenu:
        """The columns to choose from."""
        menu = QMenu(parent)
        menu.setToolTipsVisible(True)
        for place, column in enumerate(COLUMNS):
            action = menu.addAction(column.title)
            action.setObjectName(f"column.{column.id}")
            action.setToolTip(column.tip)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(place))
            action.toggled.connect(lambda on, name=column.id: self.show_column(name, on))
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def _prepare_header(self) -> None:
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsMovable(True)
        header.setMinimumSectionSize(40)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        for place, column in enumerate(COLUMNS):
            self.setColumnHidden(place, not column.shown)
        self._size_columns()

    def _size_columns(self) -> None:
        figure = self.fontMetrics().horizontalAdvance("0")
        for place, column in enumerate(COLUMNS):
            self.setColumnWidth(place, figure * column.width + 12)
        self._fill()

    def _fill(self) -> None:
        """Give what is left of the width to the first column of names that is shown."""
        self._show_roomy()
        wide = self._name_place()
        if wide is None:
            return
        figure = self.fontMetrics().horizontalAdvance("0")
        fit_column(self, wide, _LEAST_NAME * figure)

    def _name_place(self) -> int | None:
        """The first column of names that is shown."""
        shown = self.shown_columns()
        names = ("instruction", "kernel", "layer")
        return next((_PLACES[name] for name in names if name in shown), None)

    def _show_roomy(self) -> None:
        """Show more columns where there is room for them, until the user chooses some."""
        if self._has_chosen:
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
        layer = _PLACES["layer"]
        more = min(max(0, room // 3), figure * _MORE_LAYERS)
        self.setColumnWidth(layer, figure * COLUMNS[layer].width + 12 + more)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fill()

    def _header_menu(self, point: QPoint) -> None:
        self.column_menu(self).popup(self.horizontalHeader().mapToGlobal(point))

    # -- rows -----------------------------------------------------------------------------------

    def set_rows(self, rows: Iterable[KernelRow]) -> None:
        """Show these rows; those chosen stay chosen."""
        chosen = {row.id for row in self.chosen_rows()}
        found = tuple(rows)
        self._own_change = True
        try:
            self.kernels.set_rows(found)
            if chosen and not self.selectionModel().hasSelection():
                self._choose(chosen)
        finally:
            self._own_change = False

    def chosen_rows(self) -> tuple[KernelRow, ...]:
        """The rows the user chose, from above."""
        places = sorted(index.row() for index in self.selectionModel().selectedRows())
        return tuple(self.kernels.rows[place] for place in places)

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
        return tuple(row for row in self.kernels.rows if self.mark_of(row))

    def mark_of(self, row: KernelRow) -> str:
        """``primary``, ``other``, or empty for a row that is not marked."""
        if self._primary.intersection(row.indices):
            return "primary"
        return "other" if self._marked.intersection(row.indices) else ""

    def _reveal(self) -> None:
        places = [n for n, row in enumerate(self.kernels.rows) if self.mark_of(row) == "primary"]
        if not places:
            return
        shown = self.viewport().rect()
        index = self.kernels.index(places[0], 0)
        top = self.rowViewportPosition(places[0])
        if top < 0 or top + self.rowHeight(places[0]) > shown.height():
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    def _choose(self, ids: set[str]) -> None:
        selection = self.selectionModel()
        flags = QItemSelectionModel.SelectionFlag
        for place, row in enumerate(self.kernels.rows):
            if row.id in ids:
                selection.select(self.kernels.index(place, 0), flags.Select | flags.Rows)

    def _selection_changed(self) -> None:
        if not self._own_change:
            self.picked.emit(self.chosen_rows())

    def _open(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if isinstance(row, KernelRow):
            self.opened.emit(row)

    # -- keys and text --------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters lead to the next name that begins so, whatever column the caret is in."""
        names = self._name_place()
        if names is not None:
            index = self.kernels.index(max(self.currentIndex().row(), 0), names)
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(index, flags.NoUpdate)
        super().keyboardSearch(search)

    def copy(self) -> None:
        """Copy the rows chosen, or all, with the columns shown and exact numbers."""
        columns = [COLUMNS[_PLACES[name]] for name in self.shown_columns()]
        columns = [column for column in columns if column.form != "line"]
        rows = self.chosen_rows() or self.kernels.rows
        lines = ["\t".join(column.title for column in columns)]
        lines += ["\t".join(_exact(column, row) for column in columns) for row in rows]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _theme_changed(self) -> None:
        self._size_columns()
        self.viewport().update()


def _exact(column: Column, row: KernelRow) -> str:
    value = column.value(row)
    return "" if value is None else str(value)


class _KernelDelegate(QStyledItemDelegate):
    """Paints shares as bars, the latest samples as a line, and marks at the left edge."""

    def __init__(self, table: KernelTable) -> None:
        super().__init__(table)
        self._table = table

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        # Drawn here and not by the style, which takes ten times as long and shows no more.
        row, column = index.data(ROW_ROLE), index.data(COLUMN_ROLE)
        if not isinstance(row, KernelRow) or not isinstance(column, Column):
            return
        mark = self._table.mark_of(row)
        area = QRectF(option.rect)
        painter.save()
        self._paint_ground(painter, area, option, mark)
        if column.id in _BARS:
            self._paint_bar(painter, area, column, row)
        if column.form == "line":
            self._paint_line(painter, area.adjusted(7, 4, -7, -4), row)
        else:
            self._paint_text(painter, area.adjusted(_PAD, 0, -_PAD, 0), column, row)
        if mark and self._is_first(index):
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

    def _paint_text(self, painter: QPainter, area: QRectF, column: Column, row: KernelRow) -> None:
        painter.setFont(self._table.figures)
        painter.setPen(theme.colour("text"))
        text = shown_text(column, row)
        if column.form == "text":
            metrics = self._table.fontMetrics()
            text = metrics.elidedText(text, self._table.textElideMode(), int(area.width()))
            painter.drawText(area, _LEFT, text)
        else:
            painter.drawText(area, _RIGHT, text)

    def _is_first(self, index: QModelIndex | QPersistentModelIndex) -> bool:
        return self._table.shown_columns()[0] == COLUMNS[index.column()].id

    def _paint_mark(self, painter: QPainter, area: QRectF, mark: str) -> None:
        band = QRectF(area.left() + 1, area.top() + 2, _BAND, area.height() - 4)
        if mark == "primary":
            painter.fillRect(band, theme.colour("accent"))
        else:
            painter.setPen(QPen(theme.colour("accent"), 1))
            painter.drawRect(band)

    def _paint_bar(self, painter: QPainter, area: QRectF, column: Column, row: KernelRow) -> None:
        value = column.value(row)
        if not isinstance(value, float):
            return
        wide = (area.width() - 4) * min(1.0, max(0.0, value))
        bar = QRectF(area.right() - 2 - wide, area.top() + 3, wide, area.height() - 6)
        painter.fillRect(bar, theme.colour(_BARS[column.id], 56))

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
