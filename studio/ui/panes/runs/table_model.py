"""The table of runs for Qt: rows in the order chosen, each with a tick, a star and its numbers."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from studio.ui.kit import theme
from studio.ui.models.runs import RunList
from studio.ui.models.runs_columns import RunArrangement, RunColumn, columns_of
from studio.ui.models.runs_records import RunRecord
from studio.ui.panes.runs.cell_text import exact_text, shown_text

RUN_ROLE = Qt.ItemDataRole.UserRole + 1
COLUMN_ROLE = Qt.ItemDataRole.UserRole + 2

Index = QModelIndex | QPersistentModelIndex

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_STATE_ROLES = {"failed": "error", "running": "ok", "unfinished": "warning"}


class RunTableModel(QAbstractTableModel):
    """Rows and columns of the table of runs.

    Attributes:
        renamed: the user gave a run another name: its name and what to call it.

    Args:
        runs: the list of runs.
    """

    renamed = Signal(str, str)

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self._runs = runs
        self._rows: tuple[RunRecord, ...] = ()
        self._columns: tuple[RunColumn, ...] = columns_of(())
        self.arrangement = RunArrangement()

    @property
    def rows(self) -> tuple[RunRecord, ...]:
        """The runs, as listed."""
        return self._rows

    @property
    def columns(self) -> tuple[RunColumn, ...]:
        """The columns there are."""
        return self._columns

    def refresh(self) -> bool:
        """Show the runs as they are now; whether the columns are others."""
        runs = self._runs.runs
        columns = columns_of(runs)
        rows = self.arrangement.arrange(runs, columns)
        changed = _look(columns) != _look(self._columns)
        same = [r.name for r in rows] == [r.name for r in self._rows]
        if changed or not same:
            self.beginResetModel()
            self._rows, self._columns = rows, columns
            self.endResetModel()
            return changed
        self._rows, self._columns = rows, columns
        if rows:
            self.dataChanged.emit(
                self.index(0, 0), self.index(len(rows) - 1, len(self._columns) - 1)
            )
        return False

    def row_of(self, name: str) -> int:
        """The row of a run; -1 where it is not listed."""
        return next((n for n, run in enumerate(self._rows) if run.name == name), -1)

    def place_of(self, column_id: str) -> int:
        """The place of a column; -1 where there is none."""
        return next((n for n, c in enumerate(self._columns) if c.id == column_id), -1)

    def copied(self, rows: list[int], columns: list[int]) -> str:
        """Rows as text with tabs, every digit of their numbers."""
        head = "\t".join(self._columns[c].title or self._columns[c].id for c in columns)
        lines = [
            "\t".join(
                exact_text(self._columns[c].kind, self._columns[c].value(self._rows[r]))
                for c in columns
            )
            for r in rows
        ]
        return "\n".join([head, *lines])

    # -- what Qt asks ---------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - as Qt declares it
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - as Qt declares it
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        run, column = self._rows[index.row()], self._columns[index.column()]
        if role == RUN_ROLE:
            return run
        if role == COLUMN_ROLE:
            return column
        if role == Qt.ItemDataRole.DisplayRole:
            if column.id == "state":
                return self._runs.word(run)
            return shown_text(column.kind, column.value(run))
        if role == Qt.ItemDataRole.EditRole:
            return run.notes.title or run.title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column.kind in ("text", "date", "star") else _RIGHT
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(run, column)
        if role == Qt.ItemDataRole.CheckStateRole and column.id == "title":
            shown = run.name in self._runs.drawn
            return Qt.CheckState.Checked if shown else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.ToolTipRole:
            return _tip(run, column, self._runs.word(run))
        if role == Qt.ItemDataRole.AccessibleTextRole and column.kind == "star":
            return "starred" if run.notes.star else "not starred"
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run = self._rows[index.row()]
        if role == Qt.ItemDataRole.CheckStateRole:
            if not self._runs.may_choose(run.name):
                return False
            self._runs.draw(run.name, Qt.CheckState(value) == Qt.CheckState.Checked)
            return True
        if role == Qt.ItemDataRole.EditRole:
            if str(value).strip() != run.title:
                self.renamed.emit(run.name, str(value))
            return True
        return False

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        column = self._columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column.kind in ("text", "date", "star") else _RIGHT
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        found = super().flags(index)
        if index.isValid() and self._columns[index.column()].id == "title":
            found |= Qt.ItemFlag.ItemIsEditable
            if self._runs.may_choose(self._rows[index.row()].name):
                found |= Qt.ItemFlag.ItemIsUserCheckable
        return found

    def _colour(self, run: RunRecord, column: RunColumn) -> Any:
        if run.notes.archived:
            return theme.colour("text3")
        if column.id == "state":
            role = _STATE_ROLES.get(run.state, "text2")
            return theme.colour("warning" if run.verdict[0] else role)
        if column.id == "title" and run.name == self._runs.active:
            return theme.colour("accent")
        return None


def _look(columns: tuple[RunColumn, ...]) -> list[tuple[str, str, str, bool]]:
    return [(c.id, c.title, c.tip, c.shown) for c in columns]


def _tip(run: RunRecord, column: RunColumn, word: str) -> str:
    if column.id in ("title", "state"):
        lines = [run.title, f"{word}. {run.reason}".strip(), run.verdict[1], run.problem]
        lines.append(run.notes.text)
        return "\n".join(line for line in lines if line)
    text = exact_text(column.kind, column.value(run))
    note = column.note(run) if text else ""
    return "\n".join(line for line in (column.tip, text, note.capitalize()) if line)
