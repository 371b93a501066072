"""What is wrong with the data, row by row, and a copy without the bad rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QAbstractItemView, QLabel, QVBoxLayout, QWidget

from studio.session.data.data import DataModel
from studio.session.data.problems import DataProblem
from studio.widgets import theme
from studio.widgets.labels.elided_button import ElidedButton
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_MOST_ROWS = 8


def place_of(problem: DataProblem) -> str:
    """Where a problem is, in a few words."""
    if problem.row:
        return f"row {problem.row}" + (f", {problem.column}" if problem.column else "")
    return problem.file


def text_of(problem: DataProblem) -> str:
    """Everything there is to say of a problem."""
    hint = f"\n{problem.hint[:1].upper()}{problem.hint[1:]}." if problem.hint else ""
    where = f"{problem.file}, {place_of(problem)}" if problem.row else problem.file
    return f"{where}: {problem.message}.{hint}"


_COLUMNS: tuple[Column[DataProblem], ...] = (
    Column("where", "where", place_of, tooltip=text_of),
    Column("what", "what", lambda problem: problem.message, tooltip=text_of),
)


class ProblemList(QWidget):
    """The problems, the whole text of the one selected, and the way out.

    Args:
        data: the data of the project.
        skipped: hears where a copy without bad rows was written, and how many were left out.
        parent: the widget it stands in.
    """

    def __init__(
        self,
        data: DataModel,
        skipped: Callable[[Path, int], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._data = data
        self.rows = RecordModel(_COLUMNS)
        self.table = RecordTable(self.rows, "data_problems", "Data problems", self)
        self.table.setProperty("framed", True)
        self.table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.selectionModel().currentRowChanged.connect(self._selected)
        self._text = QLabel(self)
        self._text.setObjectName("problem_text")
        self._text.setWordWrap(True)
        self._text.setProperty("role", "soft")
        self.skip = ElidedButton("Use a copy without these rows", _SKIP_TIP, self)
        self.skip.setObjectName("skip_bad_rows")
        self.skip.clicked.connect(lambda: data.skip_bad_rows(skipped))
        self._note = QLabel(self)
        self._note.setProperty("role", "faint")
        self._note.setFont(theme.font("small"))
        self._note.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self._note, self.table, self._text, self.skip):
            column.addWidget(widget)

    def refresh(self) -> None:
        """Show what is wrong now."""
        problems = self._data.problems
        if problems.rows != self.rows.rows:
            self.rows.take(problems.rows)
        count = min(_MOST_ROWS, max(1, len(problems.rows)))
        self.table.setFixedHeight(theme.ROW + count * theme.COMPACT_ROW + 4)
        self.table.resizeColumnToContents(0)
        self.table.setColumnWidth(0, min(self.table.columnWidth(0), 110))
        self._note.setText(problems.count_text)
        self.skip.setVisible(problems.can_skip)
        if problems.rows and not self.table.currentIndex().isValid():
            self.table.selectRow(0)
        self._selected()

    def _selected(self) -> None:
        found = self.rows.record(self.table.currentIndex().row())
        self._text.setText("" if found is None else text_of(found))


_SKIP_TIP = (
    "Write a copy of the table beside it, without the rows that cannot be read, and use that; the "
    "table itself is left as it is."
)
