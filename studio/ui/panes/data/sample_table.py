"""Samples of a table as a table, read row by row as they come into sight."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from studio.ui.kit import contexts, numbers, theme
from studio.ui.kit.column_room import fit_column
from studio.ui.kit.side_fades import SideFades
from studio.ui.models.data_samples import Sample, SampleBrowser

MOST_COLUMNS = 200
_HEIGHT_ROWS = 8
_WIDTH = 72
_LEAST, _PAD = 44, 16
_MEASURED = 20

Index = QModelIndex | QPersistentModelIndex
_ROLE = Qt.ItemDataRole
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class SampleTableModel(QAbstractTableModel):
    """Rows of samples: their label and their features."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._browser: SampleBrowser | None = None
        self._columns = 0

    def show_samples(self, browser: SampleBrowser) -> None:
        """Show the samples of a browser."""
        self.beginResetModel()
        self._browser = browser
        size = 1
        for length in browser.dataset.sample_shape:
            size *= length
        self._columns = min(size, MOST_COLUMNS)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self._browser is None else len(self._browser)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else 1 + self._columns

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> Any:
        if self._browser is None or not index.isValid():
            return None
        if role == _ROLE.TextAlignmentRole:
            return _LEFT if index.column() == 0 else _RIGHT
        if role not in (_ROLE.DisplayRole, _ROLE.ToolTipRole):
            return None
        sample = self._browser.sample(index.row())
        if index.column() == 0:
            return sample.label
        value = float(sample.values.ravel()[index.column() - 1])
        return numbers.number(value) if role == _ROLE.DisplayRole else numbers.exact(value)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole
    ) -> Any:
        if self._browser is None:
            return None
        if role == _ROLE.TextAlignmentRole and orientation is Qt.Orientation.Horizontal:
            return _LEFT if section == 0 else _RIGHT
        if role != _ROLE.DisplayRole:
            return None
        if orientation is Qt.Orientation.Vertical:
            return str(self._browser.number_of(section))
        if section == 0:
            return "label"
        names = self._browser.dataset.feature_names
        return names[section - 1] if section <= len(names) else str(section - 1)


class SampleTable(QTableView):
    """A compact table of samples."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sample_table")
        self.setAccessibleName("Samples")
        self.rows = SampleTableModel(self)
        self.setModel(self.rows)
        self.setFont(theme.font("numbers"))
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.setProperty("framed", True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(theme.COMPACT_ROW)
        self.horizontalHeader().setDefaultSectionSize(_WIDTH)
        self.horizontalHeader().setHighlightSections(False)
        self.fades = SideFades(self)
        self._labels = _WIDTH
        self.setFixedHeight(theme.ROW + _HEIGHT_ROWS * theme.COMPACT_ROW + 14)
        contexts.register("table", self)

    def show_samples(self, browser: SampleBrowser) -> None:
        """Show the samples of a browser from the first on."""
        self.rows.show_samples(browser)
        self.scrollToTop()
        # More columns than this are never in sight beside each other.
        shown = min(self.rows.columnCount(), 30)
        seen = [_cells(sample, shown) for sample in browser.page(0, _MEASURED)]
        for column in range(1, shown):
            self.setColumnWidth(column, max(_LEAST, self._wanted(column, seen)))
        self._labels = self._wanted(0, seen)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _wanted(self, column: int, seen: list[list[str]]) -> int:
        """Pixels for the heading and the first values of a column."""
        title = str(self.rows.headerData(column, Qt.Orientation.Horizontal))
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(cells[column]) for cells in seen), default=0)
        return max(self.horizontalHeader().fontMetrics().horizontalAdvance(title), widest) + _PAD

    def _fit(self) -> None:
        fit_column(self, 0, min(self._labels, _WIDTH), self._labels)


def _cells(sample: Sample, columns: int) -> list[str]:
    """What the first columns of a sample's row say."""
    values = sample.values.ravel()[: columns - 1].tolist()
    return [sample.label, *(numbers.number(float(value)) for value in values)]
