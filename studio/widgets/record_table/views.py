"""Table and list views of records: headings, column menus, keys, and copying as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, cast

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QListView,
    QMenu,
    QStyledItemDelegate,
    QTableView,
    QWidget,
)

from studio.session.core.action_table import Context
from studio.widgets import contexts, theme
from studio.widgets.menus import own_keys
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel

R = TypeVar("R")
_MODES = QAbstractItemView.SelectionMode
_FLAGS = QItemSelectionModel.SelectionFlag


class RecordTable(QTableView):
    """A table of records.

    What the user did to its columns stays for the session: which are shown, and widths drawn.

    Attributes:
        wants_menu: emitted with a screen position when the user asks for the context menu.
        column_names: prefix of the object names of the column menu's entries.
        offers_fixed: the column menu also lists columns that cannot be hidden.
        copies_rows: Ctrl+C copies whole rows, not the text of one cell.

    Args:
        entries: the records.
        name: of the widget.
        title: of the table, for screen readers.
        parent: owner in Qt.
        high: pixels of a row.
        font: of the cells.
        context: whose keys work in it.
    """

    wants_menu = Signal(QPoint)
    column_names = "column."
    offers_fixed = True
    copies_rows = False

    def __init__(
        self,
        entries: RecordModel[Any],
        name: str,
        title: str,
        parent: QWidget | None = None,
        *,
        high: int = theme.COMPACT_ROW,
        font: theme.FontKind | None = None,
        context: Context = "table",
    ) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self._choices: dict[str, bool] = {}
        self._drawn: set[str] = set()
        self._painters: dict[int, QStyledItemDelegate] = {}
        self._fitting = False
        self.entries = entries
        self.setModel(entries)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(_MODES.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        heights = self.verticalHeader()
        heights.hide()
        heights.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        heights.setDefaultSectionSize(high)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.sectionResized.connect(self._section_resized)
        if font is not None:
            self.setFont(theme.font(font))
        contexts.register(context, self)
        entries.columns_changed.connect(self._put_painters)
        self._put_painters()

    def _put_painters(self) -> None:
        before, self._painters = self._painters, {}
        for place, column in enumerate(self.entries.columns):
            if column.painter is not None:
                self._painters[place] = column.painter(self, column)
        for place in before.keys() | self._painters.keys():
            self.setItemDelegateForColumn(place, self._painters.get(place))  # type: ignore[arg-type]
        for painter in before.values():
            painter.deleteLater()

    # -- columns --------------------------------------------------------------------------------

    def offer_columns(self) -> None:
        """Let the user move columns, and choose them by a menu on the heading."""
        header = self.horizontalHeader()
        header.setSectionsMovable(True)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(
            lambda at: self.column_menu().popup(header.mapToGlobal(at))
        )

    def shown_columns(self) -> tuple[str, ...]:
        """Keys of the columns that are shown, from left to right."""
        columns, header = self.entries.columns, self.horizontalHeader()
        places = map(header.logicalIndex, range(len(columns)))
        return tuple(columns[p].key for p in places if not self.isColumnHidden(p))

    def show_column(self, key: str, shown: bool = True) -> None:
        """Show a column at the user's wish, or hide it; those that are fixed stay."""
        place = self.entries.place_of(key)
        if not shown and self.entries.columns[place].is_fixed:
            return
        self._choices[key] = shown
        self.setColumnHidden(place, not shown)
        self.fit()

    def column_menu(self, parent: QWidget | None = None) -> QMenu:
        """The columns to choose from."""
        menu = own_keys(QMenu(parent or self))
        menu.setObjectName(f"{self.objectName()}.columns")
        menu.setToolTipsVisible(True)
        for place, column in enumerate(self.entries.columns):
            if column.is_fixed and not (self.offers_fixed and column.title):
                continue
            action = menu.addAction(column.words)
            action.setObjectName(f"{self.column_names}{column.key}")
            action.setToolTip(column.tip)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(place))
            action.setEnabled(not column.is_fixed)
            action.toggled.connect(lambda on, key=column.key: self.show_column(key, on))
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def fit(self) -> None:
        """Give the columns the room there is."""
        self._fitting = True
        self.fit_columns()
        self._fitting = False

    def fit_columns(self) -> None:
        """What a table does with the room it has; nothing where the user draws all widths."""

    def measured(self, place: int, records: Iterable[Any]) -> int:
        """Pixels of a column's heading, or of the widest of its cells for some records."""
        column = self.entries.columns[place]
        cells = map(column.text, records)
        widest = max(map(self.fontMetrics().horizontalAdvance, cells), default=0)
        title = self.horizontalHeader().fontMetrics().horizontalAdvance(column.title)
        return max(title, widest)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def _section_resized(self, place: int, before: int, now: int) -> None:
        # A column that is hidden or shown is not resized by the user.
        if not self._fitting and before and now:
            self._drawn.add(self.entries.columns[place].key)

    # -- rows -----------------------------------------------------------------------------------

    def chosen_rows(self) -> list[int]:
        """The rows the user chose, from above."""
        return sorted(index.row() for index in self.selectionModel().selectedRows())

    def choose(self, rows: Iterable[int]) -> None:
        """Choose these rows and no others."""
        chosen = QItemSelection()
        for row in rows:
            index = self.entries.at(row)
            chosen.select(index, index)
        self.selectionModel().select(chosen, _FLAGS.ClearAndSelect | _FLAGS.Rows)

    def copied(self) -> str:
        """The rows chosen, or all, with tabs between the columns shown and every digit."""
        return self.as_text(self.shown_columns())

    def as_text(self, keys: Iterable[str]) -> str:
        """The rows chosen, or all, with tabs between some columns and every digit."""
        columns = [self.entries.columns[self.entries.place_of(key)] for key in keys]
        columns = [column for column in columns if column.is_copied]
        records = self.entries.rows
        lines = ["\t".join(column.title or column.key for column in columns)]
        for row in self.chosen_rows() or range(len(records)):
            record = records[row]
            lines.append("\t".join((c.exact or c.text)(record) for c in columns))
        return "\n".join(lines)

    def enter(self, index: QModelIndex) -> bool:
        """Enter was pressed on a cell; whether that means something here."""
        return False

    def search_column(self) -> str:
        """Key of the column that letters search; empty for the one the caret is in."""
        return ""

    def offer_menu(self) -> None:
        """Ask for a menu where the user clicks with the other button."""
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(
            lambda at: self.wants_menu.emit(self.viewport().mapToGlobal(at))
        )

    # -- keys -----------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        is_edited = self.state() == QAbstractItemView.State.EditingState
        if self.copies_rows and event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.copied())
        elif not is_enter or is_edited or not self.enter(self.currentIndex()):
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Typed letters search the search column, whatever column is current."""
        key = self.search_column()
        if key:
            index = self.entries.at(max(self.currentIndex().row(), 0), key)
            self.selectionModel().setCurrentIndex(index, _FLAGS.NoUpdate)
        super().keyboardSearch(search)


class RecordList(QListView):
    """A list of records.

    Args:
        entries: the records; their first column is shown.
        name: of the widget.
        title: of the list, for screen readers.
        parent: owner in Qt.
        is_under_field: it stands under a field that keeps the focus and its keys.
        context: whose keys work in it; None for those of what it stands in.
    """

    def __init__(
        self,
        entries: RecordModel[Any],
        name: str,
        title: str,
        parent: QWidget | None = None,
        *,
        is_under_field: bool = False,
        context: Context | None = "table",
    ) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.entries = entries
        self.setModel(entries)
        self.setUniformItemSizes(True)
        self.setSelectionMode(_MODES.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        if is_under_field:
            self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            self.setMouseTracking(True)
        else:
            self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        if context is not None and not is_under_field:
            contexts.register(context, self)
        column = entries.columns[0]
        if column.painter is not None:
            self.setItemDelegate(column.painter(self, column))

    @property
    def row(self) -> int:
        """The current row; -1 for none."""
        return self.currentIndex().row()

    def go_to(self, row: int) -> None:
        """Make a row the current one, in sight."""
        self.setCurrentIndex(self.entries.at(row))
        self.scrollTo(self.currentIndex())


class CellPainter(QStyledItemDelegate, Generic[R]):
    """Paints the cells of a column, and knows their records.

    Args:
        view: the table or list.
        column: what is painted.
    """

    def __init__(self, view: QAbstractItemView, column: Column[R]) -> None:
        super().__init__(view)
        self.column = column
        self._entries: RecordModel[R] = cast("RecordTable | RecordList", view).entries

    def record(self, index: Index) -> R | None:
        """The record of a cell; None where it is no longer shown."""
        return self._entries.record(index.row())
