"""Two programs side by side or one below the other, aligned, changes coloured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from PySide6.QtCore import (
    QLineF,
    QPointF,
    QRectF,
    QSize,
)
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from studio.instruction_view.inks import Inks
from studio.session.listing.colouring import Band
from studio.session.listing.passes.program_diff import Change, DiffLine, Side
from studio.widgets import binding, theme
from studio.widgets.numbers import MINUS
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import Index, RecordModel

_SIGNS: dict[Change, str] = {"removed": MINUS, "added": "+", "changed": "~"}
_WORDS: tuple[Change, ...] = ("gap", "title")
_PADDING, _MARGIN, _BAND = 10, 38, 4


def _columns(*, is_inline: bool) -> tuple[Column[DiffLine], ...]:
    """A column for each side, or one for both."""
    if is_inline:
        return (_column("Before and after", lambda line: line.after or line.before),)
    return (
        _column("Before", lambda line: line.before), _column("After", lambda line: line.after)
    )  # fmt: skip


def _column(title: str, side_of: Callable[[DiffLine], Side | None]) -> Column[DiffLine]:
    def text(line: DiffLine) -> str:
        if line.change in _WORDS:
            return line.text
        side = side_of(line)
        return "" if side is None else f"{_SIGNS.get(line.change, ' ')} {side.text}"

    def tooltip(line: DiffLine) -> str | None:
        # A line is often longer than its side is wide.
        side = None if line.change in _WORDS else side_of(line)
        return None if side is None else side.text

    return Column(title.lower(), title, text, tooltip=tooltip)


class _Rows(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(10, theme.COMPACT_ROW)


class DiffView(QTreeView):
    """Shows the difference of two programs.

    Args:
        hue_of: the hue of a layer, -1 for housekeeping.
        parent: owner in Qt.
    """

    def __init__(self, hue_of: Callable[[str], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hue_of = hue_of
        self.setObjectName("passes.diff")
        self.setAccessibleName("Difference of two programs")
        self._inks = Inks()
        self._is_inline = False
        self._model = RecordModel(_columns(is_inline=False), parent=self)
        self.setItemDelegate(_Rows(self))
        self.setModel(self._model)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        binding.connect(self, theme.changed, self._restyle)

    @property
    def lines(self) -> Sequence[DiffLine]:
        return self._model.rows

    def take(self, lines: Sequence[DiffLine], *, is_inline: bool) -> None:
        """Show lines, sides beside or below each other."""
        self._is_inline = is_inline
        found = _inline(lines) if is_inline else lines
        self._model.take(tuple(found), _columns(is_inline=is_inline))
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)

    def _restyle(self) -> None:
        self._inks = Inks()
        self.viewport().update()

    def drawRow(self, painter: QPainter, options: QStyleOptionViewItem, index: Index) -> None:
        """Paint one aligned line."""
        line = self._model.rows[index.row()]
        row = QRectF(options.rect)
        painter.setFont(self._inks.font)
        if line.change in _WORDS:
            self._paint_words(painter, row, line)
            return
        if self._is_inline:
            self._paint_side(painter, row, line, line.after or line.before, line.change)
            return
        half = row.width() / 2
        left = QRectF(row.left(), row.top(), half, row.height())
        self._paint_side(painter, left, line, line.before, _of_side(line.change, "before"))
        right = left.translated(half, 0)
        self._paint_side(painter, right, line, line.after, _of_side(line.change, "after"))
        painter.setPen(QPen(self._inks.hairline, 1))
        painter.drawLine(QLineF(row.left() + half, row.top(), row.left() + half, row.bottom()))

    def _paint_words(self, painter: QPainter, row: QRectF, line: DiffLine) -> None:
        inks = self._inks
        painter.fillRect(row, inks.heading if line.change == "title" else inks.ground)
        painter.setPen(inks.text if line.change == "title" else inks.text3)
        text = line.text if line.change == "title" else f"⋯  {line.text}"
        left = row.left() + (_PADDING if line.change == "title" else _MARGIN)
        painter.drawText(QPointF(left, self._base(row)), text)

    def _paint_side(
        self, painter: QPainter, area: QRectF, line: DiffLine, side: Side | None, change: Change
    ) -> None:
        inks = self._inks
        grounds = {"removed": inks.removed, "added": inks.added, "changed": inks.changed}
        painter.save()
        painter.setClipRect(area)
        painter.fillRect(area, inks.ground)
        if side is None:
            painter.fillRect(area, inks.gone)
        else:
            painter.fillRect(area, grounds.get(change, inks.ground))
            self._paint_band(painter, area, side)
            painter.setPen(inks.text3)
            number = "" if side.row < 0 else str(side.row)
            base = self._base(area)
            painter.drawText(QPointF(area.left() + _PADDING, base), _SIGNS.get(change, ""))
            right = area.left() + _MARGIN + 2 * inks.char
            painter.drawText(QPointF(right - len(number) * inks.char, base), number)
            left = right + 1.5 * inks.char
            if change == "changed":
                self._mark_words(painter, area, left, line, side)
            painter.setPen(inks.text3 if change == "same" else inks.text)
            painter.drawText(QPointF(left, base), side.text)
        painter.restore()

    def _paint_band(self, painter: QPainter, area: QRectF, side: Side) -> None:
        """The colours of the layers a line came from, as in the listing."""
        hues = [self._hue_of(owner) for owner in side.owners]
        for place, hue in enumerate(hues):
            height = area.height() / len(hues)
            part = QRectF(area.left(), area.top() + place * height, _BAND, height)
            painter.fillRect(part, self._inks.band(Band(hue)))

    def _mark_words(
        self, painter: QPainter, area: QRectF, left: float, line: DiffLine, side: Side
    ) -> None:
        """Underlay the words that differ from the other side."""
        other = line.after if side is line.before else line.before
        if other is None:
            return
        mine, theirs = side.text.split(" "), other.text.split(" ")
        strong = QColor(self._inks.match)
        matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
        for tag, first, last, _, _ in matcher.get_opcodes():
            if tag == "equal":
                continue
            begin = sum(len(word) + 1 for word in mine[:first])
            length = max(sum(len(word) + 1 for word in mine[first:last]) - 1, 0)
            x, width = left + begin * self._inks.char, length * self._inks.char
            painter.fillRect(QRectF(x, area.top() + 3, width, area.height() - 6), strong)

    def _base(self, area: QRectF) -> float:
        return area.top() + (area.height() - self._inks.height) / 2 + self._inks.ascent


def _of_side(change: Change, side: str) -> Change:
    """What one side shows: an added line is nothing before, a removed one nothing after."""
    empty = {"before": "added", "after": "removed"}[side]
    return "same" if change == empty else change


def _inline(lines: Sequence[DiffLine]) -> list[DiffLine]:
    """A changed line as the line before and the line after."""
    found: list[DiffLine] = []
    for line in lines:
        if line.change == "changed":
            found.append(DiffLine("removed", before=line.before))
            found.append(DiffLine("added", after=line.after))
        else:
            found.append(line)
    return found
