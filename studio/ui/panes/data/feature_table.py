"""Features of a table, or channels of pictures: raw range, mean, and what the network gets."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from studio.ui.kit import contexts, numbers, theme
from studio.ui.kit.column_room import fit_column
from studio.ui.kit.side_fades import SideFades
from studio.ui.models.data_summary import FeatureRow

_ROLE = Qt.ItemDataRole
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_MOST_ROWS = 6
_COLUMNS = (
    ("feature", "Its name, or its number."),
    ("low", "Smallest raw value of the training part."),
    ("high", "Largest raw value of the training part."),
    ("mean", "Mean of the raw values of the training part."),
    ("dev.", "Standard deviation of the raw values of the training part."),
    ("low in", "Smallest value the network gets."),
    ("high in", "Largest value the network gets."),
)
_LEAST_NAME, _LEAST, _MEASURED = 56, 34, 50
_PAD = 12

Index = QModelIndex | QPersistentModelIndex


class FeatureTableModel(QAbstractTableModel):
    """One row per feature."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.features: tuple[FeatureRow, ...] = ()

    def show_features(self, features: tuple[FeatureRow, ...]) -> None:
        """Show these features."""
        if features != self.features:
            self.beginResetModel()
            self.features = features
            self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.features)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(_COLUMNS)

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == _ROLE.TextAlignmentRole:
            return _LEFT if index.column() == 0 else _RIGHT
        f = self.features[index.row()]
        if index.column() == 0:
            return f.name if role in (_ROLE.DisplayRole, _ROLE.ToolTipRole) else None
        value = (f.low, f.high, f.mean, f.deviation, f.low_in, f.high_in)[index.column() - 1]
        if role == _ROLE.DisplayRole:
            return numbers.number(value, 3)
        return numbers.exact(value) if role == _ROLE.ToolTipRole else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == _ROLE.DisplayRole:
            return _COLUMNS[section][0]
        if role == _ROLE.ToolTipRole:
            return _COLUMNS[section][1]
        return _LEFT if role == _ROLE.TextAlignmentRole and section == 0 else (
            _RIGHT if role == _ROLE.TextAlignmentRole else None
        )  # fmt: skip


class FeatureTable(QTableView):
    """A compact table of features."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("feature_table")
        self.setAccessibleName("Features")
        self.rows = FeatureTableModel(self)
        self._names = _LEAST_NAME
        self.setModel(self.rows)
        self.setFont(theme.font("small"))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setProperty("framed", True)
        self.setAlternatingRowColors(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(theme.COMPACT_ROW)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setMinimumSectionSize(32)
        self.horizontalHeader().setFont(theme.font("small"))
        self.fades = SideFades(self)
        contexts.register("table", self)

    def show_features(self, features: tuple[FeatureRow, ...]) -> None:
        """Show these features."""
        self.rows.show_features(features)
        metrics, heading = self.fontMetrics(), self.horizontalHeader().fontMetrics()
        for column in range(1, len(_COLUMNS)):
            seen = range(min(len(features), _MEASURED))
            texts = [str(self.rows.data(self.rows.index(row, column))) for row in seen]
            widest = max((metrics.horizontalAdvance(text) for text in texts), default=0)
            title = heading.horizontalAdvance(_COLUMNS[column][0])
            self.setColumnWidth(column, max(_LEAST, widest + _PAD, title + _PAD))
        rows = min(_MOST_ROWS, max(1, len(features)))
        self.setFixedHeight(theme.ROW + rows * theme.COMPACT_ROW + 14)
        names = [row.name for row in features[:_MEASURED]]
        widest = max((metrics.horizontalAdvance(name) for name in names), default=0)
        self._names = max(heading.horizontalAdvance(_COLUMNS[0][0]), widest) + _PAD
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Names are cut before a number is."""
        fit_column(self, 0, min(self._names, _LEAST_NAME), self._names)
