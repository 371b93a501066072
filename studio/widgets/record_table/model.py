"""The item model of every table and list: records that can be sorted, filtered and updated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeAlias, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication, QStyle

from studio.session.core.record_order import in_order
from studio.widgets import theme
from studio.widgets.record_table.columns import Column, Tick

R = TypeVar("R")
Index: TypeAlias = "QModelIndex | QPersistentModelIndex"
Answers: TypeAlias = "dict[int, Callable[[Any], Any]]"

NOWHERE = QModelIndex()
_ROLE = Qt.ItemDataRole
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_FLAGS = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_ROWS_MOVE = QAbstractItemModel.LayoutChangeHint.VerticalSortHint
# With the hint, which says that no column moves: a heading would lose the columns that are hidden.
_HINTED = "QList<QPersistentModelIndex>,QAbstractItemModel::LayoutChangeHint"
_MOST_PARTS = 64
_UP, _DOWN = "\u25b4", "\u25be"


class RecordModel(QAbstractTableModel, Generic[R]):
    """Records as rows; the text of a cell is computed when the cell becomes visible.

    `take` compares old and new records by key: views keep selection and scroll position, and only
    rows that look different are repainted. Without a key `take` resets the model.

    Attributes:
        columns_changed: emitted when the columns were replaced.

    Args:
        columns: what of a record is shown.
        key: identifies a record across calls of `take`; None where nothing does.
        face: everything a row shows, for comparison; by default the record itself.
        row_title: the heading of a row, by its place.
        says_order: the heading of the sorted column shows an arrow.
        heading: font of the headings. A header loses the font it was given with the next theme.
        parent: owner in Qt.
    """

    columns_changed = Signal()

    def __init__(
        self,
        columns: Sequence[Column[R]],
        *,
        key: Callable[[R], Hashable] | None = None,
        face: Callable[[R], object] | None = None,
        row_title: Callable[[int], str] | None = None,
        says_order: bool = False,
        heading: theme.FontKind | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._key, self._face, self._row_title = key, face, row_title
        self._says_order, self._heading = says_order, heading
        self._given: Sequence[R] = ()
        self._shown: Sequence[R] = ()
        self._faces: list[object] = []
        self._keep: Callable[[R], bool] | None = None
        self._sorted_by, self._descending = "", False
        self._set_columns(columns)

    # -- what is shown --------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column[R], ...]:
        return self._columns

    @property
    def rows(self) -> Sequence[R]:
        return self._shown

    @property
    def order(self) -> tuple[str, bool]:
        """Key of the column the rows are sorted by, and whether the largest comes first."""
        return self._sorted_by, self._descending

    def place_of(self, key: str) -> int:
        """The place of a column; -1 where there is none."""
        return self._places.get(key, -1)

    def row_of(self, key: Hashable) -> int:
        """The row of the record with a key; -1 where it is not shown."""
        identify = self._key or id
        return next((n for n, each in enumerate(self._shown) if identify(each) == key), -1)

    def record(self, row: int) -> R | None:
        """The record of a row; None where there is no such row."""
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def at(self, row: int, column: int | str = 0) -> QModelIndex:
        """The place of a cell."""
        return self.index(row, self._places[column] if isinstance(column, str) else column)

    # -- showing --------------------------------------------------------------------------------

    def take(self, records: Sequence[R], columns: Sequence[Column[R]] | None = None) -> None:
        """Show these records, with other columns where some are given."""
        self._given = records
        found = self._arranged()
        if columns is not None:
            self.beginResetModel()
            self._set_columns(columns)
            self._show(found)
            self.endResetModel()
            self.columns_changed.emit()
        elif self._key is None:
            self._restart(found)
        else:
            self._update(found, [self._key(each) for each in found])

    def refresh(self, *columns: str) -> None:
        """Update rows that look different now, though their records are the same.

        Args:
            columns: keys of the first and last column that can; none for all.
        """
        every = [(0, len(self._shown) - 1)] if len(self._shown) else []
        before, self._faces = self._faces, self._faces_of(self._shown)
        parts = every if self._face is None else _parts(before, self._faces)
        if parts and self._is_among(columns) and not self._are_sorted(parts):
            self._move(self._arranged())
        else:
            self._tell(parts, columns)

    def _are_sorted(self, parts: Sequence[tuple[int, int]]) -> bool:
        """Whether these rows have kept their places beside their neighbours."""
        order = self._columns[self.place_of(self._sorted_by)].order
        for top, bottom in parts:
            rows = range(max(top - 1, 0), min(bottom + 2, len(self._shown)))
            values = [order(self._shown[row]) for row in rows] if order is not None else []
            if None in values:
                return False
            pairs = pairwise(values)
            if not all(a > b if self._descending else a < b for a, b in pairs):
                return False
        return True

    def _is_among(self, columns: Sequence[str]) -> bool:
        """Whether rows are sorted by one of the columns between two, or there are none given."""
        if not self._sorted_by or not columns:
            return bool(self._sorted_by)
        first, last = self._places[columns[0]], self._places[columns[-1]]
        return first <= self.place_of(self._sorted_by) <= last

    def restyle(self) -> None:
        """Fonts have changed."""
        self._set_columns(self._columns)

    def keep(self, wanted: Callable[[R], bool] | None) -> None:
        """Show only the records that are wanted; None for all."""
        self._keep = wanted
        self._move(self._arranged())

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 for the order given."""
        self._sorted_by = self._columns[column].key if column >= 0 else ""
        self._descending = order == Qt.SortOrder.DescendingOrder
        if self._says_order:
            last = len(self._columns) - 1
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)
        self._move(self._arranged())

    def _arranged(self) -> Sequence[R]:
        found = self._given
        if self._keep is not None:
            found = tuple(filter(self._keep, found))
        place = self.place_of(self._sorted_by)
        order = self._columns[place].order if place >= 0 else None
        if order is not None:
            found = in_order(found, order, descending=self._descending)
        return found

    def _update(self, found: Sequence[R], after: list[Hashable]) -> None:
        """Show records, with the smallest change of the model that leads there."""
        assert self._key is not None
        before = [self._key(each) for each in self._shown]
        gone = before.index(after[0]) if after and after[0] in before else 0
        kept = len(before) - gone
        if before != after and len(before) == len(after) and set(before) == set(after):
            self._move(found)
        elif after[:kept] == before[gone:] and (kept or not before):
            self._shift(found, gone, kept)
        else:
            self._restart(found)

    def _shift(self, found: Sequence[R], gone: int, kept: int) -> None:
        """Remove rows at the top and append rows at the bottom."""
        old = self._faces[gone:]
        if gone:
            self.beginRemoveRows(NOWHERE, 0, gone - 1)
            self._show(found[:kept])
            self.endRemoveRows()
        if len(found) > kept:
            self.beginInsertRows(NOWHERE, kept, len(found) - 1)
            self._show(found)
            self.endInsertRows()
        self._show(found)
        self._tell(_parts(old, self._faces[:kept]))

    def _restart(self, found: Sequence[R]) -> None:
        self.beginResetModel()
        self._show(found)
        self.endResetModel()

    def _move(self, found: Sequence[R]) -> None:
        """Reorder or remove rows; selection and current cell move with their records."""
        identify = self._key or id
        self.layoutAboutToBeChanged[_HINTED].emit([], _ROWS_MOVE)  # type: ignore[index]
        places = {identify(each): row for row, each in enumerate(found)}
        old, new = self.persistentIndexList(), []
        for index in old:
            row = places.get(identify(self._shown[index.row()]), -1)
            new.append(QModelIndex() if row < 0 else self.createIndex(row, index.column()))
        self._show(found)
        self.changePersistentIndexList(old, new)
        self.layoutChanged[_HINTED].emit([], _ROWS_MOVE)  # type: ignore[index]

    def _show(self, found: Sequence[R]) -> None:
        self._shown = found
        self._faces = self._faces_of(found)

    def _faces_of(self, found: Sequence[R]) -> list[object]:
        if self._face is not None:
            return [self._face(each) for each in found]
        return [] if self._key is None else list(found)

    def _tell(self, parts: Sequence[tuple[int, int]], columns: Sequence[str] = ()) -> None:
        """Emit ``dataChanged`` for rows that look different."""
        first = self._places[columns[0]] if columns else 0
        last = self._places[columns[-1]] if columns else len(self._columns) - 1
        if len(parts) > _MOST_PARTS:
            parts = [(parts[0][0], parts[-1][1])]
        for top, bottom in parts:
            self.dataChanged.emit(self.index(top, first), self.index(bottom, last))

    # -- columns --------------------------------------------------------------------------------

    def _set_columns(self, columns: Sequence[Column[R]]) -> None:
        self._columns = tuple(columns)
        self._places = {column.key: place for place, column in enumerate(self._columns)}
        self._answers = [_answers(column) for column in self._columns]
        self._plain = not any(column.tick or column.edit for column in self._columns)

    # -- what Qt asks ---------------------------------------------------------------------------

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = _ROLE.DisplayRole) -> Any:
        row = index.row()
        if not 0 <= row < len(self._shown):
            return None
        answer = self._answers[index.column()].get(role)
        return None if answer is None else answer(self._shown[row])

    def setData(self, index: Index, value: Any, role: int = _ROLE.EditRole) -> bool:
        record, column = self._shown[index.row()], self._columns[index.column()]
        if role == _ROLE.CheckStateRole and column.tick is not None:
            if not column.tick.may_change(record):
                return False
            column.tick.take(record, Qt.CheckState(value) == Qt.CheckState.Checked)
            return True
        if role == _ROLE.EditRole and column.edit is not None:
            column.edit.take(record, str(value))
            return True
        return False

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if self._plain:
            return _FLAGS
        found, column = _FLAGS, self._columns[index.column()]
        if column.edit is not None:
            found |= Qt.ItemFlag.ItemIsEditable
        if column.tick is not None and column.tick.may_change(self._shown[index.row()]):
            found |= Qt.ItemFlag.ItemIsUserCheckable
        return found

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = _ROLE.DisplayRole
    ) -> Any:
        if orientation is Qt.Orientation.Vertical:
            is_title = role == _ROLE.DisplayRole and self._row_title is not None
            return self._row_title(section) if is_title and self._row_title else None
        if not 0 <= section < len(self._columns):
            return None
        column = self._columns[section]
        if role == _ROLE.DisplayRole:
            return self._titled(column)
        if role == _ROLE.ToolTipRole:
            return column.tip or None
        if role == _ROLE.TextAlignmentRole:
            return _RIGHT if column.is_number else _LEFT
        if role == _ROLE.FontRole and self._heading is not None:
            return theme.font(self._heading)
        if role == _ROLE.AccessibleTextRole:
            return None if column.title else column.name or None
        return None

    def _titled(self, column: Column[R]) -> str:
        """A heading, with an arrow where it sorts: Qt draws its own over the text."""
        if not self._says_order or column.key != self._sorted_by:
            return column.title
        return f"{_DOWN if self._descending else _UP} {column.title}"


def _parts(before: Sequence[object], after: Sequence[object]) -> list[tuple[int, int]]:
    """First and last rows of the stretches that differ."""
    found: list[tuple[int, int]] = []
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        if old is new or old == new:
            continue
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found


def _answers(column: Column[Any]) -> Answers:
    """A function for each role, made once: a view asks for seven roles of each cell."""
    side = _RIGHT if column.is_number else _LEFT
    found: dict[int, Callable[[Any], Any] | None] = {
        _ROLE.DisplayRole: column.text,
        _ROLE.TextAlignmentRole: lambda _record: side,
        _ROLE.ToolTipRole: column.tooltip,
        _ROLE.AccessibleTextRole: column.spoken,
        _ROLE.DecorationRole: column.icon,
        _ROLE.BackgroundRole: column.ground,
    }
    colour, tick, edit = column.colour, column.tick, column.edit
    if colour is not None:
        found[_ROLE.ForegroundRole] = lambda record: _coloured(colour(record))
    if column.font is not None:
        font = theme.font(column.font)
        found[_ROLE.FontRole] = lambda _record: font
    if tick is not None:
        found[_ROLE.CheckStateRole] = lambda record: _ticked(tick, record)
        if column.icon is None:
            # Texts without a box begin where those behind boxes do.
            room = _room_of_a_box()
            found[_ROLE.DecorationRole] = lambda record: None if tick.is_there(record) else room
    if edit is not None:
        found[_ROLE.EditRole] = edit.start
    return {int(role): answer for role, answer in found.items() if answer is not None}


def _room_of_a_box() -> QPixmap:
    room = QPixmap(QApplication.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth), 1)
    room.fill(Qt.GlobalColor.transparent)
    return room


def _ticked(tick: Tick[Any], record: Any) -> Qt.CheckState | None:
    """The state of a box; None where there is none."""
    if not tick.is_there(record):
        return None
    return Qt.CheckState.Checked if tick.is_on(record) else Qt.CheckState.Unchecked


def _coloured(role: str | None) -> Any:
    return None if role is None else theme.colour(role)
