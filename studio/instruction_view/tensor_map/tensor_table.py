"""The tensor map as a sorted and filtered table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QModelIndex, QSize, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import QBrush, QFontMetricsF, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from studio.engine.core.tensor import Ref
from studio.engine.train.project.annotations import NO_ANNOTATIONS, Annotations
from studio.instruction_view.inks import Inks
from studio.instruction_view.tensor_map.links import TensorLinks
from studio.instruction_view.tensor_map.role_legend import role_colour
from studio.session.listing.tensor_map.columns import (
    TENSOR_COLUMNS,
    Extremes,
    TensorColumn,
    TensorColumnKey,
    tensor_cell,
    tensor_order,
)
from studio.session.listing.tensor_map.rows import TensorRole, TensorRow
from studio.widgets import binding, theme
from studio.widgets.frames.side_fades import SideFades
from studio.widgets.record_table.column_widths import fit_column
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

_CHIP = 8
_PADDING = 14
_ACROSS = Qt.Orientation.Horizontal
_LEAST_NAME = 16
_NAME = next(i for i, c in enumerate(TENSOR_COLUMNS) if c.key == "name")
_LIVE = [i for i, c in enumerate(TENSOR_COLUMNS) if c.is_live]


class TensorTable(RecordTable):
    """The tensor map as a table.

    Args:
        links: what is lit and marked, and where choices go.
        parent: owner in Qt.
    """

    tip_wanted = QtSignal(object, object)
    """The pointer rests: its place on the screen, and the register there."""

    column_names = "tensor_map.column."
    copies_rows = True

    def __init__(self, links: TensorLinks, parent: QWidget | None = None) -> None:
        self._links = links
        self._seen: Mapping[str, Extremes] = {}
        self._annotations = NO_ANNOTATIONS
        self._stripes = Inks().stripes
        self._all: tuple[TensorRow, ...] = ()
        self._widest: dict[int, int] = {}
        self._settling = False
        self._has_seen: bool | None = None
        entries = RecordModel(
            tuple(map(self._column, TENSOR_COLUMNS)), face=self._face, says_order=True
        )
        title = "Tensors of the program"
        super().__init__(entries, "tensor_map.table", title, parent)
        self.setMouseTracking(True)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.setIconSize(QSize(_CHIP, _CHIP))
        # Names differ at their beginning and at their end: conv2/kernel, conv2/kernel.grad.
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.horizontalHeader()
        header.setObjectName("tensor_map.header")
        header.setSortIndicatorShown(False)
        header.sortIndicatorChanged.connect(self.fit)
        self.offer_columns()
        self.fades = SideFades(self)
        self.selectionModel().selectionChanged.connect(self._selection_changed)
        self.doubleClicked.connect(self._opened)
        self.activated.connect(self._opened)
        binding.connect(self, links.lit, self._relit)
        binding.connect(self, theme.changed, self._restyle)
        self._restyle()

    # -- cells ----------------------------------------------------------------------------------

    def _column(self, column: TensorColumn) -> Column[TensorRow]:
        key, chars = column.key, "{} " if column.is_number else "{}"

        def exact(row: TensorRow) -> str:
            if key == "bytes":
                return "" if row.nbytes is None else str(row.nbytes)
            return self._cell(row, key)

        return Column(
            # Numbers keep away from what stands left-aligned in the next column.
            key, column.title, lambda row: chars.format(self._cell(row, key)), tip=column.tip,
            exact=exact, order=lambda row: self._order(row, key), is_number=column.is_number,
            is_fixed=key == "name", colour=lambda row: self._ink(row, key), ground=self._ground,
            icon=(lambda row: role_colour(row.role)) if key == "role" else None,
            font=None if key == "role" else "mono",
        )  # fmt: skip

    def _cell(self, row: TensorRow, key: TensorColumnKey) -> str:
        return tensor_cell(row, key, self._seen.get(row.key), self._alias(row))

    def _order(self, row: TensorRow, key: TensorColumnKey) -> tuple[float, str]:
        return tensor_order(row, key, self._seen.get(row.key), self._alias(row))

    def _alias(self, row: TensorRow) -> str:
        return self._annotations.alias_of(row.key)

    def _face(self, row: TensorRow) -> object:
        return (self._seen.get(row.key), self._alias(row))

    def _ink(self, row: TensorRow, key: TensorColumnKey) -> str:
        if key == "register":
            return "accent"
        if key == "nan":
            seen = self._seen.get(row.key)
            return "error" if seen is not None and seen.nan else "text2"
        return "text" if key == "name" else "text2"

    def _ground(self, row: TensorRow) -> QBrush | None:
        glow = self._links.glow.get(row.ref)
        if glow is None:
            return None
        return self._stripes["solid" if glow == "solid" else "striped"]

    def widest(self, place: int) -> int:
        """Characters of the longest cell of a column, at most what the column may have.

        What is seen of tensors comes and goes: those columns have their room at once.
        """
        column = TENSOR_COLUMNS[place]
        if column.is_live:
            return column.chars
        if place not in self._widest:
            # Kept: a window that is laid out again asks with every size it passes through.
            texts = (self._cell(row, column.key) for row in self._all)
            self._widest[place] = min(max(map(len, texts), default=0), column.chars)
        return self._widest[place]

    # -- looking at tensors ---------------------------------------------------------------------

    def keys_wanted(self) -> tuple[str, ...]:
        """Names of the tensors worth a look: those whose rows can be seen, from top to bottom.

        None where what is seen of them would stand in columns out of sight, and sorts nothing.
        """
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        if first < 0 or not self.isVisible() or not self._tells_of_looks():
            return ()
        rows = range(first, (last if last >= 0 else len(self.shown) - 1) + 1)
        return tuple(self.shown[row].key for row in rows)

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
        return self._choices.get(TENSOR_COLUMNS[place].key) is False

    # -- what is shown --------------------------------------------------------------------------

    @property
    def shown(self) -> Sequence[TensorRow]:
        """The rows in the order shown."""
        return self.entries.rows

    def take(self, found: tuple[TensorRow, ...]) -> None:
        """Show other rows."""
        bar = self.verticalScrollBar()
        value = bar.value()
        self._all = found
        self._widest.clear()
        self._settling = True
        self.entries.take(found)
        self._settling = False
        bar.setValue(value)
        self.fit()

    def take_seen(self, seen: Mapping[str, Extremes]) -> None:
        """Show what was last seen of some tensors; those columns appear with the first look."""
        if seen == self._seen and self._has_seen is not None:
            return
        self._seen = seen
        self.entries.refresh(TENSOR_COLUMNS[_LIVE[0]].key, TENSOR_COLUMNS[_LIVE[-1]].key)
        # They stay: with every change of the network all is looked at again.
        if self._has_seen is None or (seen and not self._has_seen):
            self._has_seen = bool(seen)
            for place in _LIVE:
                if TENSOR_COLUMNS[place].key not in self._choices:
                    self.setColumnHidden(place, not seen)
            self.fit()

    def annotate(self, annotations: Annotations) -> None:
        """Show what a person calls tensors."""
        self._settling = True
        self._annotations = annotations
        self._widest.clear()
        self.entries.refresh("name")
        self._settling = False
        self.fit()

    def show_roles(self, roles: frozenset[TensorRole]) -> None:
        """Keep only some roles; none for all."""
        self._settling = True
        self.entries.keep((lambda row: row.role in roles) if roles else None)
        self._settling = False
        self.mark(may_scroll=False)

    def mark(self, *, may_scroll: bool) -> None:
        """Select the rows of what is marked; scroll to the primary one if it is out of sight."""
        self._settling = True
        self.choose(n for n, row in enumerate(self.shown) if row.ref in self._links.marks)
        primary = QModelIndex() if self._links.primary is None else self.row_of(self._links.primary)
        if primary.isValid():
            self.setAutoScroll(False)
            flags = QItemSelectionModel.SelectionFlag
            self.selectionModel().setCurrentIndex(primary, flags.NoUpdate)
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
        row = next((n for n, row in enumerate(self.shown) if row.ref == ref), -1)
        return self.entries.at(row)

    def copied(self) -> str:
        """The selected rows, or all, as a table with tabs and every column; bytes exact."""
        return self.as_text(column.key for column in TENSOR_COLUMNS) + "\n"

    def search_column(self) -> str:
        return "name"

    def _relit(self) -> None:
        # Only colours differ; the model would sort again if it knew.
        self.viewport().update()

    def _restyle(self) -> None:
        self._stripes = Inks().stripes
        self.entries.restyle()
        self.viewport().update()
        self.fit()

    def fit_columns(self) -> None:
        """As narrow as what they say allows, where the user has not chosen; names get the rest."""
        char = QFontMetricsF(theme.font("mono")).horizontalAdvance("0")
        heading = self.horizontalHeader().fontMetrics()
        for place, column in enumerate(TENSOR_COLUMNS):
            if column.key in self._drawn:
                continue
            cells = round(self.widest(place) * char)
            title = heading.horizontalAdvance(self.entries.headerData(place, _ACROSS))
            self.setColumnWidth(place, max(cells, title) + _PADDING)
        if "name" not in self._drawn:
            least = round(_LEAST_NAME * char) + _PADDING
            fit_column(self, _NAME, least, max(least, self.columnWidth(_NAME)))

    # -- what the user does ---------------------------------------------------------------------

    def _selection_changed(self, _now: QItemSelection, _before: QItemSelection) -> None:
        if self._settling:
            return
        refs = tuple(self.shown[row].ref for row in self.chosen_rows())
        current = self.currentIndex()
        self._links.choose(refs, self.shown[current.row()].ref if current.isValid() else None)

    def _opened(self, index: QModelIndex) -> None:
        self._links.reveal(self.shown[index.row()].ref)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        self._links.hover(self.shown[index.row()].ref if index.isValid() else None)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._links.hover(None)

    def viewportEvent(self, event: QEvent) -> bool:
        """Ask for a card where the pointer rests."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            index = self.indexAt(event.pos())
            ref = self.shown[index.row()].ref if index.isValid() else None
            self.tip_wanted.emit(event.globalPos(), ref)
            return True
        return super().viewportEvent(event)
