"""Everything that is wrong with a data set, by file and row, not only the first thing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from studio.engine.core.errors import DataError, StudioError, quoted
from studio.engine.core.progress import Progress
from studio.engine.train.data.cleaning import place_in
from studio.engine.train.data.csv.bad_rows import unknown_category
from studio.engine.train.data.csv.numbers import NumberColumns, check_width
from studio.engine.train.data.csv.rows import (
    Row,
    looks_like_header,
    name_columns,
    parse_delimiter,
    read_rows,
)
from studio.engine.train.data.images.decode import IMAGE_SUFFIXES, decode_image
from studio.engine.train.data.input_columns import parse_categories
from studio.engine.train.data.source_files import resolve_source

MOST = 500
"""Problems collected before looking on stops."""

_TABLES = ("csv", "columns")
_EVERY = 256
_SHOWN = 4

BadKind: TypeAlias = Literal["number", "category", "label", "width", "picture", "sample", "other"]

_NOUNS: Mapping[BadKind, tuple[str, str]] = {
    "number": ("cell without a number", "cells without a number"),
    "category": ("cell without a category", "cells without a category"),
    "label": ("row without a usable label", "rows without a usable label"),
    "width": ("row of another width", "rows of another width"),
    "picture": ("unreadable image", "unreadable images"),
    "sample": ("sample that is not finite", "samples that are not finite"),
    "other": ("other problem", "other problems"),
}


_SKIPPED: Mapping[BadKind, str] = {"picture": "image", "sample": "sample"}


@dataclass(frozen=True)
class DataProblem:
    """One thing that is wrong.

    Attributes:
        file: the file it is in, as messages name it.
        row: line of the file from 1, 0 where there is none.
        column: name of the column, or empty.
        message: the rule and what came.
        hint: what to do about it.
        kind: what sort of thing it is.
    """

    file: str
    row: int
    column: str
    message: str
    hint: str
    kind: BadKind = "other"

    @classmethod
    def of(cls, error: StudioError, kind: BadKind = "other") -> DataProblem:
        """A loader's refusal, its place taken out of the sentence."""
        row, column, rest = place_in(error.message)
        return cls(error.who, row, column, rest, error.hint, kind)

    @property
    def place(self) -> str:
        """Where it is, in a few words."""
        if not self.row:
            return self.file
        return f"row {self.row}" + (f", {self.column}" if self.column else "")


@dataclass(frozen=True)
class Problems:
    """What looking through the whole source found.

    Attributes:
        rows: the problems, by file and row.
        is_complete: whether everything was looked at; otherwise there may be more.
        can_skip: whether what is wrong can be left out, row by row or picture by picture.
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

    @property
    def kinds(self) -> tuple[str, ...]:
        """How many there are of each kind and where the first are, one sentence each."""
        found = []
        for kind, nouns in _NOUNS.items():
            own = [each for each in self.rows if each.kind == kind]
            if own:
                places = ", ".join(
                    f"row {each.row}" + (f" ({each.column})" if each.column else "")
                    if each.row
                    else each.file
                    for each in own[:_SHOWN]
                )
                more = " …" * (len(own) > _SHOWN)
                found.append(f"{len(own)} {nouns[len(own) > 1]}: {places}{more}")
        return tuple(found)

    @property
    def skip_text(self) -> str:
        """What leaving out is called, with how many as far as that is known; empty for nothing."""
        if not self.can_skip:
            return ""
        noun = _SKIPPED.get(self.rows[0].kind, "row")
        bad = {each.row or each.file for each in self.rows}
        noun += "s" * (len(bad) != 1 or not self.is_complete)
        return f"Skip {len(bad)} {noun}" if self.is_complete else f"Skip all bad {noun}"

    def columns_of(self, kind: BadKind) -> tuple[str, ...]:
        """The columns with bad cells of a kind, in the order they were met."""
        return tuple(dict.fromkeys(each.column for each in self.rows if each.kind == kind))

    def cells_text(self, kind: BadKind) -> str:
        """The bad cells of a kind with their number as far as that is known; empty for none."""
        count = sum(each.kind == kind for each in self.rows)
        if not count:
            return ""
        if not self.is_complete:
            return "all bad cells"
        return f"{count} cell{'' if count == 1 else 's'}"


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
        for problem in _look(source, path, reference, base, progress):
            found.append(problem)
            if len(found) >= MOST:
                is_complete = False
                break
    except DataError as error:
        # The file as a whole cannot be read further: that is the last problem.
        found.append(DataProblem.of(error))
    if not any((p.row, p.message) == (first.row, first.message) for p in found):
        if first.row and source in _TABLES:
            # What labels must be follows from all of them: the others are not known.
            first, is_complete = replace(first, kind="label"), False
        elif source == "npz" and "finite number" in first.message:
            first, is_complete = replace(first, kind="sample"), False
        found.insert(0, first)
    skips = [
        each.kind != "other" and (each.row > 1 or each.kind in ("picture", "sample"))
        for each in found
    ]
    return Problems(tuple(found), is_complete, all(skips))


def _look(
    source: object,
    path: object,
    reference: Mapping[str, object],
    base: Path,
    progress: Progress,
) -> Iterator[DataProblem]:
    """What is wrong row by row or picture by picture; nothing where that is left out anyway."""
    if not isinstance(path, str) or "skip" in (
        reference.get("bad_rows"), reference.get("bad_images"),
    ):  # fmt: skip
        return
    if source in _TABLES:
        yield from _of_table(resolve_source(base, path), reference, progress)
    elif source in ("images", "folders"):
        yield from _of_pictures(resolve_source(base, path), progress)


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
    judge = _RowJudge(features, wanted, names, who, reference)
    if not header:
        yield from judge.problems(first)
    for number, row in enumerate(rows):
        if number % _EVERY == 0:
            progress(None, f"row {row.line:,}")
        yield from judge.problems(row)


class _RowJudge:
    """Says what is wrong with rows, one by one.

    Args:
        features: positions of the columns that go in.
        labels: positions of those to predict.
        names: of all columns.
        who: the file's name.
        reference: where cells that are filled and columns of categories are named.
    """

    def __init__(
        self,
        features: Sequence[int],
        labels: Sequence[int],
        names: tuple[str, ...],
        who: str,
        reference: Mapping[str, object],
    ) -> None:
        given, fill = reference.get("categories"), reference.get("fill")
        options = parse_categories(given) if isinstance(given, Mapping) else {}
        filled = {_place(name, names) for name in fill} if isinstance(fill, Mapping) else set()
        self._categories = {
            _place(name, names): option
            for name, option in options.items()
            if _place(name, names) in set(features) - filled
        }
        every = {_place(name, names) for name in options}
        self._numbers = NumberColumns(
            [i for i in features if i not in every and i not in filled], names, who
        )
        self._labels = [i for i in labels if 0 <= i < len(names)]
        self._names, self._who = names, who

    def problems(self, row: Row) -> Iterator[DataProblem]:
        """Everything that is wrong with a row."""
        try:
            check_width(row, len(self._names), self._who)
        except DataError as error:
            yield DataProblem.of(error, "width")
            return
        for column in self._numbers.bad_columns(row):
            yield DataProblem.of(self._numbers.refusal(row, column), "number")
        for column, option in self._categories.items():
            text = row.cells[column]
            is_known = text in option.values if option.values else bool(text)
            if not is_known and (not text or option.unknown == "refuse"):
                place = self._at(row, column)
                count = len(option.values)
                yield DataProblem.of(unknown_category(place, text, count, self._who), "category")
        empty = next((i for i in self._labels if not row.cells[i]), None)
        if empty is not None:
            missing = DataError(f"{self._at(row, empty)}: the label is missing", who=self._who)
            yield DataProblem.of(missing, "label")

    def _at(self, row: Row, column: int) -> str:
        return f"row {row.line}, column {column + 1} ({quoted(self._names[column])})"


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
                yield DataProblem.of(error, "picture")
