"""CSV text to rows of cells with their line numbers: encoding, delimiter, quotes, caps."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.interruption import go_on
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits, open_regular

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
"""The separators a table may have, by name; each is also accepted as itself."""

_TIE_ORDER = ";\t|,"
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 20
_READ_BYTES = 1 << 20
"""Read from the file at once.

Each reading lets go of the interpreter and takes it back at once, before another thread that waits
for it has woken up; several within the time after which that thread would insist keep it waiting.
"""

_ASKED_EVERY = 1024
"""Lines after which it is asked whether to read on."""

_BARE_RETURN = re.compile(r"(?<=\r)(?!\n)")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_SAVE_AS_UTF8 = "save the table as UTF-8 (in spreadsheets: CSV UTF-8)"


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


def read_rows(
    path: Path, delimiter: str | None = None, limits: DataLimits = DEFAULT_LIMITS
) -> Iterator[Row]:
    """The rows of a CSV file that are not blank.

    UTF-8 with or without byte-order mark; lines end with LF, CRLF or CR; quoted cells may hold
    delimiters, doubled quotes and line ends.

    Args:
        path: the file.
        delimiter: the separator, or None to find it in the first rows.
        limits: caps on file size, row length and columns.

    Raises:
        DataError: unreadable, not UTF-8, not text, a quote left open, a row beyond the caps.
    """
    who = path.name
    stream, _ = open_regular(path, limits.file_bytes)
    with stream:
        sample = stream.read(_SAMPLE_BYTES)
        stream.seek(0)
        if sample.startswith(_UTF16):
            raise DataError("expected UTF-8 text, got UTF-16", who=who, hint=_SAVE_AS_UTF8)
        lines = _Lines(_in_large_blocks(stream), who, limits)
        reader = csv.reader(
            lines, delimiter=delimiter or _sniff(sample), strict=True, skipinitialspace=True
        )
        while True:
            first, lines.chars = lines.number + 1, 0
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise DataError(
                    f"row {first} is malformed: {error}",
                    who=who,
                    hint="look for a quote that is not closed, or not at the edge of its cell",
                ) from None
            if cells is None:
                return
            if len(cells) > limits.columns:
                raise DataError(
                    f"row {first} has too many columns: at most {limits.columns}, got {len(cells)}",
                    who=who,
                )
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield Row(first, stripped)


def _in_large_blocks(stream: BinaryIO) -> BinaryIO:
    return io.BufferedReader(cast(io.RawIOBase, stream), _READ_BYTES)


class _Lines:
    """Decoded lines of a file with the number of the last one and the characters of this row."""

    def __init__(self, stream: BinaryIO, who: str, limits: DataLimits) -> None:
        self.number = 0
        self.chars = 0
        self._stream = stream
        self._who = who
        self._cap = limits.row_chars
        self._ready: list[str] = []

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        if not self._ready:
            self._ready = self._read()
        line = self._ready.pop()
        self.number += 1
        self.chars += len(line)
        if self.chars > self._cap:
            raise DataError(
                f"row {self.number} is longer than {self._cap} characters", who=self._who
            )
        return line

    def _read(self) -> list[str]:
        """The next line, in pieces where it holds bare carriage returns; the last piece first."""
        if self.number % _ASKED_EVERY == 0:
            go_on()
        raw = self._stream.readline(self._cap + 1)
        if not raw:
            raise StopIteration
        line = self.number + 1
        if b"\0" in raw:
            raise DataError(f"row {line} holds a zero byte: this is not a text file", who=self._who)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if len(raw) > self._cap:
                raise DataError(
                    f"row {line} is longer than {self._cap} characters", who=self._who
                ) from None
            raise DataError(
                f"row {line} is not UTF-8: byte {raw[error.start]:#04x} at position "
                f"{error.start + 1}",
                who=self._who,
                hint=_SAVE_AS_UTF8,
            ) from None
        if line == 1:
            text = text.removeprefix("\ufeff")
        return [piece for piece in reversed(_BARE_RETURN.split(text)) if piece] or [text]


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
