"""The lines of a listing as a Qt model: texts for views, searches and screen readers."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from studio.instruction_view.model.arrangement import Line
from studio.instruction_view.model.columns import COLUMNS, cell_text, title_of
from studio.instruction_view.model.listing import Listing

Index = QModelIndex | QPersistentModelIndex

NOWHERE = QModelIndex()

GUTTER = 0
"""The first column: colour band, marks, folding."""

FIRST = 1
"""Column of the first of `COLUMNS`."""


class ListingTable(QAbstractItemModel):
    """A flat model over the lines of a listing.

    Args:
        listing: what is shown.
        parent: owner in Qt.
    """

    def __init__(self, listing: Listing, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._listing = listing
        self._lines: tuple[Line, ...] = listing.lines

    def take_lines(self) -> None:
        """Show the lines as they are arranged now."""
        self.beginResetModel()
        self._lines = self._listing.lines
        self.endResetModel()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)

    def tell_texts(self) -> None:
        """Tell views and screen readers that lines are written otherwise."""
        if self._lines:
            column = next(i for i, c in enumerate(COLUMNS, FIRST) if c.key == "instruction")
            last = self.index(len(self._lines) - 1, column)
            self.dataChanged.emit(self.index(0, column), last, [Qt.ItemDataRole.DisplayRole])

    def index(self, row: int, column: int, parent: Index = NOWHERE) -> QModelIndex:
        """The place of a cell."""
        if parent.isValid() or not 0 <= row < len(self._lines):
            return QModelIndex()
        return self.createIndex(row, column)

    def parent(self, child: Index = NOWHERE) -> QModelIndex:  # type: ignore[override]
        """No line has one: the model is flat."""
        return QModelIndex()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        """Lines."""
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        """The gutter and the columns."""
        return 0 if parent.isValid() else FIRST + len(COLUMNS)

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        """Titles of columns, and what they say as tips."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if section == GUTTER:
            return "Origin" if role == Qt.ItemDataRole.AccessibleTextRole else None
        column = COLUMNS[section - FIRST]
        if role == Qt.ItemDataRole.DisplayRole:
            return title_of(column, self._listing.level)
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text of a cell; a whole line for screen readers."""
        if not index.isValid() or index.row() >= len(self._lines):
            return None
        line = self._lines[index.row()]
        if role == Qt.ItemDataRole.DisplayRole and index.column() >= FIRST:
            return cell_text(self._listing, line, COLUMNS[index.column() - FIRST].key)
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == GUTTER:
            return ", ".join(band.name for band in self._listing.bands(line) if band.name)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every line can be selected."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return (
            Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemNeverHasChildren
        )
