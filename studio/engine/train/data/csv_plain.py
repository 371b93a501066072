"""A piece of a table to plain rows: cells are what stands between delimiters and line ends.

Quotes around cells are taken off, with other characters in place of delimiters, line ends and
quotes inside; every row ends with LF, and empty lines are left out. A byte is inside quotes where
the number of quotes before it is odd, so that arrays of bytes can be worked on as a whole.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Lines = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]

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
    is_inside = None
    if b'"' in raw:
        is_inside = _within_quotes(np.frombuffer(raw, np.uint8) == ord('"'))
        if is_inside[-1]:
            # The last row goes on behind the piece.
            ends = np.flatnonzero(_line_ends(raw) & ~is_inside)
            if not len(ends):
                return None
            raw, is_inside = raw[: ends[-1] + 1], is_inside[: ends[-1] + 1]
    content = raw if is_inside is None else _unquoted(raw, delimiter, is_inside)
    if content is None:
        return None
    if b"\r" in content:
        content = _with_newlines(content)
    if content.startswith(_MARK):
        # PyArrow would take it off.
        return None
    if not content.endswith(NEWLINE):
        content += NEWLINE
    if not content.isascii() and not is_utf8(content):
        return None
    lines, rows, longest = _rows(raw, is_inside)
    lengths = _lengths(np.flatnonzero(np.frombuffer(content, np.uint8) == ord(NEWLINE)))
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


def _within_quotes(is_quote: Marks) -> Marks:
    """For every byte, whether a quote is open there, from the opening one to before the closing.

    That is whether the quotes so far are odd in number, found for 64 bytes at once.
    """
    bits = np.packbits(is_quote, bitorder="little")
    words = np.zeros(-(-len(bits) // 8), "<u8")
    words.view(np.uint8)[: len(bits)] = bits
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    is_left_open = np.bitwise_xor.accumulate(words >> np.uint64(63)).astype(np.bool_)
    words[1:][is_left_open[:-1]] ^= np.uint64(2**64 - 1)
    found = np.unpackbits(words.view(np.uint8), count=len(is_quote), bitorder="little")
    return found.view(np.bool_)


def _unquoted(content: bytes, delimiter: str, is_inside: Marks) -> bytes | None:
    """The content without its quotes; None unless each surrounds a cell or is doubled inside one.

    Delimiters, quotes and line ends inside become what stands for them.
    """
    found = np.frombuffer(content, np.uint8)
    is_quote = found == ord('"')
    is_cut = found == ord(delimiter)
    is_end = (found == ord("\n")) | (found == ord("\r"))
    # Both ends of the content are edges, too.
    is_edge = is_cut | is_end
    is_before = is_edge.copy()
    is_blank = found == ord(" ")
    # Spaces before a quote are skipped; of more than one the piece is left to Python's reader.
    is_before[1:] |= is_blank[1:] & is_edge[:-1]
    is_before[0] |= is_blank[0]
    is_opening = is_quote & is_inside
    is_closing = is_quote & ~is_inside
    # A doubled quote closes and opens again.
    is_doubled = is_closing[:-1] & is_opening[1:]
    is_misplaced = is_opening[1:] & ~(is_before[:-1] | is_doubled)
    is_misplaced |= is_closing[:-1] & ~(is_edge[1:] | is_doubled)
    if is_misplaced.any():
        return None
    is_hidden = is_inside & is_edge
    if is_doubled.any() or is_hidden.any():
        marked = np.where(is_hidden & is_cut, np.uint8(_FOR_DELIMITER), found)
        marked[:-1][is_doubled] = _FOR_QUOTE
        for end, stand_in in (("\n", _FOR_LF), ("\r", _FOR_CR)):
            marked[is_hidden & (found == ord(end))] = stand_in
        content = marked.tobytes()
    return content.translate(None, b'"')


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
