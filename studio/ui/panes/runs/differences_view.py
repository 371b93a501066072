"""What differs between the runs chosen, side by side; what is the same is left out."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from studio.session.runs.columns import is_share
from studio.session.runs.differences import DifferenceRow, Value, differences
from studio.session.runs.records import RunRecord
from studio.widgets import contexts, numbers, theme


class DifferencesView(QTreeWidget):
    """A table of what differs, grouped."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run_differences")
        self.setAccessibleName("Differences between the selected runs")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setIndentation(12)
        self.setAllColumnsShowFocus(True)
        self.setFont(theme.font("small"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.header().setFont(theme.font("small"))
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.header().setStretchLastSection(True)
        contexts.register("table", self)
        self._rows: tuple[DifferenceRow, ...] = ()

    @property
    def rows(self) -> tuple[DifferenceRow, ...]:
        return self._rows

    def show_runs(self, runs: tuple[RunRecord, ...]) -> None:
        """Compare these runs; the first is what networks are compared with."""
        self._rows = differences(runs)
        self.clear()
        self.setColumnCount(len(runs) + 1)
        self.setHeaderLabels(["", *(run.title for run in runs)])
        group: QTreeWidgetItem | None = None
        for row in self._rows:
            if group is None or group.text(0) != row.group:
                group = QTreeWidgetItem(self, [row.group])
                group.setFirstColumnSpanned(True)
                group.setForeground(0, theme.colour("text3"))
                group.setFlags(Qt.ItemFlag.ItemIsEnabled)
                group.setExpanded(True)
            texts = [value_text(row.name, value) for value in row.values]
            item = QTreeWidgetItem(group, [row.name, *texts])
            for place, value in enumerate(row.values, 1):
                item.setToolTip(place, numbers.exact(value) if isinstance(value, float) else "")
        self.expandAll()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text())
            return
        super().keyPressEvent(event)

    def text(self) -> str:
        """The table with tabs, every digit of its numbers."""
        titles = [self.headerItem().text(n) for n in range(1, self.columnCount())]
        lines = ["\t".join(["", *titles])]
        for row in self._rows:
            values = ["" if value is None else str(value) for value in row.values]
            lines.append("\t".join([row.name, *values]))
        return "\n".join(lines)


def value_text(name: str, value: Value) -> str:
    """A value as the table writes it."""
    if value is None:
        return numbers.DASH
    if isinstance(value, str):
        return value
    if name == "time":
        return numbers.duration(float(value))
    if isinstance(value, int):
        return numbers.count(value)
    return numbers.share(value) if is_share(name) else numbers.number(value)
