"""CSV tables to data sets: a label column by name or position, text classes, numeric targets."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np

from studio.engine.core.errors import DataError, EmptyDataError, quoted
from studio.engine.train.data.csv_numbers import NumberColumns, check_width
from studio.engine.train.data.csv_rows import (
    Row,
    looks_like_header,
    looks_like_number,
    name_columns,
    read_rows,
)
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.labels import MAX_GUESSED_CLASSES, Labels, Task, index_classes
from studio.engine.train.data.normalization import Array, Floats
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits

Column = str | int
"""A column by name or by position, from 0; negative positions count from the end."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How to read a table.

    Args:
        label: the label column, or several target columns for regression; None takes the last.
        header: whether the first row names the columns; None decides by its cells (a header has
            no number in it).
        delimiter: the separator, or None to find it.
        task: whether the label is a class or a number; ``auto`` decides by the cells.
        class_names: all classes in order, or empty to sort those that occur.
        drop: columns to leave out.
        shape: shape of a sample (``[8, 8]`` or ``[8, 8, 1]``) where a row holds an image.
    """

    label: Column | Sequence[Column] | None = None
    header: bool | None = None
    delimiter: str | None = None
    task: Task = "auto"
    class_names: Sequence[str] = ()
    drop: Sequence[Column] = ()
    shape: Sequence[int] = ()


_DEFAULT_OPTIONS = CsvOptions()
_ROWS = "a table has one row for every sample"


def load_csv(
    path: Path, options: CsvOptions = _DEFAULT_OPTIONS, limits: DataLimits = DEFAULT_LIMITS
) -> Dataset:
    """A table as a data set: float32 features, class indices or targets from the label column.

    Raises:
        DataError: naming file, row and column of the first thing that is wrong.
    """
    who = path.name
    rows = read_rows(path, options.delimiter, limits)
    names, rows = _take_header(rows, options, who)
    labels, features = _choose_columns(names, options, who)
    numbers = NumberColumns(features, names, who)
    label_rows = _LabelRows()
    for row in rows:
        check_width(row, len(names), who)
        numbers.append(row)
        label_rows.append(row.line, [row.cells[i] for i in labels])
    if not label_rows.lines:
        raise EmptyDataError("the table has no rows of data", who=who, hint=_ROWS)
    found, notes = _labels(label_rows, [names[i] for i in labels], labels, options, limits, who)
    x, kind = _samples(numbers.matrix(), options.shape, who)
    shaped = kind == "images"
    return Dataset(
        x=x,
        y=found.y,
        name=path.stem,
        kind=kind,
        class_names=found.class_names,
        feature_names=() if options.shape else tuple(names[i] for i in features),
        value_range=(0.0, 255.0) if shaped and x.dtype == np.uint8 else None,
        notes=notes,
    )


class _LabelRows:
    """The label cells of all rows, as texts and numbers only.

    Python's collector goes through every container there is and has the window wait meanwhile: a
    row each of a large table would be a million of them.
    """

    def __init__(self) -> None:
        self.lines = array("q")
        self._cells: list[str] = []
        self._width = 1

    def append(self, line: int, cells: list[str]) -> None:
        self.lines.append(line)
        self._width = len(cells)
        self._cells.extend(cells)

    def __iter__(self) -> Iterator[Row]:
        width = self._width
        for at, line in enumerate(self.lines):
            yield Row(line, self._cells[at * width : (at + 1) * width])

    def __len__(self) -> int:
        return len(self.lines)


def _take_header(
    rows: Iterator[Row], options: CsvOptions, who: str
) -> tuple[tuple[str, ...], Iterator[Row]]:
    """Column names and the rows of data."""
    first = next(rows, None)
    if first is None:
        raise EmptyDataError("the table has no rows", who=who, hint=_ROWS)
    if len(first.cells) < 2:
        raise DataError(
            f"row {first.line}: expected at least two columns, features and label, got one",
            who=who,
            hint="is the separator another one? set 'delimiter'",
        )
    header = options.header
    if header is None:
        # A column asked for by name can only come from a header.
        wanted = (*_listed(options.label), *options.drop)
        header = looks_like_header(first.cells) or any(
            isinstance(column, str) and column in first.cells for column in wanted
        )
    if header:
        return name_columns(first.cells, len(first.cells), who), rows
    return name_columns(None, len(first.cells), who), chain([first], rows)


def _listed(label: Column | Sequence[Column] | None) -> tuple[Column, ...]:
    if label is None:
        return ()
    return (label,) if isinstance(label, str | int) else tuple(label)


def _choose_columns(
    names: tuple[str, ...], options: CsvOptions, who: str
) -> tuple[list[int], list[int]]:
    """Indices of the label columns and of the feature columns."""
    dropped = {_find_column(column, names, who) for column in options.drop}
    wanted = _listed(options.label)
    if wanted:
        labels = [_find_column(column, names, who) for column in wanted]
    else:
        labels = [i for i in range(len(names)) if i not in dropped][-1:]
    if len(set(labels)) != len(labels) or dropped & set(labels):
        raise DataError("a label column is named twice, or also dropped", who=who)
    features = [i for i in range(len(names)) if i not in dropped and i not in labels]
    if not features or not labels:
        raise DataError("no columns are left to be features", who=who)
    return labels, features


def _find_column(column: Column, names: tuple[str, ...], who: str) -> int:
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


def _samples(
    values: Floats, shape: Sequence[int], who: str
) -> tuple[Array, Literal["images", "table"]]:
    """The features in the shape of a sample; whole numbers from 0 to 255 in a shape are uint8."""
    if not shape:
        return values, "table"
    sizes = (*shape, 1) if len(shape) == 2 else tuple(shape)
    if prod(sizes) != values.shape[1] or min(sizes) < 1:
        raise DataError(
            f"the shape must fit the features: {list(sizes)} has {prod(sizes)} numbers, the table "
            f"has {values.shape[1]} feature columns",
            who=who,
        )
    shaped = values.reshape(len(values), *sizes)
    kind: Literal["images", "table"] = "images" if len(sizes) == 3 else "table"
    if ((values >= 0) & (values <= 255) & (values == np.floor(values))).all():
        return shaped.astype(np.uint8), kind
    return shaped, kind


def _labels(
    rows: _LabelRows,
    names: list[str],
    columns: list[int],
    options: CsvOptions,
    limits: DataLimits,
    who: str,
) -> tuple[Labels, tuple[str, ...]]:
    """Labels and a note where the cells left a choice."""
    for row in rows:
        if not all(row.cells):
            at = row.cells.index("")
            raise DataError(
                f"row {row.line}, column {columns[at] + 1} ({quoted(names[at])}): the label is "
                "missing",
                who=who,
            )
    numeric = sum(all(map(looks_like_number, row.cells)) for row in rows)
    is_class, note = _is_class(rows, numeric, names, options.task)
    if not is_class:
        targets = NumberColumns(range(len(names)), names, who, columns)
        for row in rows:
            targets.append(row)
        return Labels(targets.matrix(), ()), note
    if len(names) > 1:
        raise DataError("several label columns are only for regression", who=who)
    texts = [row.cells[0] for row in rows]
    if numeric == len(rows) and _all_whole(texts):
        texts = [str(int(float(text))) for text in texts]
    found = index_classes(texts, rows.lines, who, options.class_names, limits)
    if len(found.class_names) < 2:
        raise DataError(
            f"expected at least two classes: every label in column {quoted(names[0])} is "
            f"{quoted(found.class_names[0])}",
            who=who,
            hint="choose another column as the label",
        )
    return found, note


def _all_whole(texts: Sequence[str]) -> bool:
    return all(float(text).is_integer() for text in texts)


def _is_class(
    rows: _LabelRows, numeric: int, names: list[str], task: Task
) -> tuple[bool, tuple[str, ...]]:
    """Whether the label is a class, by the task or the cells, and a note where that was a guess."""
    if task != "auto":
        return task == "classes", ()
    distinct = {row.cells[0] for row in rows}
    if len(names) > 1:
        return False, ()
    if numeric < len(rows):
        # Mostly numbers with many values: a typing slip in a regression target, not classes.
        return numeric * 2 <= len(rows) or len(distinct) <= MAX_GUESSED_CLASSES, ()
    few = len(distinct) <= MAX_GUESSED_CLASSES and _all_whole(list(distinct))
    kind, other = ("classes", "regression") if few else ("targets", "classes")
    note = f"label column {quoted(names[0])} taken as {kind}; set task to {other} if it is not"
    return few, (note,)
