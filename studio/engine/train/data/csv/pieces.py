"""The fast way from a piece of a table to its columns; the result is that of reading row by row.

A piece is some whole lines; `plain` takes the quotes out of it. Whole numbers of at most three
digits, such as pixels, are computed from their characters. PyArrow reads other columns where it is
installed, else Python's ``float``. Pieces with quotes in unusual places go through Python's reader
of CSV. The result is None where something in the piece is wrong; the caller then reads it row by
row.
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

from studio.engine.train.data.csv.lines import LINE_END
from studio.engine.train.data.csv.plain import NEWLINE, Lines, is_utf8, plain_rows, restored
from studio.engine.train.data.csv.rows import Table

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a column, without surrounding blanks.

    Attributes:
        different: every text at least once.
        codes: int32 [rows], the place of each row's text among them.
    """

    different: list[str]
    codes: Codes

    @classmethod
    def of(cls, cells: Sequence[str]) -> "Texts":
        """The texts of cells, blanks around them taken off."""
        index = {cell: code for code, cell in enumerate(dict.fromkeys(cells))}
        codes = np.fromiter(map(index.__getitem__, cells), np.int32, len(cells))
        return cls([cell.strip() for cell in index], codes)


Cells = Texts | Floats
"""Cells of a label column: texts, or finite numbers."""


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
    plain = plain_rows(raw, table.delimiter, table.limits.row_chars)
    if plain is None:
        return _through_csv(table, raw, wanted, as_numbers)
    rows = plain.rows
    given = (plain.content, table.delimiter, wanted, as_numbers, len(rows))
    library = arrow()
    found = _by_digits(*given)
    if found is None and library is not None:
        found = _by_arrow(library, *given)
    if found is None:
        found = _by_python(*given)
    if found is None:
        return None
    features, labels = found
    if b'"' in plain.raw:
        labels = [_restored(cells, table.delimiter) for cells in labels]
    first = text.number + 1
    text.take(plain.raw, plain.lines)
    numbers = range(first, first + len(rows)) if isinstance(rows, range) else rows + first
    return Piece(features, labels, numbers)


def _restored(cells: Cells, delimiter: str) -> Cells:
    if not isinstance(cells, Texts):
        return cells
    return Texts([restored(text, delimiter) for text in cells.different], cells.codes)


@lru_cache(maxsize=1)
def arrow() -> ModuleType | None:
    """PyArrow, if it is installed."""
    try:
        import_module("pyarrow.csv")
        return import_module("pyarrow")
    except (ImportError, AttributeError, ValueError, OSError):
        # A broken installation must not keep tables from being read.
        return None


def _cuts(content: bytes, delimiter: str, rows: int, width: int) -> Lines | None:
    """Where every cell ends, as [rows, width]; None unless every row has its width."""
    found = np.frombuffer(content, np.uint8)
    is_end = found == ord(NEWLINE)
    cuts = np.flatnonzero(is_end | (found == ord(delimiter)))
    # All line ends there are close a full row: every row has its width.
    if len(cuts) != rows * width or not is_end[cuts[width - 1 :: width]].all():
        return None
    return cuts.reshape(rows, width)


def _by_digits(
    content: bytes, delimiter: str, wanted: Wanted, as_numbers: Sequence[bool], rows: int
) -> tuple[Floats, list[Cells]] | None:
    """Columns of whole numbers without a sign and of at most three digits, where most are such."""
    width, labels = wanted.width, wanted.labels
    # Texts are taken one by one, which is quick only where they are few.
    if len(content) > 4 * rows * width or len(labels) * 16 > width or b"." in content:
        return None
    cuts = _cuts(content, delimiter, rows, width)
    if cuts is None:
        return None
    lengths = np.diff(cuts.ravel(), prepend=-1).reshape(cuts.shape)
    cells = [
        [content[end - length + 1 : end].decode() for end, length in zip(*at, strict=True)]
        for at in ((cuts[:, i].tolist(), lengths[:, i].tolist()) for i in labels)
    ]
    ends = cuts[:, wanted.features]
    lengths = lengths[:, wanted.features]
    if lengths.min() < 2 or lengths.max() > 4:
        return None
    digits = np.frombuffer(content, np.uint8) - np.uint8(ord("0"))
    ones, tens, hundreds = digits[ends - 1], digits[ends - 2], digits[ends - 3]
    # What stands before a cell is none of its digits.
    tens *= lengths > 2
    hundreds *= lengths > 3
    if max(ones.max(), tens.max(), hundreds.max()) > 9:
        return None
    features = hundreds.astype(np.float32)
    for place in (tens, ones):
        features *= 10
        features += place
    return features, [label_cells(*column) for column in zip(cells, as_numbers, strict=True)]


def _by_arrow(
    arrow: ModuleType,
    content: bytes,
    delimiter: str,
    wanted: Wanted,
    as_numbers: Sequence[bool],
    rows: int,
) -> tuple[Floats, list[Cells]] | None:
    """Columns by PyArrow, whose numbers are those of ``float``, though it takes fewer forms."""
    names = wanted.names
    types = {names[i]: arrow.float64() for i in wanted.features}
    for column, number in zip(wanted.labels, as_numbers, strict=True):
        types[names[column]] = arrow.float64() if number else arrow.string()
    reader = arrow.csv
    try:
        table = reader.read_csv(
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
    if len(table) != rows:
        return None
    # The columns come in the order of the types: features, then labels.
    (found,) = table.combine_chunks().to_batches()
    count = len(wanted.features)
    features: Floats | None = np.zeros((rows, 0), np.float32)
    if count:
        features = _narrow(found.select(range(count)).to_tensor(row_major=False).to_numpy())
    if features is None:
        return None
    labels: list[Cells] = []
    for column, number in zip(found.columns[count:], as_numbers, strict=True):
        cells = _narrow(column.to_numpy()) if number else _texts(column)
        if cells is None:
            return None
        labels.append(cells)
    return features, labels


def _narrow(values: npt.NDArray[np.float64]) -> Floats | None:
    """Values as float32; None unless all are finite."""
    with np.errstate(over="ignore"):
        found = values.astype(np.float32, order="C")
    return found if np.isfinite(found).all() else None


def _texts(column: Any) -> Texts:
    """The texts of a column of PyArrow's."""
    coded = column.dictionary_encode()
    different = [text.strip() for text in coded.dictionary.to_pylist()]
    return Texts(different, coded.indices.to_numpy())


def _by_python(
    content: bytes, delimiter: str, wanted: Wanted, as_numbers: Sequence[bool], rows: int
) -> tuple[Floats, list[Cells]] | None:
    """Columns by cutting the text at delimiters and line ends."""
    if _cuts(content, delimiter, rows, wanted.width) is None:
        return None
    cells = content.decode("utf-8")[:-1].replace("\n", delimiter).split(delimiter)
    return _columns(cells, rows, wanted, as_numbers)


def are_plain_numbers(texts: Sequence[str]) -> bool:
    """Whether texts that ``float`` accepts count as numbers in a table; "1_000" does not."""
    return "_" not in "".join(texts)


def numbers_of(texts: Sequence[str]) -> Floats | None:
    """The finite numbers that texts are, as float32; None where one of them is none."""
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    return _narrow(values) if are_plain_numbers(texts) else None


def label_cells(texts: Sequence[str], as_number: bool) -> Cells:
    """Cells of a label column, as numbers where they will do and all are."""
    numbers = numbers_of(texts) if as_number else None
    return Texts.of(texts) if numbers is None else numbers


def _columns(
    cells: list[str], rows: int, wanted: Wanted, as_numbers: Sequence[bool]
) -> tuple[Floats, list[Cells]] | None:
    """Columns of cells in row-major order; None where a feature is no finite number."""
    width = wanted.width
    features = np.empty((rows, len(wanted.features)), np.float32)
    for place, column in enumerate(wanted.features):
        numbers = numbers_of(cells[column::width])
        if numbers is None:
            return None
        features[:, place] = numbers
    labels = zip(wanted.labels, as_numbers, strict=True)
    return features, [label_cells(cells[i::width], number) for i, number in labels]


def _through_csv(
    table: Table, raw: bytes, wanted: Wanted, as_numbers: Sequence[bool]
) -> Piece | None:
    """The first rows of a piece by Python's reader of CSV: up to one of another width, or torn."""
    if b"\0" in raw or len(raw) > table.limits.row_chars or not is_utf8(raw):
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
    found = _columns(cells, len(lines), wanted, as_numbers) if done else None
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
