"""The kernel table as Qt's table views want it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from studio.ui.kit import theme
from studio.ui.models.profiling_columns import BY_ID, COLUMNS, Column, in_order
from studio.ui.models.profiling_table import KernelRow
from studio.ui.panes.profiler.cell_text import shown_text

Index: TypeAlias = "QModelIndex | QPersistentModelIndex"

ROW_ROLE = Qt.ItemDataRole.UserRole
"""The `KernelRow` of a cell."""

COLUMN_ROLE = Qt.ItemDataRole.UserRole + 1
"""The `Column` of a cell."""

_NONE = QModelIndex()
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class KernelTableModel(QAbstractTableModel):
    """Rows in the order the user chose; the same rows with new numbers are no new rows."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[KernelRow, ...] = ()
        self._column, self._descending = "median", True

    @property
    def _arrow(self) -> str:
        """Said in the heading: Qt draws its own over the text."""
        return "\u25be" if self._descending else "\u25b4"

    @property
    def rows(self) -> tuple[KernelRow, ...]:
        """What is shown, in order."""
        return self._rows

    @property
    def order(self) -> tuple[str, bool]:
        """Column the rows are sorted by, and whether the largest comes first."""
        return self._column, self._descending

    def set_rows(self, rows: Sequence[KernelRow]) -> None:
        """Show other numbers, and other rows if there are others."""
        found = in_order(rows, self._column, descending=self._descending)
        before = [row.id for row in self._rows]
        after = [row.id for row in found]
        if before == after:
            self._rows = found
            if found:
                last = self.index(len(found) - 1, len(COLUMNS) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        if set(before) == set(after):
            self._reorder(found)
            return
        self.beginResetModel()
        self._rows = found
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.DescendingOrder) -> None:
        self._column = COLUMNS[column].id
        self._descending = order == Qt.SortOrder.DescendingOrder
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(COLUMNS) - 1)
        self._reorder(in_order(self._rows, self._column, descending=self._descending))

    def _reorder(self, found: tuple[KernelRow, ...]) -> None:
        """The same rows elsewhere: selection and caret go with them."""
        self.layoutAboutToBeChanged.emit()
        places = {row.id: at for at, row in enumerate(found)}
        old = self.persistentIndexList()
        new = [self.index(places[self._rows[i.row()].id], i.column()) for i in old]
        self._rows = found
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    # -- Qt's model -----------------------------------------------------------------------------

    def rowCount(self, parent: Index = _NONE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _NONE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return "" if column.form == "line" else shown_text(column, row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column.form == "text" else _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(column, row)
        if role == ROW_ROLE:
            return row
        if role == COLUMN_ROLE:
            return column
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{self._arrow} {column.title}" if column.id == self._column else column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        if role == Qt.ItemDataRole.FontRole:
            return theme.font("small")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column.form == "text" else _RIGHT
        return None


def _tip(column: Column, row: KernelRow) -> str:
    """The exact value, and what cannot be said in its cell."""
    value = column.value(row)
    exact = "not known" if value is None else f"{value}"
    if column.form == "text":
        facts = (f"{BY_ID[i].title}: {shown_text(BY_ID[i], row)}" for i in _CARD)
        return "\n".join((exact, *facts))
    return f"{column.title}: {exact}\n{column.tip}"


_CARD = (
    "section",
    "kernel",
    "calls",
    "median",
    "mean",
    "p95",
    "min",
    "max",
    "gflops",
    "gbytes",
    "bound",
)
