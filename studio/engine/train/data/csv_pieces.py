"""Pieces of a table to columns, quickly, where that gives what reading row by row gives.

A piece is whole lines. Where its quotes only surround cells they are taken off, with another
character in place of delimiters inside, and cells are what stands between delimiters and line ends;
PyArrow then reads the columns where it is installed, else
Python's own ``float``. Other pieces go through Python's reader of CSV. Where this gives None,
because something in the piece is wrong or unusual, the caller reads it row by row.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from studio.engine.train.data.csv_lines import LINE_END
from studio.engine.train.data.csv_rows import Table

Floats = npt.NDArray[np.float32]
Lines = npt.NDArray[np.int64]
Cells = list[str] | Floats
"""Cells of a label column: texts without surrounding blanks, or finite numbers."""

_LONGEST_CELL = 1 << 17
"""Bytes; Python's reader refuses cells that are longer."""
_NEWLINE = b"\n"
_MARK = b"\xef\xbb\xbf"
_STAND_IN = "\x01"
"""Stands for a delimiter inside quotes until the cells are cut; no blank, and in no usual table."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of some rows that follow one another.

    Attributes:
        features: float32 [rows, features], all finite.
        labels: cells of every label column.
        lines: the line each row begins on, from 1.
    """

    features: Floats
    labels: list[Cells]
    lines: Lines | range


@dataclass(frozen=True)
class Wanted:
    """What is read of each row.

    Attributes:
        width: cells of a row.
        features: columns of numbers.
        labels: columns of labels.
    """

    width: int
    features: tuple[int, ...]
    labels: tuple[int, ...]

    @cached_property
    def names(self) -> list[str]:
        """A name for every column that no two share."""
        return [str(i) for i in range(self.width)]


def read_piece(
    table: Table, raw: bytes, wanted: Wanted, as_numbers: Sequence[bool]
) -> Piece | None:
    """A piece of a table, which is taken; None, and nothing is taken, where rows are needed.

    Args:
        table: stands at the beginning of a row.
        raw: the piece.
        wanted: which columns.
        as_numbers: for every label column, whether numbers will do instead of texts.
    """
    text = table.text
    plain = _plain(raw, table)
    if plain is None:
        return _through_csv(table, raw, wanted)
    content, lines, rows = plain
    library = arrow()
    found = None
    if library is not None:
        found = _by_arrow(library, content, table.delimiter, wanted, as_numbers, rows)
    if found is None:
        found = _by_python(content, table.delimiter, wanted, rows)
    if found is None:
        return None
    features, labels = found
    if _STAND_IN.encode() in content:
        labels = [_restored(cells, table.delimiter) for cells in labels]
    first = text.number + 1
    text.take(raw, lines)
    numbers = range(first, first + len(rows)) if isinstance(rows, range) else rows + first
    return Piece(features, labels, numbers)


def _restored(cells: Cells, delimiter: str) -> Cells:
    """Cells with the delimiters that stood inside quotes."""
    if not isinstance(cells, list):
        return cells
    # A tab is a blank as well as a delimiter.
    return [cell.replace(_STAND_IN, delimiter).strip() for cell in cells]


@lru_cache(maxsize=1)
def arrow() -> ModuleType | None:
    """PyArrow, if it is installed."""
    try:
        import_module("pyarrow.csv")
        return import_module("pyarrow")
    except (ImportError, AttributeError, ValueError, OSError):
        # A broken installation must not keep tables from being read.
        return None


def _unquoted(content: bytes, delimiter: str) -> bytes | None:
    """The content without its quotes; None unless each surrounds a cell of one line.

    Delimiters inside quotes become `_STAND_IN`.
    """
    if _STAND_IN.encode() in content:
        return None
    found = np.frombuffer(content, np.uint8)
    is_quote = found == ord('"')
    quotes = np.flatnonzero(is_quote)
    if len(quotes) % 2:
        return None
    is_cut = found == ord(delimiter)
    is_end = (found == ord("\n")) | (found == ord("\r"))
    is_edge = is_cut | is_end
    opening, closing = quotes[::2], quotes[1::2]
    # Both ends of the content are edges, too.
    begins = is_edge[opening - 1] | (opening == 0)
    ends = is_edge[np.minimum(closing + 1, len(found) - 1)] | (closing == len(found) - 1)
    if not (begins & ends).all():
        return None
    # Whether a quote is open: their number is odd, also where it has run over.
    is_inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).view(np.bool_)
    if (is_inside & is_end).any():
        return None
    hidden = is_inside & is_cut
    if hidden.any():
        found = np.where(hidden, np.uint8(ord(_STAND_IN)), found)
    return bytes(found[~is_quote].tobytes())


def _plain(raw: bytes, table: Table) -> tuple[bytes, int, Lines | range] | None:
    """A piece without quotes, empty lines or CR; its lines; which of them each row is, from 0.

    None where a cell is not simply what stands between delimiters and line ends.
    """
    content = raw
    if b"\0" in content:
        return None
    if b'"' not in content and _STAND_IN.encode() in content:
        return None
    if b'"' in content:
        unquoted = _unquoted(content, table.delimiter)
        if unquoted is None:
            return None
        content = unquoted
    if b"\r" in content:
        content = content.replace(b"\r\n", _NEWLINE).replace(b"\r", _NEWLINE)
    if content.startswith(_MARK):
        # PyArrow would take it off.
        return None
    if not content.endswith(_NEWLINE):
        content += _NEWLINE
    if not content.isascii() and not _is_utf8(content):
        return None
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord(_NEWLINE))
    lengths = np.diff(ends, prepend=-1) - 1
    if lengths.max() > _LONGEST_CELL or _longest_line(raw) > table.limits.row_chars:
        return None
    if lengths.all():
        return content, len(ends), range(len(ends))
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return None
    lines = [line for line in content.split(_NEWLINE) if line]
    return _NEWLINE.join([*lines, b""]), len(ends), filled


def _longest_line(content: bytes) -> int:
    """Bytes of the longest line with its LF: at least the characters of any row in it."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord(_NEWLINE))
    last = len(content) - (int(ends[-1]) + 1 if len(ends) else 0)
    return max(int(np.diff(ends, prepend=-1).max(initial=0)), last)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _by_arrow(
    arrow: ModuleType,
    content: bytes,
    delimiter: str,
    wanted: Wanted,
    as_numbers: Sequence[bool],
    rows: Lines | range,
) -> tuple[Floats, list[Cells]] | None:
    """Columns by PyArrow, whose numbers are those of ``float``, though it takes fewer forms."""
    names = wanted.names
    types = {names[i]: arrow.float64() for i in wanted.features}
    for column, number in zip(wanted.labels, as_numbers, strict=True):
        types[names[column]] = arrow.float64() if number else arrow.string()
    reader = arrow.csv
    try:
        found = reader.read_csv(
            arrow.BufferReader(content),
            reader.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
            reader.ParseOptions(
                delimiter=delimiter, quote_char=False, escape_char=False, newlines_in_values=False
            ),
            reader.ConvertOptions(
                check_utf8=False,
                column_types=types,
                include_columns=list(types),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except arrow.ArrowInvalid:
        return None
    if len(found) != len(rows):
        return None
    features = np.empty((len(rows), len(wanted.features)), np.float32)
    for place, column in enumerate(wanted.features):
        _narrow(found.column(names[column]).to_numpy(), features[:, place])
    if not np.isfinite(features).all():
        return None
    labels: list[Cells] = []
    for column, number in zip(wanted.labels, as_numbers, strict=True):
        cells = found.column(names[column])
        if number:
            values = np.empty(len(rows), np.float32)
            _narrow(cells.to_numpy(), values)
            if not np.isfinite(values).all():
                return None
            labels.append(values)
        else:
            labels.append(_texts(cells))
    return features, labels


def _narrow(values: npt.NDArray[np.float64], into: Floats) -> None:
    with np.errstate(over="ignore"):
        into[:] = values


def _texts(cells: Any) -> list[str]:
    """The texts of a column; of few different ones each is made once."""
    coded = cells.dictionary_encode().combine_chunks()
    texts = [text.strip() for text in coded.dictionary.to_pylist()]
    return list(map(texts.__getitem__, coded.indices.to_pylist()))


def _by_python(
    content: bytes, delimiter: str, wanted: Wanted, rows: Lines | range
) -> tuple[Floats, list[Cells]] | None:
    """Columns by cutting the text at delimiters and line ends."""
    bytes_ = np.frombuffer(content, np.uint8)
    is_end = bytes_ == ord(_NEWLINE)
    cuts = np.flatnonzero(is_end | (bytes_ == ord(delimiter)))
    # All line ends there are close a full row: every row has its width.
    width = wanted.width
    if len(cuts) != len(rows) * width or not is_end[cuts[width - 1 :: width]].all():
        return None
    cells = content.decode("utf-8")[:-1].replace("\n", delimiter).split(delimiter)
    return _columns(cells, len(rows), wanted)


def are_plain_numbers(texts: list[str]) -> bool:
    """Whether texts that ``float`` accepts count as numbers in a table; "1_000" does not."""
    return "_" not in "".join(texts)


def _columns(cells: list[str], rows: int, wanted: Wanted) -> tuple[Floats, list[Cells]] | None:
    """Columns of cells in row-major order; None where a feature is no finite number."""
    width = wanted.width
    features = np.empty((rows, len(wanted.features)), np.float32)
    for place, column in enumerate(wanted.features):
        texts = cells[column::width]
        try:
            values = np.fromiter(map(float, texts), np.float64, rows)
        except ValueError:
            return None
        _narrow(values, features[:, place])
        if not are_plain_numbers(texts):
            return None
    if not np.isfinite(features).all():
        return None
    return features, [[cell.strip() for cell in cells[i::width]] for i in wanted.labels]


def _through_csv(table: Table, raw: bytes, wanted: Wanted) -> Piece | None:
    """The first rows of a piece by Python's reader of CSV: up to one of another width, or torn."""
    if b"\0" in raw or len(raw) > table.limits.row_chars or not _is_utf8(raw):
        return None
    content = io.StringIO(raw.decode("utf-8"), newline="")
    reader = csv.reader(content, delimiter=table.delimiter, strict=True, skipinitialspace=True)
    cells: list[str] = []
    lines: list[int] = []
    done, is_whole = 0, True
    try:
        for row in reader:
            if len(row) == wanted.width:
                cells += row
                lines.append(done)
            elif row:
                is_whole = False
                break
            done = reader.line_num
    except csv.Error:
        is_whole = False
    found = _columns(cells, len(lines), wanted) if done else None
    if found is None:
        return None
    text = table.text
    first = text.number + 1
    text.take(raw if is_whole else raw[: _end_of(raw, done)], done)
    return Piece(*found, np.array(lines, np.int64) + first)


def _end_of(raw: bytes, lines: int) -> int:
    """Where so many lines of a piece end."""
    last = next(islice(LINE_END.finditer(raw), lines - 1, None), None)
    return len(raw) if last is None else last.end()
