"""The table of runs: ticks draw a run, a star marks it, columns are the user's choice."""

from __future__ import annotations

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from studio.ui.kit import binding, contexts, icons, theme
from studio.ui.kit.column_room import fit_column
from studio.ui.kit.side_fades import SideFades
from studio.ui.models.runs import RunList
from studio.ui.models.runs_columns import RunArrangement, RunColumn
from studio.ui.models.runs_records import RunRecord
from studio.ui.panes.runs.table_model import COLUMN_ROLE, RUN_ROLE, RunTableModel

_STAR = 24
_LEAST_TITLE = 132
_HEADER_PAD = 18
_SWATCH = 10

Index = QModelIndex | QPersistentModelIndex


class RunTable(QTableView):
    """The runs, one a row.

    Attributes:
        picked: the user chose runs.
        starred: the user clicked the star of a run.
        wants_menu: the user asks what can be done, at a place of the screen.
        opened: the user pressed Enter or clicked twice on a run.

    Args:
        runs: the list of runs.
        parent: the pane.
    """

    picked = Signal(object)
    starred = Signal(str)
    wants_menu = Signal(QPoint)
    opened = Signal(str)

    def __init__(self, runs: RunList, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run_table")
        self.setAccessibleName("Runs")
        self._runs = runs
        self._shown: dict[str, bool] = {}
        self.entries = RunTableModel(runs)
        self.setModel(self.entries)
        self.setItemDelegate(_RunDelegate(runs, self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSortingEnabled(False)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(
            lambda place: self.wants_menu.emit(self.viewport().mapToGlobal(place))
        )
        self.setFont(theme.font("small"))
        rows = self.verticalHeader()
        rows.hide()
        rows.setDefaultSectionSize(theme.HIT)
        header = self.horizontalHeader()
        header.setFont(theme.font("small"))
        header.setSectionsMovable(True)
        header.setSortIndicatorShown(True)
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.sectionClicked.connect(self._sort)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        contexts.register("table", self)
        self.fades = SideFades(self)
        self.refresh()
        self._lay_out()
        binding.connect(self, theme.changed, self.viewport().update)

    # -- showing --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the runs as they are now; what was chosen stays so."""
        chosen = self.chosen()
        if self.entries.refresh():
            self._lay_out()
        self._choose(chosen)

    def arrange(self, arrangement: RunArrangement) -> None:
        """List other runs, or in another order."""
        self.entries.arrangement = arrangement
        self.refresh()
        place = self.entries.place_of(arrangement.column)
        order = (
            Qt.SortOrder.DescendingOrder if arrangement.descending else Qt.SortOrder.AscendingOrder
        )
        # A column that is not in sight can be what the runs are sorted by: then no arrow is.
        seen = place if place >= 0 and not self.isColumnHidden(place) else -1
        header = self.horizontalHeader()
        header.setSortIndicator(seen, order)
        if seen >= 0:
            self.setColumnWidth(seen, max(self.columnWidth(seen), header.sectionSizeHint(seen)))
            self._stretch()

    def chosen(self) -> tuple[str, ...]:
        """Names of the runs chosen, from top to bottom."""
        rows = sorted({index.row() for index in self.selectionModel().selectedRows()})
        return tuple(self.entries.rows[row].name for row in rows)

    def _choose(self, names: tuple[str, ...]) -> None:
        if names == self.chosen():
            return
        self.clearSelection()
        for name in names:
            row = self.entries.row_of(name)
            if row >= 0:
                self.selectionModel().select(
                    self.entries.index(row, 0),
                    self.selectionModel().SelectionFlag.Select
                    | self.selectionModel().SelectionFlag.Rows,
                )

    # -- columns --------------------------------------------------------------------------------

    def shown_columns(self) -> tuple[str, ...]:
        """Ids of the columns that are shown."""
        return tuple(
            column.id
            for place, column in enumerate(self.entries.columns)
            if not self.isColumnHidden(place)
        )

    def show_column(self, column_id: str, shown: bool = True) -> None:
        """Show a column, or hide it; the name stays."""
        if column_id != "title":
            self._shown[column_id] = shown
            self._lay_out()

    def column_menu(self, parent: QWidget) -> QMenu:
        """The columns to choose from."""
        menu = QMenu(parent)
        menu.setObjectName("run_columns")
        menu.setToolTipsVisible(True)
        for column in self.entries.columns:
            if column.id == "title":
                continue
            action = menu.addAction(column.title or "Star")
            action.setObjectName(f"column.{column.id}")
            action.setToolTip(column.tip)
            action.setCheckable(True)
            action.setChecked(column.id in self.shown_columns())
            action.toggled.connect(lambda on, wanted=column.id: self.show_column(wanted, on))
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def _lay_out(self) -> None:
        header = self.horizontalHeader()
        for place, column in enumerate(self.entries.columns):
            self.setColumnHidden(place, not self._shown.get(column.id, column.shown))
            header.setSectionResizeMode(place, QHeaderView.ResizeMode.Interactive)
            self.setColumnWidth(place, self._width(place, column))
        self._stretch()

    def _width(self, place: int, column: RunColumn) -> int:
        if column.kind == "star":
            return _STAR
        if column.id == "title":
            return _LEAST_TITLE
        header, hint = self.horizontalHeader(), self.sizeHintForColumn(place) + 8
        if place == header.sortIndicatorSection():
            return max(min(hint, 200), header.sectionSizeHint(place))
        # Every other column would keep room for an arrow it does not have.
        metrics = QFontMetrics(theme.font("ui"))
        words = metrics.horizontalAdvance(column.title) + _HEADER_PAD
        return max(min(hint, 200), words)

    def _stretch(self) -> None:
        """The name takes the room that is left: the last column in sight is seen whole."""
        fit_column(self, self.entries.place_of("title"), _LEAST_TITLE)

    def _header_menu(self, place: QPoint) -> None:
        self.column_menu(self).popup(self.horizontalHeader().mapToGlobal(place))

    def _sort(self, section: int) -> None:
        column = self.entries.columns[section]
        now = self.entries.arrangement
        first = column.kind not in ("text",)
        descending = not now.descending if now.column == column.id else first
        self.arrange(RunArrangement(now.text, now.starred, now.archived, column.id, descending))

    # -- events ---------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stretch()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            rows = sorted({index.row() for index in self.selectionModel().selectedRows()})
            shown = [n for n in range(len(self.entries.columns)) if not self.isColumnHidden(n)]
            QGuiApplication.clipboard().setText(self.entries.copied(rows, shown))
        elif event.key() == Qt.Key.Key_Space and not event.modifiers():
            # A tick draws a run: from the keyboard all that are chosen.
            for name in self.chosen():
                self._runs.draw(name, name not in self._runs.drawn)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (
            self.state() != QAbstractItemView.State.EditingState
        ):
            for name in self.chosen()[:1]:
                self.opened.emit(name)
        elif event.text() == "*":
            for name in self.chosen():
                self.starred.emit(name)
        else:
            super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() == Qt.MouseButton.LeftButton:
            column = index.data(COLUMN_ROLE)
            if isinstance(column, RunColumn) and column.kind == "star":
                self.starred.emit(self.entries.rows[index.row()].name)
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid():
            self.opened.emit(self.entries.rows[index.row()].name)

    def _selection_changed(self) -> None:
        self.picked.emit(self.chosen())


class _RunDelegate(QStyledItemDelegate):
    """Paints stars and the colours runs are drawn in."""

    def __init__(self, runs: RunList, parent: QWidget) -> None:
        super().__init__(parent)
        self._runs = runs

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        run, column = index.data(RUN_ROLE), index.data(COLUMN_ROLE)
        if not isinstance(run, RunRecord) or not isinstance(column, RunColumn):
            return
        # A rectangle around one cell would say that it is chosen apart from its row.
        option.state &= ~QStyle.StateFlag.State_HasFocus
        super().paint(painter, option, index)
        rect: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if column.kind == "star":
            side = 14.0
            place = QRectF(rect.center().x() - side / 2 + 1, rect.center().y() - side / 2 + 1,
                           side, side)  # fmt: skip
            name, role = ("star-full", "warning") if run.notes.star else ("star", "hairline")
            icons.paint(painter, name, place, theme.colour(role))
        elif column.id == "title" and self._is_drawn(run.name):
            # The colour the run's curves have, over its tick.
            style = self._runs.overlay.style(run.name)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.colour(f"series.{style.series}"))
            middle = QPointF(rect.right() - _SWATCH, rect.center().y() + 0.5)
            painter.drawEllipse(middle, _SWATCH / 2 - 1, _SWATCH / 2 - 1)
        painter.restore()

    def _is_drawn(self, name: str) -> bool:
        drawn = self._runs.drawn
        return len(drawn) > 1 and name in drawn
