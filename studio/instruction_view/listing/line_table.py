"""The lines of a listing as a table that paints itself and knows what is where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QScrollBar,
    QStyle,
    QStyleOptionSlider,
    QWidget,
)

from studio.instruction_view.listing.line_painter import (
    FOLD_LEFT,
    FOLD_WIDTH,
    GUTTER_WIDTH,
    PADDING,
    LinePainter,
    LineState,
)
from studio.instruction_view.listing.line_text import LineSetter
from studio.instruction_view.listing.links import ListingLinks
from studio.session.listing.arrangement import Line
from studio.session.listing.columns import COLUMNS, ColumnKey, cell_text, chars_of, title_of
from studio.session.listing.columns import Column as ListingColumn
from studio.session.listing.labels import Labels
from studio.session.listing.listing import Listing
from studio.widgets import theme
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordTable

GUTTER = 0
"""The first column: colour band, marks, folding."""

FIRST = 1
"""Column of the first of `COLUMNS`."""

PLACES = {column.key: place for place, column in enumerate(COLUMNS, FIRST)}
INSTRUCTION, MILLISECONDS, ORDER = PLACES["instruction"], PLACES["ms"], PLACES["order"]
WIDEST_LINE = 64
ROOMY: tuple[ColumnKey, ...] = ("section", "flops", "bytes", "ms")
"""Columns that are left out, in this order, where lines would not have enough room beside them."""

ENOUGH = 34
"""Characters of a line that are worth more than those columns."""
ROW = theme.COMPACT_ROW
_LEAST_NUMBER = 2
_THICK = 2.0
_WIDTH = 4.0


class Spot(NamedTuple):
    """What is at a place of the table.

    Attributes:
        place: which line, -1 below the last.
        column: which column, empty for the gutter.
        operand: which register of the line, -1 for none.
        is_mnemonic: the mnemonic is there.
        is_fold: the triangle that folds the line is there.
    """

    place: int
    column: ColumnKey | None = None
    operand: int = -1
    is_mnemonic: bool = False
    is_fold: bool = False


class LineTable(RecordTable):
    """Paints the lines of a listing.

    Args:
        listing: what is shown.
        links: what is lit and marked.
        parent: owner in Qt.
    """

    def __init__(
        self, listing: Listing, links: ListingLinks, parent: QWidget | None = None
    ) -> None:
        self._listing = listing
        self._links = links
        self._painter = LinePainter(listing, links)
        self._setter: LineSetter | None = None
        self._labels: Labels | None = None
        self._shown: tuple[Line, ...] = ()
        self._is_stale = False
        self._had_times = False
        self._matches: frozenset[int] = frozenset()
        self._level = listing.level
        entries = RecordModel(columns_of(listing))
        entries.take(listing.lines)
        title = "Instruction listing"
        super().__init__(entries, "listing.table", title, parent, high=ROW, context="listing")
        self.scroll_marks = MarkedScrollBar(self)
        self.setVerticalScrollBar(self.scroll_marks)
        self.setMouseTracking(True)
        self.verticalScrollBar().setSingleStep(ROW)
        self.verticalHeader().setMinimumSectionSize(ROW)
        self.offer_columns()
        header = self.header()
        header.setObjectName("listing.header")
        header.setStretchLastSection(False)
        header.setFirstSectionMovable(False)
        header.setMinimumSectionSize(GUTTER_WIDTH)
        header.setSectionResizeMode(GUTTER, QHeaderView.ResizeMode.Fixed)
        for place, column in enumerate(COLUMNS, FIRST):
            header.setSectionHidden(place, not column.is_shown)

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._shown

    def header(self) -> QHeaderView:
        return self.horizontalHeader()

    def spot_at(self, at: QPoint) -> Spot:
        """What is at a place of the viewport."""
        place = (at.y() + self.verticalScrollBar().value()) // ROW
        if at.y() < 0 or place >= len(self._shown):
            return Spot(-1)
        line = self._shown[place]
        if at.x() < GUTTER_WIDTH:
            over = at.x() >= FOLD_LEFT - 2 and at.x() < FOLD_LEFT + FOLD_WIDTH + 2
            return Spot(place, is_fold=over and self._listing.is_foldable(line))
        section = self.header().logicalIndexAt(at.x())
        if section < FIRST:
            return Spot(place)
        key = COLUMNS[section - FIRST].key
        if key != "instruction" or line.kind != "instruction" or self._setter is None:
            return Spot(place, key)
        left = self.header().sectionViewportPosition(section) + PADDING
        column = (at.x() - left) / self._painter.inks.char
        return Spot(
            place,
            key,
            self._setter.operand_at(line, column),
            self._setter.is_mnemonic(line, column),
        )

    def spot_rect(self, place: int, operand: int = -1) -> QRect:
        """Where a line, or one of its registers, is in the viewport."""
        row = self.visualRect(self.entries.at(place, INSTRUCTION))
        line = self._shown[place]
        spans = self._listing.spans(line)
        if self._setter is None or not 0 <= operand < len(spans):
            return row
        span = spans[operand]
        char, left = self._painter.inks.char, row.left() + PADDING
        begin = self._setter.column(line, span.start)
        return QRect(
            round(left + begin * char), row.top(), round((span.end - span.start) * char), ROW
        )

    def is_row_visible(self, place: int) -> bool:
        """Whether a line is in sight, whole but for a pixel of rounding."""
        top = place * ROW - self.verticalScrollBar().value()
        return top >= -1 and top + ROW <= self.viewport().height() + 1

    def set_stale(self, is_stale: bool) -> None:
        """Hatch the gutter where the document has gone on since."""
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            self.viewport().update()

    def take_lines(self) -> None:
        """Show the lines as they are now; what was in sight stays where it was."""
        anchors = tuple(self._anchors(self._shown))
        self._shown = self._listing.lines
        level, self._level = self._level, self._listing.level
        columns = None if level == self._level else columns_of(self._listing)
        self.entries.take(self._shown, columns)
        self._set_lines()
        self.executeDelayedItemsLayout()
        self.updateGeometries()
        by_key = self._listing.arrangement.by_key
        for key, top in anchors:
            if key in by_key:
                self.verticalScrollBar().setValue(by_key[key] * ROW - top)
                break
        self.fit()
        self.mark_scroll_bar()

    def _set_lines(self) -> None:
        """Set lines with the labels they have now."""
        rows, labels = self._listing.rows, self._listing.labels
        depth = 0 if self._listing.grouping == "flat" else 1
        self._labels, self._setter = labels, None
        if rows is not None and labels is not None:
            self._setter = LineSetter(rows, labels, depth)

    def relabel(self) -> None:
        """A person has named registers or commented on lines since."""
        if self._labels is not self._listing.labels:
            self._set_lines()
            self.entries.refresh("instruction")
            self.fit()

    def mark_scroll_bar(self) -> None:
        """Show on the scroll bar where matches and marked lines are."""
        count = max(len(self._shown) - 1, 1)
        place_of = self._listing.arrangement.place_of
        self._matches = frozenset(self._listing.matches)

        def places(rows: tuple[int, ...]) -> list[float]:
            return sorted({round(place_of(row) / count, 3) for row in rows})

        self.scroll_marks.set_marks(
            {"accent": places(self._links.marked_rows), "warning": places(self._listing.matches)}
        )

    def fit_times(self) -> None:
        """Show the column of times once there are some."""
        if "ms" not in self._choices and self._listing.has_times != self._had_times:
            self._had_times = self._listing.has_times
            self.fit()

    def restyle(self) -> None:
        """Colours or fonts have changed."""
        self._painter = LinePainter(self._listing, self._links)
        self.fit()
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self._painter.inks.ground)
        value, width = self.verticalScrollBar().value(), self.viewport().width()
        first = (event.rect().top() + value) // ROW
        last = min((event.rect().bottom() + value) // ROW + 1, len(self._shown))
        for place in range(max(first, 0), last):
            row = QRectF(0, place * ROW - value, width, ROW)
            self._paint_line(painter, row, place, event.rect())
        painter.end()

    def _paint_line(self, painter: QPainter, row: QRectF, place: int, seen: QRect) -> None:
        if self._setter is None:
            return
        line, changes = self._shown[place], self._listing.changes
        flash = "added" if line.key in changes.added else ""
        state = LineState(
            has_caret=place == self._listing.caret,
            has_focus=self.hasFocus(),
            is_stale=self._is_stale,
            is_match=line.row in self._matches,
            begins_section=self._begins_section(place),
            flash=flash or ("changed" if line.key in changes.changed else ""),
        )
        # What is wrong runs over all columns, from where one of them begins.
        part = self.viewport().rect() if line.kind == "failure" else seen
        self._painter.paint(painter, row, line, self._cells(row, part), self._setter, state)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Home and End lead to the first and last line, not along one; the caret begins above."""
        is_end = action is QAbstractItemView.CursorAction.MoveEnd
        if self._listing.caret < 0 and self._shown and not is_end:
            # The focus makes the first line current, and a key that leads there would do nothing.
            self.selectionModel().clearCurrentIndex()
            return self.entries.at(0, max(self.currentIndex().column(), 0))
        ends = {
            QAbstractItemView.CursorAction.MoveHome: 0,
            QAbstractItemView.CursorAction.MoveEnd: len(self._shown) - 1,
        }
        if action in ends and self._shown:
            return self.entries.at(ends[action], max(self.currentIndex().column(), 0))
        return super().moveCursor(action, modifiers)

    def _begins_section(self, place: int) -> bool:
        """Whether a line is the first one of its section."""
        rows, line, above = self._listing.rows, self._shown[place], self._shown[place - 1]
        if rows is None or place == 0 or line.row < 0 or above.row < 0:
            return False
        return rows.section(line.row) != rows.section(above.row)

    def _cells(self, row: QRectF, seen: QRect) -> Iterator[tuple[ListingColumn, QRectF]]:
        """The cells of a line that have something in the part to paint."""
        header = self.header()
        begin, end = max(seen.left(), GUTTER_WIDTH), seen.left() + seen.width()
        for place, column in enumerate(COLUMNS, FIRST):
            if header.isSectionHidden(place):
                continue
            left, width = header.sectionViewportPosition(place), header.sectionSize(place)
            if left < end and left + width > begin:
                yield column, QRectF(left, row.top(), width, row.height())

    def _anchors(self, lines: tuple[Line, ...]) -> Iterator[tuple[str, int]]:
        """Lines in sight and how far below the upper edge they are; the caret's first."""
        value, height = self.verticalScrollBar().value(), self.viewport().height()
        if value == 0 and self._listing.caret < 0:
            return
        found = []
        caret = self._listing.caret_line
        for place in range(value // ROW, min((value + height) // ROW + 1, len(lines))):
            found.append((lines[place].key, place * ROW - value))
            if caret is not None and lines[place].key == caret.key:
                yield found[-1]
        yield from found

    def fit_columns(self) -> None:
        """Columns as wide as what they hold, where the user has not chosen; lines take the rest."""
        char, header = self._painter.inks.char, self.header()
        if "order" not in self._choices:
            header.setSectionHidden(ORDER, self._listing.level != "kernels")
        header.resizeSection(GUTTER, GUTTER_WIDTH)
        for place, column in enumerate(COLUMNS, FIRST):
            if column.key not in self._drawn and place != INSTRUCTION:
                header.resizeSection(place, round(self._chars(column) * char) + 2 * PADDING)
        enough = round(ENOUGH * char) + 2 * PADDING
        self._leave_out(enough)
        if "instruction" not in self._drawn:
            others = header.length() - header.sectionSize(INSTRUCTION)
            chars = chars_of(COLUMNS[INSTRUCTION - FIRST], self._listing.level)
            least = min(round(chars * char) + 2 * PADDING, enough)
            widest = round(self._widest_line() * char) + 2 * PADDING
            room = self.viewport().width() - others
            header.resizeSection(INSTRUCTION, min(max(room, least), max(widest, least)))

    def _chars(self, column: ListingColumn) -> int:
        """Width of a column: no more than what it holds, as lines need the room."""
        rows, most = self._listing.rows, chars_of(column, self._listing.level)
        if rows is None:
            return most
        if column.key == "row":
            return max(_LEAST_NUMBER, len(str(len(rows))))
        if self._listing.level != "instructions" or self._listing.grouping != "flat":
            return most
        title = len(title_of(column, self._listing.level))
        if column.key == "shape":
            return min(most, max(title, rows.widest_shape))
        return min(most, max(title, rows.widest_owners)) if column.key == "layers" else most

    def _leave_out(self, enough: int) -> None:
        """Show the columns that the user has not chosen where there is room for them."""
        header = self.header()
        usual = [key for key in ROOMY if key not in self._choices]
        for key in usual:
            column = COLUMNS[PLACES[key] - FIRST]
            is_used = self._listing.has_times if key == "ms" else column.is_shown
            header.setSectionHidden(PLACES[key], not is_used)
        for key in usual:
            others = header.length() - header.sectionSize(INSTRUCTION)
            if self.viewport().width() - others < enough:
                header.setSectionHidden(PLACES[key], True)

    def _widest_line(self) -> int:
        labels, setter = self._listing.labels, self._setter
        if labels is None or setter is None or self._listing.level == "layers":
            return WIDEST_LINE // 2
        return min(setter.tab + labels.widest_operands + 2, WIDEST_LINE)


class MarkedScrollBar(QScrollBar):
    """A vertical scroll bar with ticks beside its handle.

    Args:
        parent: owner in Qt.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.setObjectName("listing.scroll")
        self._marks: dict[str, tuple[float, ...]] = {}

    def set_marks(self, marks: Mapping[str, Iterable[float]]) -> None:
        """Show ticks.

        Args:
            marks: for each colour role the places, 0 at the top to 1 at the bottom.
        """
        made = {role: tuple(places) for role, places in marks.items()}
        if made != self._marks:
            self._marks = made
            self.update()

    @property
    def marks(self) -> Mapping[str, tuple[float, ...]]:
        return self._marks

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not any(self._marks.values()):
            return
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        groove = self.style().subControlRect(
            QStyle.ComplexControl.CC_ScrollBar, option, QStyle.SubControl.SC_ScrollBarGroove, self
        )
        painter = QPainter(self)
        for role, places in self._marks.items():
            colour = theme.colour(role)
            for place in places:
                top = groove.top() + place * (groove.height() - _THICK)
                painter.fillRect(QRectF(self.width() - _WIDTH - 1, top, _WIDTH, _THICK), colour)
        painter.end()


def columns_of(listing: Listing) -> tuple[Column[Line], ...]:
    """The gutter, and the columns with the headings they have at the level shown now."""

    def spoken(line: Line) -> str:
        return ", ".join(band.name for band in listing.bands(line) if band.name)

    gutter: Column[Line] = Column(
        "gutter", "", lambda _: "", name="Origin", spoken=spoken, is_fixed=True
    )
    return (gutter, *(_column(listing, column) for column in COLUMNS))


def _column(listing: Listing, column: ListingColumn) -> Column[Line]:
    return Column(
        column.key, title_of(column, listing.level),
        lambda line: cell_text(listing, line, column.key), tip=column.tip, name=column.title,
        is_number=column.is_number, is_shown=column.is_shown,
        is_fixed=column.key == "instruction",
    )  # fmt: skip
