"""CSV text to rows of cells with their line numbers: encoding, delimiter, quotes, caps."""

import codecs
import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.train.data.csv.lines import SAVE_AS_UTF8, TableText
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits, open_regular

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
"""The separators a table may have, by name; each is also accepted as itself."""

Column = str | int
"""A column by name or by position, from 0; negative positions count from the end."""

_TIE_ORDER = ";\t|,"
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row, stripped of surrounding blanks, and the line it begins on, from 1."""

    line: int
    cells: list[str]


def parse_delimiter(value: str) -> str:
    """The separator called or written ``value``; ParameterError for any other."""
    found = DELIMITERS.get(value, value)
    if found not in DELIMITERS.values():
        raise ParameterError(
            f"unknown delimiter: expected one of {', '.join(DELIMITERS)}, got {quoted(value)}",
            who="csv",
        )
    return found


class Table:
    """An open table: its rows one by one, or its text.

    Args:
        text: the position in the file.
        delimiter: the separator.
        who: the file's name.
        limits: caps on rows.
    """

    def __init__(self, text: TableText, delimiter: str, who: str, limits: DataLimits) -> None:
        self.text = text
        self.delimiter = delimiter
        self.who = who
        self.limits = limits

    def rows(self) -> Iterator[Row]:
        """The rows from here on that are not blank; the text stands behind each row it gives.

        Raises:
            DataError: not UTF-8, not text, a quote left open, a row beyond the caps.
        """
        for first, cells in self.raw_rows():
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield Row(first, stripped)

    def raw_rows(self) -> Iterator[tuple[int, list[str]]]:
        """The line each row from here on begins on, and its cells as they are."""
        text, most = self.text, self.limits.columns
        reader = csv.reader(text, delimiter=self.delimiter, strict=True, skipinitialspace=True)
        while True:
            first, text.chars = text.number + 1, 0
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise DataError(
                    f"row {first} is malformed: {error}",
                    who=self.who,
                    hint="look for a quote that is not closed, or not at the edge of its cell",
                ) from None
            if cells is None:
                return
            if len(cells) > most:
                raise DataError(
                    f"row {first} has too many columns: at most {most}, got {len(cells)}",
                    who=self.who,
                )
            yield first, cells


@contextmanager
def open_table(
    path: Path, delimiter: str | None = None, limits: DataLimits = DEFAULT_LIMITS
) -> Iterator[Table]:
    """A CSV file, open at its beginning.

    Args:
        path: the file.
        delimiter: the separator, or None to find it in the first rows.
        limits: caps on file size, row length and columns.

    Raises:
        DataError: unreadable, or another encoding than UTF-8.
    """
    who = path.name
    stream, _ = open_regular(path, limits.file_bytes)
    with stream:
        sample = stream.read(_SAMPLE_BYTES)
        stream.seek(0)
        if sample.startswith(_UTF16):
            raise DataError("expected UTF-8 text, got UTF-16", who=who, hint=SAVE_AS_UTF8)
        yield Table(TableText(stream, who, limits), delimiter or _sniff(sample), who, limits)


def read_rows(
    path: Path, delimiter: str | None = None, limits: DataLimits = DEFAULT_LIMITS
) -> Iterator[Row]:
    """The rows of a CSV file that are not blank.

    UTF-8 with or without byte-order mark; lines end with LF, CRLF or CR; quoted cells may hold
    delimiters, doubled quotes and line ends. Raises DataError as `open_table` and `Table.rows`.
    """
    with open_table(path, delimiter, limits) as table:
        yield from table.rows()


def _sniff(sample: bytes) -> str:
    """The separator that cuts the first rows into the most columns, the same in each row."""
    lines = sample.decode("utf-8", errors="replace").splitlines(keepends=True)
    if len(sample) == _SAMPLE_BYTES and len(lines) > 1:
        lines.pop()
    best, columns = ",", 1
    for candidate in _TIE_ORDER:
        try:
            rows = list(csv.reader(lines[:_SAMPLE_ROWS], delimiter=candidate))
        except csv.Error:
            continue
        widths = {len(row) for row in rows if any(row)}
        if len(widths) == 1 and (found := widths.pop()) > columns:
            best, columns = candidate, found
    if columns == 1 and lines:
        return max(",;\t|", key=lines[0].count)
    return best


def looks_like_number(cell: str) -> bool:
    """Whether a cell reads as a number (``nan`` and ``inf`` included)."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def looks_like_header(cells: list[str]) -> bool:
    """Whether a first row is a header: none of its cells is a number."""
    return not any(looks_like_number(cell) for cell in cells)


def name_columns(header: list[str] | None, width: int, who: str) -> tuple[str, ...]:
    """Column names from a header row, or ``column 1``, ``column 2``, … without one.

    Raises:
        DataError: two columns have the same name.
    """
    names = [f"column {i + 1}" for i in range(width)]
    for i, name in enumerate(header or []):
        if name and name in (header or [])[:i]:
            raise DataError(
                f"columns {(header or []).index(name) + 1} and {i + 1} have the same name "
                f"{quoted(name)}",
                who=who,
            )
        names[i] = name or names[i]
    return tuple(names)


def find_column(column: Column, names: tuple[str, ...], who: str) -> int:
    """Index of a column; DataError naming the table where it has none such."""
    if isinstance(column, str):
        if column in names:
            return names.index(column)
        shown = ", ".join(quoted(name) for name in names[:12])
        raise DataError(
            f"there is no column {quoted(column)}: the table has {shown}"
            f"{', …' if len(names) > 12 else ''}",
            who=who,
        )
    if not -len(names) <= column < len(names):
        raise DataError(
            f"there is no column at position {column}: the table has {len(names)} columns", who=who
        )
    return column % len(names)
