"""CSV tables to data sets: a label column by name or position, text classes, numeric targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Literal

import numpy as np

from studio.engine.core.errors import DataError, EmptyDataError
from studio.engine.train.data.csv.bad_rows import REFUSE, BadRows, TableRules
from studio.engine.train.data.csv.columns import Columns
from studio.engine.train.data.csv.features import FeatureReader
from studio.engine.train.data.csv.labels import (
    LabelColumn,
    LabelPlaces,
    RowLines,
    resolve_labels,
)
from studio.engine.train.data.csv.rows import (
    Column,
    Row,
    Table,
    find_column,
    looks_like_header,
    name_columns,
    open_table,
)
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.labels import MAX_GUESSED_CLASSES, Task
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits


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
        rules: what becomes of bad cells, and which columns hold categories.
    """

    label: Column | Sequence[Column] | None = None
    header: bool | None = None
    delimiter: str | None = None
    task: Task = "auto"
    class_names: Sequence[str] = ()
    drop: Sequence[Column] = ()
    shape: Sequence[int] = ()
    rules: TableRules = REFUSE


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
        rules, shaped = options.rules, bool(options.shape)
        if shaped and (rules.fill or rules.categories):
            raise _not_of_pixels(who)
        reader = FeatureReader(names, features, rules, who, limits, may_be_bytes=shaped)
        cells = (*label_columns, *reader.texts.values())
        columns = Columns(table, reader.wanted(labels), names, reader.blocks, cells, reader.bad)
        if first is not None:
            columns.add_row(first)
        columns.add_rest()
    lines = columns.lines
    check_rows(lines, reader.bad, who)
    places = LabelPlaces([names[i] for i in labels], labels, lines, who)
    reader.settle(lines, [(label_columns, places, options.task, options.class_names)])
    found, notes = resolve_labels(label_columns, places, options.task, options.class_names, limits)
    reader.fill(found.y.astype(np.int32) if found.class_names else None)
    values, made_of = reader.take(features)
    x, kind = _samples(values, options.shape, who)
    is_image = kind == "images"
    own = tuple(names[i] for i in features)
    if made_of:
        own = tuple(name for column in made_of for name in column.names)
    return Dataset(
        x=x,
        y=found.y,
        name=path.stem,
        kind=kind,
        class_names=found.class_names,
        feature_names=() if shaped else own,
        value_range=(0.0, 255.0) if is_image and x.dtype == np.uint8 else None,
        notes=notes,
        columns=made_of,
        cleaning=reader.cleaning(lines),
    )


def check_rows(lines: RowLines, bad: BadRows, who: str) -> None:
    """DataError where a table has no rows of data, or none of them can be used."""
    if not len(lines):
        raise bad.nothing_left() if bad.skipped else no_rows(who)


def _not_of_pixels(who: str) -> DataError:
    return DataError(
        "rows of pixels have neither cells to fill in nor categories",
        who=who,
        hint="use bad_rows skip, or leave out shape",
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
