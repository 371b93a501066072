"""CSV tables to data sets: a label column by name or position, text classes, numeric targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np

from studio.engine.core.errors import DataError, EmptyDataError, quoted
from studio.engine.train.data.csv.columns import Columns, FeatureBlocks
from studio.engine.train.data.csv.labels import LabelColumn, LabelPlaces, resolve_labels
from studio.engine.train.data.csv.pieces import Wanted
from studio.engine.train.data.csv.rows import (
    Row,
    Table,
    looks_like_header,
    name_columns,
    open_table,
)
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.labels import MAX_GUESSED_CLASSES, Task
from studio.engine.train.data.normalization import Array
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
    with open_table(path, options.delimiter, limits) as table:
        asked = (*_listed(options.label), *options.drop)
        names, first = take_header(table, options.header, asked)
        labels, features = _choose_columns(names, options, who)
        are_numbers = options.task == "regression" or (len(labels) > 1 and options.task == "auto")
        most = 0 if are_numbers else max(limits.classes, MAX_GUESSED_CLASSES)
        label_columns = [LabelColumn(most, options.class_names) for _ in labels]
        blocks = FeatureBlocks(len(features), may_be_bytes=bool(options.shape))
        wanted = Wanted(len(names), tuple(features), tuple(labels))
        columns = Columns(table, wanted, names, blocks, label_columns)
        if first is not None:
            columns.add_row(first)
        columns.add_rest()
    if not len(columns.lines):
        raise no_rows(who)
    places = LabelPlaces([names[i] for i in labels], labels, columns.lines, who)
    found, notes = resolve_labels(label_columns, places, options.task, options.class_names, limits)
    x, kind = _samples(blocks.matrix(), options.shape, who)
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


def no_rows(who: str) -> EmptyDataError:
    """The error for a table with nothing but a header."""
    return EmptyDataError("the table has no rows of data", who=who, hint=_ROWS)


def take_header(
    table: Table, header: bool | None, asked: Sequence[Column]
) -> tuple[tuple[str, ...], Row | None]:
    """Column names, and the first row if it is one of data.

    Args:
        table: stands at its beginning.
        header: whether the first row names the columns; None decides by its cells.
        asked: columns that are asked for.
    """
    who = table.who
    first = next(table.rows(), None)
    if first is None:
        raise EmptyDataError("the table has no rows", who=who, hint=_ROWS)
    if len(first.cells) < 2:
        raise DataError(
            f"row {first.line}: expected at least two columns, features and label, got one",
            who=who,
            hint="is the separator another one? set 'delimiter'",
        )
    if header is None:
        # A column asked for by name can only come from a header.
        header = looks_like_header(first.cells) or any(
            isinstance(column, str) and column in first.cells for column in asked
        )
    names = name_columns(first.cells if header else None, len(first.cells), who)
    return names, None if header else first


def _listed(label: Column | Sequence[Column] | None) -> tuple[Column, ...]:
    if label is None:
        return ()
    return (label,) if isinstance(label, str | int) else tuple(label)


def _choose_columns(
    names: tuple[str, ...], options: CsvOptions, who: str
) -> tuple[list[int], list[int]]:
    """Indices of the label columns and of the feature columns."""
    dropped = {find_column(column, names, who) for column in options.drop}
    wanted = _listed(options.label)
    if wanted:
        labels = [find_column(column, names, who) for column in wanted]
    else:
        labels = [i for i in range(len(names)) if i not in dropped][-1:]
    if len(set(labels)) != len(labels) or dropped & set(labels):
        raise DataError("a label column is named twice, or also dropped", who=who)
    features = [i for i in range(len(names)) if i not in dropped and i not in labels]
    if not features or not labels:
        raise DataError("no columns are left to be features", who=who)
    return labels, features


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


def _samples(
    values: Array, shape: Sequence[int], who: str
) -> tuple[Array, Literal["images", "table"]]:
    """The features in the shape of a sample."""
    if not shape:
        return values, "table"
    sizes = (*shape, 1) if len(shape) == 2 else tuple(shape)
    if prod(sizes) != values.shape[1] or min(sizes) < 1:
        raise DataError(
            f"the shape must fit the features: {list(sizes)} has {prod(sizes)} numbers, the table "
            f"has {values.shape[1]} feature columns",
            who=who,
        )
    return values.reshape(len(values), *sizes), "images" if len(sizes) == 3 else "table"
