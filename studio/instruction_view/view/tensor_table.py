"""The tensor map as a sorted and filtered table."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import (
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from studio.engine.core.tensor import Ref
from studio.engine.train.annotations import NO_ANNOTATIONS, Annotations
from studio.instruction_view.model.tensor_columns import (
    TENSOR_COLUMNS,
    Extremes,
    TensorColumn,
    TensorColumnKey,
    tensor_cell,
    tensor_order,
)
from studio.instruction_view.model.tensor_rows import TensorRole, TensorRow
from studio.instruction_view.view.inks import Inks
from studio.instruction_view.view.role_colours import role_colour
from studio.instruction_view.view.tensor_links import TensorLinks
from studio.ui.kit import binding, theme
from studio.ui.kit.column_room import fit_column
from studio.ui.kit.side_fades import SideFades

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
_CHIP = 8
_PADDING = 14
_ARROW = 14
_LEAST_NAME = 16
_NAME = next(i for i, c in enumerate(TENSOR_COLUMNS) if c.key == "name")
_LIVE = [i for i, c in enumerate(TENSOR_COLUMNS) if c.is_live]
_BYTES = next(i for i, c in enumerate(TENSOR_COLUMNS) if c.key == "bytes")


class TensorTableModel(QAbstractTableModel):
    """One line for each storage, in the order of the tensor map.

    Args:
        links: what is lit.
        parent: owner in Qt.
    """

    def __init__(self, links: TensorLinks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.found: tuple[TensorRow, ...] = ()
        self.seen: Mapping[str, Extremes] = {}
        self.annotations = NO_ANNOTATIONS
        self._links = links
        self._inks = Inks()
        self._widest: dict[int, int] = {}

    def take(self, found: tuple[TensorRow, ...]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.found = found
        self._widest.clear()
        self.endResetModel()

    def take_seen(self, seen: Mapping[str, Extremes]) -> None:
        """What was last seen of some tensors, by key; told of the rows it is another for."""
        before, self.seen = self.seen, seen
        changed = [
            place for place, row in enumerate(self.found)
            if before.get(row.key) != seen.get(row.key)
        ]  # fmt: skip
        if changed:
            # In one go: what is sorted by these numbers is in order only behind the last of them.
            first, last = self.index(changed[0], _LIVE[0]), self.index(changed[-1], _LIVE[-1])
            self.dataChanged.emit(first, last)

    def annotate(self, annotations: Annotations) -> None:
        """What a person calls some tensors."""
        self.annotations = annotations
        self._widest.clear()
        self._tell()

    def widest(self, place: int) -> int:
        """Characters of the longest cell of a column, at most what the column may have.

        What is seen of tensors comes and goes: those columns have their room at once.
        """
        column = TENSOR_COLUMNS[place]
        if column.is_live:
            return column.chars
        if place not in self._widest:
            # Kept: a window that is arranged anew asks with every size it passes through.
            texts = (tensor_cell(row, column.key, None, self.alias_of(row)) for row in self.found)
            self._widest[place] = min(max(map(len, texts), default=0), column.chars)
        return self._widest[place]

    def alias_of(self, row: TensorRow) -> str:
        """What a person calls a tensor."""
        return self.annotations.alias_of(row.key)

    def _tell(self) -> None:
        if self.found:
            last = self.index(len(self.found) - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def restyle(self) -> None:
        """Colours have changed."""
        self._inks = Inks()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        """Storages."""
        return 0 if parent.isValid() else len(self.found)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        """Columns."""
        return 0 if parent.isValid() else len(TENSOR_COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Titles of columns."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = TENSOR_COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        return _alignment(column) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Text, order, colours and alignment of a cell."""
        if not index.isValid():
            return None
        row, column = self.found[index.row()], TENSOR_COLUMNS[index.column()]
        seen = self.seen.get(row.key)
        if role == Qt.ItemDataRole.DisplayRole:
            text = tensor_cell(row, column.key, seen, self.alias_of(row))
            # Numbers keep away from what stands left-aligned in the next column.
            return f"{text} " if column.is_number else text
        if role == Qt.ItemDataRole.DecorationRole and column.key == "role":
            return role_colour(row.role)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.BackgroundRole and row.ref in self._links.glow:
            is_own = self._links.glow[row.ref] == "solid"
            return self._inks.stripes["solid" if is_own else "striped"]
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._ink(row, column, seen)
        if role == Qt.ItemDataRole.FontRole and column.key != "role":
            return self._inks.font
        return None

    def _ink(self, row: TensorRow, column: TensorColumn, seen: Extremes | None) -> object:
        if column.key == "register":
            return self._inks.accent
        if column.key == "nan" and seen is not None and seen.nan:
            return self._inks.error
        return self._inks.text if column.key == "name" else self._inks.text2


def _alignment(column: TensorColumn) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class _Ordered(QSortFilterProxyModel):
    """Sorts by what cells mean, and leaves roles out."""

    def __init__(self, source: TensorTableModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = source
        self._roles: frozenset[TensorRole] = frozenset()
        self.setSourceModel(source)

    def show_roles(self, roles: frozenset[TensorRole]) -> None:
        """Keep only some roles; none for all."""
        self._roles = roles
        self.invalidate()

    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:
        return not self._roles or self._rows.found[source_row].role in self._roles

    def lessThan(self, source_left: Index, source_right: Index) -> bool:
        key = TENSOR_COLUMNS[source_left.column()].key
        rows = self._rows.found
        left, right = rows[source_left.row()], rows[source_right.row()]
        return self._order(left, key) < self._order(right, key)

    def _order(self, row: TensorRow, key: TensorColumnKey) -> tuple[float, str]:
        return tensor_order(row, key, self._rows.seen.get(row.key), self._rows.alias_of(row))


class TensorTable(QTableView):
    """The tensor map as a table.

    Args:
        links: what is lit and marked, and where choices go.
        parent: owner in Qt.
    """

    tip_wanted = QtSignal(object, object)
    """The pointer rests: its place on the screen, and the register there."""

    def __init__(self, links: TensorLinks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_map.table")
        self.setAccessibleName("Tensors of the program")
        self._links = links
        self._settling = False
        self._has_seen: bool | None = None
        self._chosen_columns: set[int] = set()
        self._chosen_widths: set[int] = set()
        self._fitting = False
        self._rows = TensorTableModel(links, self)
        self._ordered = _Ordered(self._rows, self)
        self.setModel(self._ordered)
        self._set_up()
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        self.doubleClicked.connect(self._opened)
        self.activated.connect(self._opened)
        binding.connect(self, links.lit, self._relit)
        binding.connect(self, theme.changed, self._restyle)
        self._restyle()

    def keys_wanted(self) -> tuple[str, ...]:
        """Names of the tensors worth a look: those whose rows can be seen, from top to bottom.

        None where what is seen of them would stand in columns out of sight, and sorts nothing.
        """
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        if first < 0 or not self.isVisible() or not self._tells_of_looks():
            return ()
        rows = range(first, (last if last >= 0 else self._ordered.rowCount() - 1) + 1)
        places = (self._ordered.mapToSource(self._ordered.index(row, 0)).row() for row in rows)
        return tuple(self._rows.found[place].key for place in places)

    def _tells_of_looks(self) -> bool:
        """Whether anybody could tell that a tensor was looked at."""
        if not self._has_seen:
            # The columns appear with the first look.
            return any(not self._is_left_out(place) for place in _LIVE)
        if self.horizontalHeader().sortIndicatorSection() in _LIVE:
            return True
        return any(self._is_read(place) for place in _LIVE if not self.isColumnHidden(place))

    def _is_read(self, place: int) -> bool:
        """Whether the end of a column is in sight, where its numbers are."""
        end = self.columnViewportPosition(place) + self.columnWidth(place)
        return 0 < end <= self.viewport().width()

    def _is_left_out(self, place: int) -> bool:
        """Whether the user has hidden a column."""
        return place in self._chosen_columns and self.isColumnHidden(place)

    def _set_up(self) -> None:
        self.setMouseTracking(True)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setIconSize(QSize(_CHIP, _CHIP))
        self.setCornerButtonEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        heights = self.verticalHeader()
        heights.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        heights.setDefaultSectionSize(theme.COMPACT_ROW)
        heights.hide()
        header = self.horizontalHeader()
        header.setObjectName("tensor_map.header")
        header.setSectionsMovable(True)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_columns)
        header.setHighlightSections(False)
        header.sectionResized.connect(self._section_resized)
        header.sortIndicatorChanged.connect(self._fit_columns)
        # Names differ at their beginning and at their end: conv2/kernel, conv2/kernel.grad.
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.fades = SideFades(self)

    # -- what is shown --------------------------------------------------------------------------

    @property
    def shown(self) -> tuple[TensorRow, ...]:
        """The rows in the order shown."""
        places = (self._ordered.index(row, 0) for row in range(self._ordered.rowCount()))
        return tuple(self._row(place) for place in places)

    def take(self, found: tuple[TensorRow, ...]) -> None:
        """Show other rows."""
        bar = self.verticalScrollBar()
        value = bar.value()
        self._settling = True
        self._rows.take(found)
        self._settling = False
        bar.setValue(value)
        self._fit_columns()

    def take_seen(self, seen: Mapping[str, Extremes]) -> None:
        """Show what was last seen of some tensors; those columns appear with the first look."""
        if seen == self._rows.seen and self._has_seen is not None:
            return
        self._rows.take_seen(seen)
        # They stay: with every change of the network all is looked at anew.
        if self._has_seen is None or (seen and not self._has_seen):
            self._has_seen = bool(seen)
            for place in _LIVE:
                if place not in self._chosen_columns:
                    self.setColumnHidden(place, not seen)
            self._fit_columns()

    def annotate(self, annotations: Annotations) -> None:
        """Show what a person calls tensors."""
        self._settling = True
        self._rows.annotate(annotations)
        self._settling = False
        self._fit_columns()

    def show_roles(self, roles: frozenset[TensorRole]) -> None:
        """Keep only some roles; none for all."""
        self._settling = True
        self._ordered.show_roles(roles)
        self._settling = False
        self.mark(may_scroll=False)

    def mark(self, *, may_scroll: bool) -> None:
        """Select the rows of what is marked; scroll to the primary one if it is out of sight."""
        self._settling = True
        chosen = QItemSelection()
        primary = QModelIndex()
        for place in range(self._ordered.rowCount()):
            index = self._ordered.index(place, 0)
            ref = self._row(index).ref
            if ref in self._links.marks:
                chosen.select(index, index)
            if ref == self._links.primary:
                primary = index
        flags = QItemSelectionModel.SelectionFlag
        model = self.selectionModel()
        model.select(chosen, flags.ClearAndSelect | flags.Rows)
        if primary.isValid():
            self.setAutoScroll(False)
            model.setCurrentIndex(primary, flags.NoUpdate)
            self.setAutoScroll(True)
            if may_scroll:
                self.bring_into_sight(primary)
        self._settling = False

    def bring_into_sight(self, index: QModelIndex) -> None:
        """Scroll to a row, up or down only."""
        if not self.is_in_sight(index):
            bar = self.horizontalScrollBar()
            kept = bar.value()
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
            bar.setValue(kept)

    def is_in_sight(self, index: QModelIndex) -> bool:
        """Whether a row is in sight, whole."""
        area = self.visualRect(index)
        return area.top() >= 0 and area.bottom() <= self.viewport().height()

    def row_of(self, ref: Ref) -> QModelIndex:
        """Where a register is; an invalid place where it is left out."""
        places = (self._ordered.index(row, 0) for row in range(self._ordered.rowCount()))
        return next((place for place in places if self._row(place).ref == ref), QModelIndex())

    def copied(self) -> str:
        """The selected rows, or all, as a table with tabs; bytes exact."""
        places = sorted(index.row() for index in self.selectionModel().selectedRows())
        lines = ["\t".join(column.title for column in TENSOR_COLUMNS)]
        for place in places or range(self._ordered.rowCount()):
            row = self._row(self._ordered.index(place, 0))
            seen = self._rows.seen.get(row.key)
            alias = self._rows.alias_of(row)
            cells = [tensor_cell(row, column.key, seen, alias) for column in TENSOR_COLUMNS]
            cells[_BYTES] = "" if row.nbytes is None else str(row.nbytes)
            lines.append("\t".join(cells))
        return "\n".join([*lines, ""])

    def choose_column(self, place: int, *, is_shown: bool) -> None:
        """Show or hide a column at the user's wish."""
        self._chosen_columns.add(place)
        self.setColumnHidden(place, not is_shown)
        self._fit_columns()

    def column_menu(self) -> QMenu:
        """The columns to choose from; that of names stays."""
        menu = QMenu(self)
        menu.setObjectName("tensor_map.columns")
        menu.setToolTipsVisible(True)
        for place, column in enumerate(TENSOR_COLUMNS):
            action = menu.addAction(column.title)
            action.setObjectName(f"tensor_map.column.{column.key}")
            action.setToolTip(column.tip)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(place))
            action.setEnabled(place != _NAME)
            action.toggled.connect(lambda on, each=place: self.choose_column(each, is_shown=on))
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def _show_columns(self, at: QPoint) -> None:
        self.column_menu().popup(self.horizontalHeader().mapToGlobal(at))

    def _row(self, index: QModelIndex) -> TensorRow:
        return self._rows.found[self._ordered.mapToSource(index).row()]

    def _relit(self) -> None:
        # Nothing is told to the model, which would sort anew: only colours differ.
        self.viewport().update()

    def _restyle(self) -> None:
        self._rows.restyle()
        self.viewport().update()
        self._fit_columns()

    def _fit_columns(self) -> None:
        """As narrow as what they say allows, where the user has not chosen; names get the rest."""
        char = QFontMetricsF(theme.font("mono")).horizontalAdvance("0")
        heading = self.horizontalHeader().fontMetrics()
        self._fitting = True
        for place, column in enumerate(TENSOR_COLUMNS):
            if place in self._chosen_widths:
                continue
            cells = round(self._rows.widest(place) * char)
            title = heading.horizontalAdvance(column.title)
            sorts = self.horizontalHeader().sortIndicatorSection() == place
            self.setColumnWidth(place, max(cells, title + _ARROW * sorts) + _PADDING)
        if _NAME not in self._chosen_widths:
            least = round(_LEAST_NAME * char) + _PADDING
            fit_column(self, _NAME, least, max(least, self.columnWidth(_NAME)))
        self._fitting = False

    def _section_resized(self, place: int, before: int, now: int) -> None:
        # A column that is hidden or shown is not resized by anybody.
        if not self._fitting and before and now:
            self._chosen_widths.add(place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the names the room there is."""
        super().resizeEvent(event)
        self._fit_columns()

    # -- what the user does ---------------------------------------------------------------------

    def _selection_changed(self, _now: QItemSelection, _before: QItemSelection) -> None:
        if self._settling:
            return
        chosen = sorted(index.row() for index in self.selectionModel().selectedRows())
        refs = tuple(self._row(self._ordered.index(place, 0)).ref for place in chosen)
        current = self.currentIndex()
        self._links.choose(refs, self._row(current).ref if current.isValid() else None)

    def _opened(self, index: QModelIndex) -> None:
        self._links.reveal(self._row(index).ref)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy whole rows, where Qt would copy one cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.copied())
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Letters lead to the next name that begins so, whatever column the caret is in."""
        current = self.currentIndex()
        row = max(current.row(), 0)
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(self._ordered.index(row, _NAME), flags.NoUpdate)
        super().keyboardSearch(search)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Light the register under the pointer."""
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        self._links.hover(self._row(index).ref if index.isValid() else None)

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer has left: nothing is lit any more."""
        super().leaveEvent(event)
        self._links.hover(None)

    def viewportEvent(self, event: QEvent) -> bool:
        """Ask for a card where the pointer rests."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            index = self.indexAt(event.pos())
            ref = self._row(index).ref if index.isValid() else None
            self.tip_wanted.emit(event.globalPos(), ref)
            return True
        return super().viewportEvent(event)
