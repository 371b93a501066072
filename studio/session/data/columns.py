"""The first rows of a table: its columns, what they hold, and examples to choose a label by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from studio.engine.core.errors import DataError
from studio.engine.train.data.csv.rows import (
    Row,
    looks_like_header,
    looks_like_number,
    name_columns,
    read_rows,
)

ColumnKind: TypeAlias = Literal["numbers", "text", "mixed", "empty"]

ROWS = 200
_EXAMPLES = 3


@dataclass(frozen=True)
class ColumnPeek:
    """One column as its first rows show it.

    Attributes:
        name: from the header, or ``column 1``.
        kind: what the cells hold; ``mixed`` for numbers with a few texts among them.
        examples: the first few different cells.
        distinct: how many different cells were seen.
    """

    name: str
    kind: ColumnKind
    examples: tuple[str, ...]
    distinct: int


@dataclass(frozen=True)
class TablePeek:
    """The beginning of a table.

    Attributes:
        columns: from left to right.
        has_header: whether the first row names them.
        rows: the first rows of data, cells as text.
    """

    columns: tuple[ColumnPeek, ...]
    has_header: bool
    rows: tuple[tuple[str, ...], ...]


def peek_table(
    path: Path, delimiter: str | None = None, header: bool | None = None, rows: int = ROWS
) -> TablePeek:
    """The columns of a table by its first rows; DataError where not even those can be read."""
    found = list(islice(read_rows(path, delimiter), rows))
    if not found:
        raise DataError("the table has no rows", who=path.name)
    first = found[0]
    has_header = looks_like_header(first.cells) if header is None else header
    width = len(first.cells)
    names = name_columns(first.cells if has_header else None, width, path.name)
    body = [row for row in found[has_header:] if len(row.cells) == width]
    columns = tuple(_column(names[i], body, i) for i in range(width))
    return TablePeek(columns, has_header, tuple(tuple(row.cells) for row in body))


def _column(name: str, rows: Sequence[Row], index: int) -> ColumnPeek:
    cells = [row.cells[index] for row in rows if row.cells[index]]
    distinct = list(dict.fromkeys(cells))
    numbers = sum(looks_like_number(cell) for cell in cells)
    kind: ColumnKind = "mixed"
    if not cells:
        kind = "empty"
    elif numbers == len(cells):
        kind = "numbers"
    elif not numbers:
        kind = "text"
    return ColumnPeek(name, kind, tuple(distinct[:_EXAMPLES]), len(distinct))
