"""Everything that is wrong with a data set, by file and row, not only the first thing."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from studio.engine.core.errors import DataError, StudioError, quoted
from studio.engine.core.progress import Progress
from studio.engine.formats.atomic import write_atomic
from studio.engine.train.data.csv.numbers import NumberColumns, check_width
from studio.engine.train.data.csv.rows import (
    Row,
    looks_like_header,
    name_columns,
    parse_delimiter,
    read_rows,
)
from studio.engine.train.data.images.decode import IMAGE_SUFFIXES, decode_image
from studio.engine.train.data.source_files import resolve_source

MOST = 500
"""Problems collected before looking on stops."""

_TABLES = ("csv", "columns")
_PLACE = re.compile(r"row (\d+)(?:, column (\d+) \((.*?)\))?:? ?(.*)", re.DOTALL)
_EVERY = 256


@dataclass(frozen=True)
class DataProblem:
    """One thing that is wrong.

    Attributes:
        file: the file it is in, as messages name it.
        row: line of the file from 1, 0 where there is none.
        column: name of the column, or empty.
        message: the rule and what came.
        hint: what to do about it.
    """

    file: str
    row: int
    column: str
    message: str
    hint: str

    @classmethod
    def of(cls, error: StudioError) -> DataProblem:
        """A loader's refusal, its place taken out of the sentence."""
        found = _PLACE.match(error.message)
        if found is None:
            return cls(error.who, 0, "", error.message, error.hint)
        row, _, column, rest = found.groups()
        return cls(error.who, int(row), (column or "").strip("'"), rest, error.hint)


@dataclass(frozen=True)
class Problems:
    """What looking through the whole source found.

    Attributes:
        rows: the problems, by file and row.
        is_complete: whether everything was looked at; otherwise there may be more.
        can_skip: whether a copy without the bad rows can be written.
    """

    rows: tuple[DataProblem, ...]
    is_complete: bool = True
    can_skip: bool = False

    @property
    def count_text(self) -> str:
        """How many there are, as far as that is known."""
        count = len(self.rows)
        if not self.is_complete:
            return f"The first {count} problems; there may be more"
        return "1 problem" if count == 1 else f"{count} problems"


def find_problems(
    reference: Mapping[str, object], base: Path, refusal: StudioError, progress: Progress
) -> Problems:
    """Look through a source a loader refused.

    Args:
        base: the project's folder.
        refusal: the loader's error, which is the first problem.
        progress: hears how far it is; may raise to stop.
    """
    first = DataProblem.of(refusal)
    source, path = reference.get("source"), reference.get("path")
    found: list[DataProblem] = []
    is_complete = True
    try:
        if source in _TABLES and isinstance(path, str):
            for problem in _of_table(resolve_source(base, path), reference, progress):
                found.append(problem)
                if len(found) >= MOST:
                    is_complete = False
                    break
        elif source in ("images", "folders") and isinstance(path, str):
            for problem in _of_pictures(resolve_source(base, path), progress):
                found.append(problem)
                if len(found) >= MOST:
                    is_complete = False
                    break
    except DataError as error:
        # The file as a whole cannot be read further: that is the last problem.
        found.append(DataProblem.of(error))
    if not any((p.row, p.message) == (first.row, first.message) for p in found):
        found.insert(0, first)
    can_skip = source in _TABLES and is_complete and all(p.row > 1 for p in found)
    return Problems(tuple(found), is_complete, can_skip)


def copy_without(reference: Mapping[str, object], base: Path, problems: Problems) -> Path:
    """Write a copy of a table without its bad rows, beside it; where it is.

    FormatError when it cannot be written; DataError when the table cannot be read.
    """
    path = resolve_source(base, str(reference.get("path")))
    bad = {problem.row for problem in problems.rows}
    text = io.StringIO()
    delimiter = _delimiter(reference)
    writer = csv.writer(text, lineterminator="\n", delimiter=delimiter or ",")
    writer.writerows(row.cells for row in read_rows(path, delimiter) if row.line not in bad)
    target = _free_name(path)
    write_atomic(target, text.getvalue().encode("utf-8"))
    return target


def _free_name(path: Path) -> Path:
    number = 1
    while True:
        mark = "cleaned" if number == 1 else f"cleaned-{number}"
        target = path.with_name(f"{path.stem}.{mark}{path.suffix}")
        if not target.exists():
            return target
        number += 1


def _delimiter(reference: Mapping[str, object]) -> str | None:
    given = reference.get("delimiter")
    return parse_delimiter(given) if isinstance(given, str) else None


def _of_table(
    path: Path, reference: Mapping[str, object], progress: Progress
) -> Iterator[DataProblem]:
    """The rows a table cannot be read for, one problem each."""
    who = path.name
    rows = read_rows(path, _delimiter(reference))
    first = next(rows, None)
    if first is None:
        return
    header = reference.get("header")
    labels, dropped = _listed(reference.get("label")), _listed(reference.get("drop"))
    mapped: tuple[object, ...] = ()
    if reference.get("source") == "columns":
        mapped, labels = (_columns_in(reference, side) for side in ("inputs", "targets"))
    if not isinstance(header, bool):
        header = looks_like_header(first.cells) or any(
            isinstance(name, str) and name in first.cells for name in (*labels, *dropped, *mapped)
        )
    width = len(first.cells)
    names = name_columns(first.cells if header else None, width, who)
    left_out = {_place(name, names) for name in dropped}
    wanted = [_place(name, names) for name in labels]
    if not wanted:
        wanted = [i for i in range(width) if i not in left_out][-1:]
    features = [i for i in range(width) if i not in left_out and i not in wanted]
    if mapped:
        features = sorted({_place(name, names) for name in mapped} - {-1})
    if not header:
        yield from _row_problem(first, features, wanted, names, who)
    for number, row in enumerate(rows):
        if number % _EVERY == 0:
            progress(None, f"row {row.line:,}")
        yield from _row_problem(row, features, wanted, names, who)


def _row_problem(
    row: Row, features: list[int], labels: list[int], names: tuple[str, ...], who: str
) -> Iterator[DataProblem]:
    try:
        check_width(row, len(names), who)
        numbers = NumberColumns(features, names, who)
        numbers.append(row)
        numbers.matrix()
    except DataError as error:
        yield DataProblem.of(error)
        return
    empty = next((i for i in labels if 0 <= i < len(names) and not row.cells[i]), None)
    if empty is not None:
        place = f"row {row.line}, column {empty + 1} ({quoted(names[empty])})"
        yield DataProblem.of(DataError(f"{place}: the label is missing", who=who))


def _place(column: object, names: tuple[str, ...]) -> int:
    if isinstance(column, int):
        return column % len(names)
    return names.index(column) if isinstance(column, str) and column in names else -1


def _columns_in(reference: Mapping[str, object], side: str) -> tuple[object, ...]:
    """The columns that go to any of the inputs or outputs."""
    table = reference.get(side)
    entries = table.values() if isinstance(table, Mapping) else ()
    given = (each.get("columns") if isinstance(each, Mapping) else each for each in entries)
    return tuple(column for each in given for column in _listed(each))


def _listed(value: object) -> tuple[object, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _of_pictures(root: Path, progress: Progress) -> Iterator[DataProblem]:
    """Pictures that cannot be decoded."""
    done = 0
    for current, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(current) / name
            if path.suffix.lower() not in IMAGE_SUFFIXES or name.startswith("."):
                continue
            done += 1
            if done % 16 == 0:
                progress(None, f"image {done:,}")
            try:
                decode_image(path, 3, None, path.relative_to(root).as_posix())
            except DataError as error:
                yield DataProblem.of(error)
