"""Paints one line of the listing: ground, gutter, and the text of every column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QLinearGradient, QPainter, QPen, QPolygonF

from studio.instruction_view.inks import Inks
from studio.instruction_view.listing.line_text import LineSetter
from studio.instruction_view.listing.links import ListingLinks
from studio.session.listing.arrangement import Line
from studio.session.listing.columns import Column, ColumnKey, cell_text
from studio.session.listing.listing import Listing

GUTTER_WIDTH = 26
BAND_LEFT, BAND_WIDTH = 4, 4
FOLD_LEFT, FOLD_WIDTH = 11, 12
PADDING, FADE = 6, 24
"""Pixels between the edge of a column and its text, and over which a cut text fades."""

_NUMBERS: frozenset[ColumnKey] = frozenset({"row", "flops", "bytes", "ms"})


@dataclass
class LineState:
    """What is special about a line at the moment.

    Attributes:
        has_caret: the caret is in it.
        has_focus: the view takes the keyboard.
        is_stale: the document has gone on since.
        is_match: the search found it.
        begins_section: the line above it stands in another section.
        flash: ``added`` or ``changed`` by the last compile.
    """

    has_caret: bool = False
    has_focus: bool = False
    is_stale: bool = False
    is_match: bool = False
    begins_section: bool = False
    flash: str = ""


class LinePainter:
    """Paints lines of one listing.

    Args:
        listing: what is shown.
        links: what is lit and marked.
    """

    def __init__(self, listing: Listing, links: ListingLinks) -> None:
        self.inks = Inks()
        self._listing = listing
        self._links = links

    def paint(
        self,
        painter: QPainter,
        row: QRectF,
        line: Line,
        columns: Iterable[tuple[Column, QRectF]],
        setter: LineSetter,
        state: LineState,
    ) -> None:
        """Paint a line into its row."""
        self._paint_ground(painter, row, line, state)
        painter.setFont(self.inks.font)
        cells = tuple(columns)
        if line.kind == "failure":
            self._paint_failure(painter, row, line, cells)
            cells = ()
        for column, cell in cells:
            painter.save()
            left = max(cell.left(), row.left() + GUTTER_WIDTH)
            painter.setClipRect(QRectF(QPointF(left, cell.top()), cell.bottomRight()))
            if column.key == "instruction":
                end = self._paint_instruction(painter, cell, line, setter, state)
                if end > cell.right() - 2:
                    self._fade_out(painter, cell, self._ground(line, state))
            else:
                self._paint_cell(painter, cell, line, column)
            painter.restore()
        # The gutter stays in view when the columns are scrolled sideways.
        self._paint_gutter(painter, row, line, state)
        if state.has_caret and state.has_focus:
            painter.setPen(QPen(self.inks.accent, 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(row.adjusted(0.5, 0.5, -0.5, -0.5))

    # -- ground and gutter ----------------------------------------------------------------------

    def _paint_ground(self, painter: QPainter, row: QRectF, line: Line, state: LineState) -> None:
        inks = self.inks
        painter.fillRect(row, self._ground(line, state))
        style = self._links.light.rows.get(line.row) if line.kind != "heading" else None
        if style is not None:
            painter.fillRect(row, inks.stripes[style])
        if line.kind == "heading" or state.begins_section:
            painter.setPen(QPen(inks.hairline, 1))
            y = row.bottom() - 0.5 if line.kind == "heading" else row.top() + 0.5
            painter.drawLine(QLineF(row.left(), y, row.right(), y))

    def _ground(self, line: Line, state: LineState) -> QColor:
        inks = self.inks
        if line.kind in ("removed", "failure"):
            return inks.removed
        mark = self._links.mark_of(line)
        if mark == "primary":
            return inks.selected
        if state.flash:
            return inks.added if state.flash == "added" else inks.changed
        if mark == "member":
            return inks.member
        return inks.heading if line.kind == "heading" else inks.ground

    def _paint_gutter(self, painter: QPainter, row: QRectF, line: Line, state: LineState) -> None:
        inks = self.inks
        gutter = QRectF(row.left(), row.top(), GUTTER_WIDTH, row.height())
        if state.is_stale:
            painter.fillRect(gutter, inks.stale)
        mark = self._links.mark_of(line)
        if mark is not None:
            edge = QRectF(row.left(), row.top() + 1, 3, row.height() - 2)
            painter.setPen(QPen(inks.accent, 1))
            painter.setBrush(inks.accent if mark == "primary" else Qt.BrushStyle.NoBrush)
            painter.drawRect(edge.adjusted(0.5, 0.5, -0.5, -0.5))
        bands = self._listing.bands(line)
        if bands:
            part = row.height() / len(bands)
            for place, band in enumerate(bands):
                top = row.top() + place * part
                area = QRectF(row.left() + BAND_LEFT, top, BAND_WIDTH, part)
                painter.fillRect(area, inks.band(band))
        if self._listing.is_foldable(line):
            self._paint_fold(painter, row, is_folded=self._listing.is_folded(line))

    def _paint_fold(self, painter: QPainter, row: QRectF, *, is_folded: bool) -> None:
        middle = QPointF(row.left() + FOLD_LEFT + FOLD_WIDTH / 2, row.center().y())
        corners = [(-2.5, -4), (2.5, 0), (-2.5, 4)] if is_folded else [(-4, -2), (4, -2), (0, 3)]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.inks.text2)
        painter.drawPolygon(QPolygonF([middle + QPointF(x, y) for x, y in corners]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    # -- text -----------------------------------------------------------------------------------

    def _base(self, cell: QRectF) -> float:
        """Where the text of a cell stands."""
        return cell.top() + (cell.height() - self.inks.height) / 2 + self.inks.ascent

    def _paint_cell(self, painter: QPainter, cell: QRectF, line: Line, column: Column) -> None:
        text = cell_text(self._listing, line, column.key)
        if not text:
            return
        inks = self.inks
        width = len(text) * inks.char
        left = cell.left() + PADDING
        if column.key in _NUMBERS:
            left = cell.right() - PADDING - width
        is_faint = (
            column.key in ("row", "section", "parameters", "shape", "order")
            or line.kind == "reference"
        )
        painter.setPen(inks.text3 if is_faint else inks.text2)
        if column.key == "bytes" and " " in text:
            # Units are as wide as the widest, so that the numbers stand in one column.
            number, unit = text.split(" ")
            left = cell.right() - PADDING - 4 * inks.char - len(number) * inks.char
            painter.drawText(QPointF(left, self._base(cell)), number)
            painter.setPen(inks.text3)
            left = cell.right() - PADDING - 3 * inks.char
            painter.drawText(QPointF(left, self._base(cell)), unit)
            return
        if column.key == "flops":
            left = cell.right() - PADDING - 2 * inks.char - len(text.split(" ")[0]) * inks.char
        # A tenth of a character is lost to whole pixels of the column's width.
        room = int((cell.right() - PADDING - max(left, cell.left())) / inks.char + 0.1)
        if len(text) > room and column.key not in _NUMBERS:
            text = text[: max(room - 1, 1)] + "…"
        painter.drawText(QPointF(left, self._base(cell)), text)

    def _paint_instruction(
        self, painter: QPainter, cell: QRectF, line: Line, setter: LineSetter, state: LineState
    ) -> float:
        """Paint what a line is; where its text ends."""
        left = cell.left() + PADDING
        if line.kind == "instruction":
            end = self._paint_pieces(painter, cell, left, line, setter, state)
            title = self._title(line)
            if not title:
                return end
            painter.setPen(self.inks.text3)
            stop = left + (setter.tab + 1) * self.inks.char
            return self._paint_text(painter, cell, max(end + 2 * self.inks.char, stop), title)
        if line.kind == "reference":
            return self._paint_reference(painter, cell, left, line)
        if line.kind == "removed":
            return self._paint_removed(painter, cell, left, line)
        return self._paint_words(painter, cell, left, line)

    def _paint_text(self, painter: QPainter, cell: QRectF, left: float, text: str) -> float:
        painter.drawText(QPointF(left, self._base(cell)), text)
        return left + len(text) * self.inks.char

    def _fade_out(self, painter: QPainter, cell: QRectF, ground: QColor) -> None:
        """Show that a text goes on behind the edge of its column."""
        clear = QColor(ground)
        clear.setAlpha(0)
        fade = QLinearGradient(cell.right() - FADE, 0, cell.right(), 0)
        fade.setColorAt(0, clear)
        fade.setColorAt(1, ground)
        painter.fillRect(QRectF(cell.right() - FADE, cell.top(), FADE, cell.height()), fade)

    def _title(self, line: Line) -> str:
        rows = self._listing.rows
        if rows is None or not self._listing.is_folded(line):
            return ""
        return rows.group_title(line.row)

    def _paint_pieces(
        self,
        painter: QPainter,
        cell: QRectF,
        left: float,
        line: Line,
        setter: LineSetter,
        state: LineState,
    ) -> float:
        """Paint the exact line; where it ends."""
        inks, base = self.inks, self._base(cell)
        spans = self._listing.spans(line)
        styles = self._links.light.span_styles(line.row, spans)
        colours = {
            "mnemonic": inks.text, "marker": inks.text3, "register": inks.accent,
            "scalar": inks.text2, "tail": inks.text3, "comment": inks.ok,
        }  # fmt: skip
        end = left
        if state.is_match:
            width = (setter.width(line) - setter.column(line, 0)) * inks.char
            begin = left + setter.column(line, 0) * inks.char
            painter.fillRect(QRectF(begin - 2, cell.top() + 3, width + 4, cell.height() - 6),
                             inks.match)  # fmt: skip
        for piece in setter.pieces(line):
            x = left + piece.column * inks.char
            width = len(piece.text) * inks.char
            if piece.operand >= 0:
                area = QRectF(x - 1.5, cell.top() + 2.5, width + 3, cell.height() - 5)
                self._paint_register(painter, area, styles[piece.operand])
                if state.has_caret and self._listing.operand == piece.operand:
                    painter.fillRect(QRectF(x, area.bottom() - 1, width, 2), inks.accent)
            painter.setPen(colours[piece.kind])
            painter.drawText(QPointF(x, base), piece.text)
            end = x + width
        return end

    def _paint_register(self, painter: QPainter, area: QRectF, style: str | None) -> None:
        if style is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if style == "solid":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.inks.register_lit)
        else:
            painter.setPen(self.inks.dashed())
            painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(area, 3, 3)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _paint_reference(self, painter: QPainter, cell: QRectF, left: float, line: Line) -> float:
        rows = self._listing.rows
        if rows is None:
            return left
        painter.setPen(self.inks.text3)
        owners = rows.listed_owners(rows.group(line.row).first)
        where = ", ".join(rows.name_of(owner) for owner in owners)
        labels = self._listing.labels
        text = rows.text(line.row) if labels is None else labels.text(line.row)
        return self._paint_text(painter, cell, left, f"  → {text}   in {where}")

    def _paint_removed(self, painter: QPainter, cell: QRectF, left: float, line: Line) -> float:
        font = QFont(self.inks.font)
        font.setStrikeOut(True)
        painter.setFont(font)
        painter.setPen(self.inks.text2)
        return self._paint_text(painter, cell, left, line.title)

    def _paint_failure(
        self,
        painter: QPainter,
        row: QRectF,
        line: Line,
        cells: Iterable[tuple[Column, QRectF]],
    ) -> None:
        """What is wrong, over all columns."""
        left = next((c.left() for column, c in cells if column.key == "instruction"), row.left())
        painter.setPen(self.inks.error)
        self._paint_text(painter, row, max(left, row.left()) + PADDING, f"✕ {line.title}")

    def _paint_words(self, painter: QPainter, cell: QRectF, left: float, line: Line) -> float:
        text = cell_text(self._listing, line, "instruction")
        painter.setPen(self.inks.text2 if line.kind == "kernel" else self.inks.text)
        if line.kind == "kernel":
            left += 2 * line.depth * self.inks.char
        return self._paint_text(painter, cell, left, text)
