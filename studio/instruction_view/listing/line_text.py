"""The exact line of an instruction set in columns: where each character is drawn, and in what ink.

Operands of all lines begin at one tab stop; the text itself stays as the compiler prints it, but
for the names and comments a person gave it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from studio.session.listing.arrangement import Line
from studio.session.listing.labels import GAP, Labels
from studio.session.listing.line_spans import OperandSpan
from studio.session.listing.rows import ProgramRows

PieceKind: TypeAlias = Literal["mnemonic", "marker", "register", "scalar", "tail", "comment"]

WIDEST_TAB = 17
INDENT = 2
"""Characters a level is indented by."""


class Piece(NamedTuple):
    """A stretch of a line that is drawn in one ink.

    Attributes:
        kind: what it is.
        text: its characters.
        column: character cell it begins at.
        operand: which register of the line it is, -1 for none.
    """

    kind: PieceKind
    text: str
    column: int
    operand: int = -1


class LineSetter:
    """Sets the lines of one program.

    Args:
        rows: the program.
        labels: names and comments a person gave it.
        depth: how far lines outside fused groups are indented.
    """

    def __init__(self, rows: ProgramRows, labels: Labels, depth: int = 0) -> None:
        self._rows = rows
        self._labels = labels
        self.tab = min(rows.widest_mnemonic + INDENT, WIDEST_TAB) + INDENT * depth

    def column(self, line: Line, place: int) -> int:
        """The character cell of the character at a place of the line's text."""
        mnemonic = len(self._rows.mnemonic(line.row))
        indent = INDENT * line.depth
        if place <= mnemonic:
            return indent + place
        # Operands stand at the tab stop of unindented lines, whatever their own depth.
        begin = max(self.tab, indent + mnemonic) + 1
        return begin + place - mnemonic - 1

    def width(self, line: Line) -> int:
        """Cells the line takes, its comment left out."""
        return self.column(line, len(self._labels.text(line.row)))

    def pieces(self, line: Line) -> Iterator[Piece]:
        """The line's pieces, left to right."""
        text = self._labels.text(line.row)
        mnemonic = self._rows.mnemonic(line.row)
        is_marker = self._rows.is_group_begin(line.row) or self._rows.is_group_end(line.row)
        yield Piece("marker" if is_marker else "mnemonic", mnemonic, self.column(line, 0))
        tail = text.find("{")
        place = len(mnemonic)
        for operand, span in enumerate(self._labels.spans(line.row)):
            yield from self._plain(line, text, place, span.start, tail)
            kind: PieceKind = "register" if span.ref.present else "scalar"
            word = text[span.start : span.end]
            yield Piece(kind, word, self.column(line, span.start), operand)
            place = span.end
        yield from self._plain(line, text, place, len(text), tail)
        said = self._labels.tail(line.row)
        if said:
            yield Piece("comment", said, self.column(line, len(text)) + GAP)

    def operand_at(self, line: Line, column: float) -> int:
        """Which register is drawn at a character cell, -1 for none."""
        for operand, span in enumerate(self._labels.spans(line.row)):
            if self._covers(line, span, column):
                return operand if span.ref.present else -1
        return -1

    def is_mnemonic(self, line: Line, column: float) -> bool:
        """Whether the mnemonic is drawn at a character cell."""
        begin = self.column(line, 0)
        return begin <= column < begin + len(self._rows.mnemonic(line.row))

    def _covers(self, line: Line, span: OperandSpan, column: float) -> bool:
        begin = self.column(line, span.start)
        return begin <= column < begin + span.end - span.start

    def _plain(self, line: Line, text: str, start: int, end: int, tail: int) -> Iterator[Piece]:
        """Scalars, and from the brace on the tail."""
        brace = end if tail < 0 else min(max(tail, start), end)
        for kind, begin, stop in (("scalar", start, brace), ("tail", brace, end)):
            word = text[begin:stop]
            if word.strip():
                skipped = len(word) - len(word.lstrip())
                chosen: PieceKind = "scalar" if kind == "scalar" else "tail"
                yield Piece(chosen, word.strip(), self.column(line, begin + skipped))
