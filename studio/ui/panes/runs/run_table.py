"""The table of runs: ticks draw a run, a star marks it, columns are the user's choice."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from studio.session.runs.columns import RunArrangement, RunColumn, columns_of
from studio.session.runs.records import RunRecord
from studio.session.runs.runs import RunList
from studio.ui.panes.runs.cells import cells_of, face_of
from studio.widgets import binding, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_STAR = 24
_LEAST_TITLE = 132
_HEADER_PAD = 18


class RunTable(RecordTable):
    """The runs, one a row.

    Attributes:
        arrangement: which runs are listed, in which order.
        picked: the user chose runs.
        starred: the user clicked the star of a run.
        renamed: the user gave a run another name: its name and what to call it.
        opened: the user pressed Enter or clicked twice on a run.

    Args:
        runs: the list of runs.
        parent: the pane.
    """

    picked = Signal(object)
    starred = Signal(str)
    renamed = Signal(str, str)
    opened = Signal(str)
    offers_fixed = False
    copies_rows = True

    def __init__(self, runs: RunList, parent: QWidget | None = None) -> None:
        self._runs = runs
        self._columns: tuple[RunColumn, ...] = ()
        self.arrangement = RunArrangement()
        entries: RecordModel[RunRecord] = RecordModel(
            (),
            key=lambda run: run.name,
            face=lambda run: face_of(runs, run),
            says_order=True,
            heading="ui",
        )
        super().__init__(entries, "run_table", "Runs", parent, high=theme.HIT, font="small")
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.offer_columns()
        self.offer_menu()
        header = self.horizontalHeader()
        header.setMinimumSectionSize(_STAR)
        header.setSortIndicatorShown(False)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort)
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        self.fades = SideFades(self)
        self.refresh()
        binding.connect(self, theme.changed, self.viewport().update)

    # -- showing --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the runs as they are now; what was chosen stays so."""
        chosen = self.chosen()
        runs = self._runs.runs
        columns = columns_of(runs)
        found = self.arrangement.arrange(runs, columns)
        if _look(columns) == _look(self._columns):
            self.entries.take(found)
        else:
            self._columns = columns
            self.entries.take(found, cells_of(self._runs, columns, self.renamed.emit))
            self._lay_out()
        if chosen != self.chosen():
            self.choose(row for row in map(self.entries.row_of, chosen) if row >= 0)

    def arrange(self, arrangement: RunArrangement) -> None:
        """List other runs, or in another order."""
        self.arrangement = arrangement
        self.refresh()
        place = self.entries.place_of(arrangement.column)
        order = (
            Qt.SortOrder.DescendingOrder if arrangement.descending else Qt.SortOrder.AscendingOrder
        )
        # A column that is not in sight can be what the runs are sorted by: then no arrow is.
        seen = place if place >= 0 and not self.isColumnHidden(place) else -1
        # The columns have no order of their own: the runs are in order already.
        self.entries.sort(seen, order)
        if seen >= 0:
            least = self.horizontalHeader().sectionSizeHint(seen)
            self.setColumnWidth(seen, max(self.columnWidth(seen), least))
            self.fit()

    def chosen(self) -> tuple[str, ...]:
        """Names of the runs chosen, from top to bottom."""
        return tuple(self.entries.rows[row].name for row in self.chosen_rows())

    # -- columns --------------------------------------------------------------------------------

    def show_column(self, key: str, shown: bool = True) -> None:
        """Show a column, or hide it; the name stays."""
        super().show_column(key, shown)
        self._lay_out()

    def _lay_out(self) -> None:
        header = self.horizontalHeader()
        for place, column in enumerate(self.entries.columns):
            self.setColumnHidden(place, not self._choices.get(column.key, column.is_shown))
            header.setSectionResizeMode(place, QHeaderView.ResizeMode.Interactive)
            self.setColumnWidth(place, self._width(place, column))
        self.fit()

    def _width(self, place: int, column: Column[RunRecord]) -> int:
        if column.key == "star":
            return _STAR
        if column.key == "title":
            return _LEAST_TITLE
        hint = self.sizeHintForColumn(place) + 8
        title = self.entries.headerData(place, Qt.Orientation.Horizontal)
        words = QFontMetrics(theme.font("ui")).horizontalAdvance(title) + _HEADER_PAD
        return max(min(hint, 200), words)

    def fit_columns(self) -> None:
        """The name takes the room that is left: the last column in sight is seen whole."""
        fit_column(self, self.entries.place_of("title"), _LEAST_TITLE)

    def _sort(self, section: int) -> None:
        column = self._columns[section]
        now = self.arrangement
        first = column.kind not in ("text",)
        descending = not now.descending if now.column == column.id else first
        self.arrange(RunArrangement(now.text, now.starred, now.archived, column.id, descending))

    # -- events ---------------------------------------------------------------------------------

    def enter(self, index: QModelIndex) -> bool:
        for name in self.chosen()[:1]:
            self.opened.emit(name)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and not event.modifiers():
            # A tick draws a run: from the keyboard all that are chosen.
            for name in self.chosen():
                self._runs.draw(name, name not in self._runs.drawn)
        elif event.text() == "*":
            for name in self.chosen():
                self.starred.emit(name)
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        is_left = event.button() == Qt.MouseButton.LeftButton
        if is_left and index.isValid() and index.column() == self.entries.place_of("star"):
            self.starred.emit(self.entries.rows[index.row()].name)
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid():
            self.opened.emit(self.entries.rows[index.row()].name)

    def _selection_changed(self) -> None:
        self.picked.emit(self.chosen())


def _look(columns: Sequence[RunColumn]) -> list[tuple[str, str, str, bool]]:
    return [(c.id, c.title, c.tip, c.shown) for c in columns]
