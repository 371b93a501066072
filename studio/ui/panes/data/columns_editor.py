"""Which column of a table is the label, which are left out and which hold categories."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.session.data.cleaning import USES
from studio.session.data.columns import ColumnPeek
from studio.session.data.data import DataModel
from studio.widgets import theme
from studio.widgets.forms.editor import choice_box
from studio.widgets.forms.form import LABEL_WIDTH

_MOST_ROWS = 6


class ColumnsEditor(QWidget):
    """A box for the label column, a list of ticked features, and what the chosen one is read as.

    Args:
        data: the data of the project.
        parent: the widget it stands in.
    """

    def __init__(self, data: DataModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._data = data
        self._columns: tuple[ColumnPeek, ...] = ()
        self.label = choice_box(self)
        self.label.setObjectName("label_column")
        self.label.setAccessibleName("Label column")
        self.label.setToolTip("The column to predict.")
        self.label.activated.connect(self._changed)
        self.features = QListWidget(self)
        self.features.setObjectName("feature_columns")
        self.features.setAccessibleName("Features")
        self.features.setToolTip("Columns used as input; unticked columns are left out.")
        self.features.setProperty("framed", True)
        self.features.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.features.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.features.itemChanged.connect(self._changed)
        self.features.currentRowChanged.connect(self._show_use)
        self.use = choice_box(self)
        self.use.setObjectName("column_use")
        self.use.setAccessibleName("Read as")
        self.use.setToolTip(
            "What the chosen column is read as. One-hot makes an input of each category; an index "
            "is its number in the list, for an Embedding."
        )
        for use, title in USES.items():
            self.use.addItem(title, use)
        self.use.activated.connect(self._use_chosen)
        self._refusal = QLabel(self)
        self._refusal.setObjectName("columns_refusal")
        self._refusal.setProperty("role", "error")
        self._refusal.setFont(theme.font("small"))
        self._refusal.setWordWrap(True)
        self._refusal.hide()
        features = QLabel("Features", self)
        features.setProperty("role", "soft")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(self._line("Label", self.label))
        column.addWidget(features)
        column.addWidget(self.features)
        column.addLayout(self._line("Read as", self.use))
        column.addWidget(self._refusal)

    def _line(self, title: str, box: QWidget) -> QHBoxLayout:
        name = QLabel(title, self)
        name.setProperty("role", "soft")
        name.setFixedWidth(LABEL_WIDTH)
        line = QHBoxLayout()
        line.setSpacing(4)
        line.addWidget(name)
        line.addWidget(box, 1)
        line.addSpacing(24)
        return line

    def show_columns(self, columns: Sequence[ColumnPeek]) -> None:
        """Show the columns of a table as the project has them."""
        self._columns = tuple(columns)
        self._refusal.hide()
        names = [column.name for column in columns]
        data = self._data.data
        dropped = {_position(each, names) for each in _listed(data.get("drop"))}
        labels = [_position(each, names) for each in _listed(data.get("label"))]
        if not labels:
            labels = [i for i in range(len(names)) if i not in dropped][-1:]
        self.label.clear()
        for column in columns:
            self.label.addItem(column.name)
        self.label.setCurrentIndex(labels[0] if len(labels) == 1 else -1)
        self.label.setPlaceholderText(", ".join(names[i] for i in labels if i >= 0))
        current = self.features.currentRow()
        self.features.blockSignals(True)
        self.features.clear()
        for index, column in enumerate(columns):
            use = self._data.cleaning.use_of(column.name)
            mark = "" if use == "numbers" else f" ({use})"
            item = QListWidgetItem(_described(column, mark), self.features)
            item.setData(Qt.ItemDataRole.UserRole, index)
            item.setToolTip(f"{column.kind}: {', '.join(column.examples)}")
            is_on = index not in dropped and index not in labels
            item.setCheckState(Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked)
            item.setHidden(index in labels)
        if 0 <= current < len(columns) and current not in labels:
            self.features.setCurrentRow(current)
        self.features.blockSignals(False)
        self._show_use()
        rows = min(_MOST_ROWS, max(1, len(columns) - len(labels)))
        self.features.setFixedHeight(rows * (self.features.sizeHintForRow(0) or 24) + 6)

    def _show_use(self) -> None:
        row = self.features.currentRow()
        is_shown = 0 <= row < len(self._columns) and not self.features.item(row).isHidden()
        self.use.setEnabled(is_shown)
        use = self._data.cleaning.use_of(self._columns[row].name) if is_shown else "numbers"
        self.use.setCurrentIndex(list(USES).index(use) if is_shown else -1)
        self.use.setPlaceholderText("choose a feature")

    def _use_chosen(self) -> None:
        row = self.features.currentRow()
        if not 0 <= row < len(self._columns):
            return
        try:
            self._data.cleaning.use_as([self._columns[row].name], self.use.currentData())
            self._refusal.hide()
        except StudioError as error:
            self._refusal.setText(error.message)
            self._refusal.show()

    def _changed(self) -> None:
        index = self.label.currentIndex()
        if index < 0:
            return
        last = index == len(self._columns) - 1
        dropped: list[Plain] = [
            self._columns[place].name
            for place in range(self.features.count())
            if place != index
            and not self.features.item(place).isHidden()
            and self.features.item(place).checkState() is Qt.CheckState.Unchecked
        ]
        label: Plain = None if last and not dropped else self._columns[index].name
        try:
            self._data.set_columns(label, dropped)
            self._refusal.hide()
        except StudioError as error:
            self._refusal.setText(error.message)
            self._refusal.show()


def _described(column: ColumnPeek, mark: str) -> str:
    shown = ", ".join(column.examples)
    return f"{column.name}{mark}   {shown}" if shown else f"{column.name}{mark}"


def _listed(value: object) -> list[object]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _position(column: object, names: Sequence[str]) -> int:
    if isinstance(column, int):
        return column % len(names) if names else -1
    return names.index(column) if isinstance(column, str) and column in names else -1
