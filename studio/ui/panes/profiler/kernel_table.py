"""The kernel table: sorted, marked by the selection, with columns the user chooses."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QAbstractItemView, QMenu, QWidget

from studio.session.profiling.columns import COLUMNS
from studio.session.profiling.table import KernelRow
from studio.ui.panes.profiler.kernel_cells import cells, face_of
from studio.widgets import binding, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

PLACES = {column.id: place for place, column in enumerate(COLUMNS)}
_LEAST_NAME = 11
_MORE_LAYERS = 14


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
            cells(), key=lambda row: row.id, face=face_of, says_order=True, heading="small"
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
        menu = QMenu("Sort by", parent)
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
