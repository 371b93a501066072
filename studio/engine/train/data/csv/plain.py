"""Takes quotes out of a piece of a table, so that it can be split at delimiters and line ends.

Delimiters, line ends and quotes inside a quoted cell are replaced by other characters. Every row
ends with LF, and empty lines are left out. A byte is inside quotes where the number of quotes
before it is odd. That, and which bytes are beside a quote, is found for 64 bytes at once, in words
of one bit for each byte, the lowest bit first.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Lines = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
"""One bit for each byte of a text, and at least one more."""

NEWLINE = b"\n"
_LONGEST_CELL = 1 << 17
"""Bytes; Python's reader refuses cells that are longer."""
_MARK = b"\xef\xbb\xbf"
_FOR_DELIMITER, _FOR_QUOTE, _FOR_LF, _FOR_CR = b"\1\2\3\4"
"""What stands for these inside quotes until the cells are cut: no blanks, and in no usual table."""
_STAND_INS = tuple(bytes([code]) for code in (_FOR_DELIMITER, _FOR_QUOTE, _FOR_LF, _FOR_CR))


@dataclass(frozen=True, slots=True)
class Plain:
    """The whole rows at the beginning of a piece.

    Attributes:
        content: one row a line that ends with LF.
        raw: them as they were.
        lines: how many lines these are.
        rows: the line each row begins on, from 0.
    """

    content: bytes
    raw: bytes
    lines: int
    rows: Lines | range


def plain_rows(raw: bytes, delimiter: str, most: int) -> Plain | None:
    """The whole rows of a piece; None where Python's reader is needed or a row is too long.

    Args:
        raw: the piece, which begins with a row.
        delimiter: what stands between cells.
        most: bytes a row may have.
    """
    if b"\0" in raw or any(stand_in in raw for stand_in in _STAND_INS):
        return None
    content, is_inside = raw, None
    if b'"' in raw:
        quotes = _words(raw, '"')
        inside = _within(quotes)
        if inside[-1] >> np.uint64(63):
            # The last row goes on behind the piece.
            ends = np.flatnonzero(_line_ends(raw) & ~_marks(inside, len(raw)))
            return plain_rows(raw[: ends[-1] + 1], delimiter, most) if len(ends) else None
        unquoted = _unquoted(raw, delimiter, quotes, inside)
        if unquoted is None:
            return None
        content, is_inside = unquoted
    if b"\r" in content:
        content = _with_newlines(content)
    if content.startswith(_MARK):
        # PyArrow would take it off.
        return None
    if not content.endswith(NEWLINE):
        content += NEWLINE
    if not content.isascii() and not is_utf8(content):
        return None
    lengths = _lengths(np.flatnonzero(np.frombuffer(content, np.uint8) == ord(NEWLINE)))
    lines: int = len(lengths)
    rows: Lines | range = range(lines)
    longest = len(raw)
    if is_inside is not None or longest > most:
        lines, rows, longest = _rows(raw, is_inside)
    if lengths.max() - 1 > _LONGEST_CELL or longest > most:
        return None
    is_filled = lengths > 1
    if not is_filled.all():
        if not is_filled.any():
            return None
        rows = np.asarray(rows)[is_filled]
        content = NEWLINE.join([*filter(None, content.split(NEWLINE)), b""])
    return Plain(content, raw, lines, rows)


def restored(text: str, delimiter: str) -> str:
    """A cell of plain rows with what stood inside its quotes, without surrounding blanks."""
    meant = {_FOR_DELIMITER: delimiter, _FOR_QUOTE: '"', _FOR_LF: "\n", _FOR_CR: "\r"}
    return text.translate(meant).strip()


def _words(content: bytes, sign: str) -> Words:
    """The bytes that are a sign."""
    found = np.packbits(np.frombuffer(content, np.uint8) == ord(sign), bitorder="little")
    words = np.zeros(len(content) // 64 + 1, "<u8")
    words.view(np.uint8)[: len(found)] = found
    return words


def _marks(words: Words, count: int) -> Marks:
    found = np.unpackbits(words.view(np.uint8), count=count, bitorder="little")
    return found.view(np.bool_)


def _within(quotes: Words) -> Words:
    """Where a quote is open: from the opening one to before the closing."""
    words = quotes.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    is_left_open = np.bitwise_xor.accumulate(words >> np.uint64(63)).astype(np.bool_)
    words[1:][is_left_open[:-1]] ^= np.uint64(2**64 - 1)
    return words


def _before(words: Words, first: int = 0) -> Words:
    """Whether the byte before is marked; ``first`` is for the first byte."""
    moved = words << np.uint64(1)
    moved[1:] |= words[:-1] >> np.uint64(63)
    moved[0] |= np.uint64(first)
    return moved


def _behind(words: Words) -> Words:
    """Whether the byte behind is marked."""
    moved = words >> np.uint64(1)
    moved[:-1] |= words[1:] << np.uint64(63)
    return moved


def _unquoted(
    content: bytes, delimiter: str, quotes: Words, inside: Words
) -> tuple[bytes, Marks | None] | None:
    """The content without its quotes; None unless each surrounds a cell or is doubled inside one.

    Delimiters, quotes and line ends inside become what stands for them. Where there are line ends,
    the bytes inside quotes are returned, too.
    """
    cuts, newlines, returns = (_words(content, sign) for sign in (delimiter, "\n", "\r"))
    ends = newlines | returns
    # Both ends of the content are edges, too.
    edges = cuts | ends
    edges[-1] |= np.uint64(1 << len(content) % 64)
    opening, closing = quotes & inside, quotes & ~inside
    # Spaces before a quote are skipped; of more than one the piece is left to Python's reader.
    blanks = _words(content, " ") & _before(edges, 1)
    # A doubled quote closes and opens again.
    misplaced = opening & ~_before(edges | blanks | closing, 1)
    misplaced |= closing & ~_behind(edges | opening)
    if misplaced.any():
        return None
    hidden = {
        _FOR_DELIMITER: cuts & inside,
        _FOR_QUOTE: closing & _behind(opening),
        _FOR_LF: newlines & inside,
        _FOR_CR: returns & inside,
    }
    is_inside = _marks(inside, len(content)) if (ends & inside).any() else None
    marked = np.frombuffer(content, np.uint8)
    for stand_in, words in hidden.items():
        if words.any():
            marked = np.where(_marks(words, len(content)), np.uint8(stand_in), marked)
    return marked.tobytes().translate(None, b'"'), is_inside


def _line_ends(content: bytes) -> Marks:
    """For every byte, whether a line ends with it."""
    found = np.frombuffer(content, np.uint8)
    is_end: Marks = found == ord("\n")
    is_return = found == ord("\r")
    is_return[:-1] &= ~is_end[1:]
    is_end |= is_return
    return is_end


def _rows(raw: bytes, is_inside: Marks | None) -> tuple[int, Lines | range, int]:
    """How many lines there are, the line each row begins on, from 0, and bytes of the longest."""
    is_end = _line_ends(raw)
    is_end[-1] = True
    ends = np.flatnonzero(is_end)
    closes = None if is_inside is None else ~is_inside[ends]
    if closes is None or closes.all():
        return len(ends), range(len(ends)), int(_lengths(ends).max())
    last = np.flatnonzero(closes)
    begins = np.concatenate([np.zeros(1, np.int64), last[:-1] + 1])
    return len(ends), begins, int(_lengths(ends[last]).max())


def _lengths(ends: Lines) -> Lines:
    """How many bytes each part has that ends there."""
    return np.diff(ends, prepend=-1)


def _with_newlines(content: bytes) -> bytes:
    """The content with LF for CRLF and CR."""
    found = np.frombuffer(content, np.uint8)
    is_return = found == ord("\r")
    if is_return[-1] or (is_return[:-1] & (found[1:] != ord("\n"))).any():
        return content.replace(b"\r\n", NEWLINE).replace(b"\r", NEWLINE)
    return content.translate(None, b"\r")


def is_utf8(content: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
