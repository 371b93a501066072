"""CSV tables whose columns go to several inputs and outputs of a network, each named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.csv.bad_rows import REFUSE, TableRules
from studio.engine.train.data.csv.columns import Columns
from studio.engine.train.data.csv.features import FeatureReader
from studio.engine.train.data.csv.labels import (
    LabelColumn,
    LabelPlaces,
    RowLines,
    resolve_labels,
)
from studio.engine.train.data.csv.pieces import Floats
from studio.engine.train.data.csv.rows import Column, find_column, open_table
from studio.engine.train.data.csv.table import check_rows, take_header
from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray
from studio.engine.train.data.labels import MAX_GUESSED_CLASSES, Labels, Task
from studio.engine.train.data.named_parts import NamedArray, entry_name, entry_options
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits

_WHOLE = 1 << 24
"""Up to here float32 holds every whole number."""


@dataclass(frozen=True)
class NamedColumns:
    """Which columns of a table an input or output of the network takes.

    Attributes:
        columns: by name or position, in the order the network gets them.
        options: name of the input or output, and how its values are read.
    """

    columns: tuple[Column, ...]
    options: NamedArray

    @property
    def name(self) -> str:
        """The input or output."""
        return self.options.name


def named_columns(name: str, given: object, is_input: bool) -> NamedColumns:
    """One entry of the options ``inputs`` or ``targets``; DataError or ParameterError naming it.

    Args:
        name: the input or output.
        given: a column, a list of columns, or an object with ``columns`` and options.
        is_input: whether it is an input.
    """
    fields = given if isinstance(given, Mapping) else {"columns": given}
    columns = fields.get("columns", name)
    listed = list(columns) if isinstance(columns, list | tuple) else [columns]
    chosen = [each for each in listed if isinstance(each, str | int) and not isinstance(each, bool)]
    if not chosen or len(chosen) != len(listed):
        raise DataError(
            f"expected a column, a list of columns, or an object with columns, got {quoted(given)}",
            who=entry_name(name, is_input),
        )
    return NamedColumns(tuple(chosen), entry_options(name, fields, is_input, "columns"))


def load_named_columns(
    path: Path,
    inputs: Sequence[NamedColumns],
    targets: Sequence[NamedColumns],
    header: bool | None = None,
    delimiter: str | None = None,
    limits: DataLimits = DEFAULT_LIMITS,
    rules: TableRules = REFUSE,
) -> Dataset:
    """A table as a data set of several inputs and targets.

    Inputs are float32, or int32 where every number of their columns is whole and nothing is
    normalised. An output has one column of classes, or columns of numbers; the columns of numbers
    may be those of an input too.

    Raises:
        DataError: naming file, row and column of the first thing that is wrong.
    """
    who = path.name
    with open_table(path, delimiter, limits) as table:
        asked = [column for each in (*inputs, *targets) for column in each.columns]
        names, first = take_header(table, header, asked)
        places = {each.name: _places(each, names, who) for each in inputs}
        ends = {each.name: _places(each, names, who) for each in targets}
        features = tuple(dict.fromkeys(i for found in places.values() for i in found))
        apart = _apart(targets, ends, features, names, who)
        labels = [i for each in apart for i in ends[each.name]]
        cells = {each.name: _label_columns(each, limits) for each in apart}
        own = rules.only_for({name: find_column(name, names, who) in features
                              for name in (*rules.fill, *rules.categories)})  # fmt: skip
        reader = FeatureReader(names, features, own, who, limits)
        every = [column for each in apart for column in cells[each.name]]
        columns = Columns(
            table, reader.wanted(labels), names, reader.blocks, (*every, *reader.texts.values()),
            reader.bad,
        )  # fmt: skip
        if first is not None:
            columns.add_row(first)
        columns.add_rest()
    lines = columns.lines
    check_rows(lines, reader.bad, who)
    read_as = [
        _read_as(each, cells[each.name], ends[each.name], names, lines, who) for each in apart
    ]
    reader.settle(lines, read_as)
    notes: list[str] = []
    labelled: dict[str, Labels] = {}
    for each, given in zip(apart, read_as, strict=True):
        labelled[each.name], said = resolve_labels(*given, limits)
        notes += said
    first_target = labelled.get(targets[0].name)
    has_classes = first_target is not None and bool(first_target.class_names)
    reader.fill(first_target.y.astype(np.int32) if first_target and has_classes else None)
    found = [
        _target(each.name, labelled.get(each.name), reader, ends[each.name], who)
        for each in targets
    ]
    arrays = tuple(_input(each, reader, places[each.name], names) for each in inputs)
    return Dataset(
        x=arrays[0].values,
        y=found[0].y,
        name=path.stem,
        kind=arrays[0].kind,
        class_names=found[0].class_names,
        feature_names=arrays[0].feature_names,
        notes=tuple(notes),
        inputs=arrays,
        targets=tuple(found),
        cleaning=reader.cleaning(lines),
    )


def _places(wanted: NamedColumns, names: tuple[str, ...], who: str) -> list[int]:
    found = [find_column(column, names, who) for column in wanted.columns]
    twice = next((i for i in found if found.count(i) > 1), None)
    if twice is not None:
        raise DataError(
            f"column {quoted(names[twice])} goes to {quoted(wanted.name)} twice", who=who
        )
    return found


def _apart(
    targets: Sequence[NamedColumns],
    ends: Mapping[str, list[int]],
    features: Sequence[int],
    names: tuple[str, ...],
    who: str,
) -> list[NamedColumns]:
    """Targets whose columns are read as labels; those of others are numbers of an input."""
    apart: list[NamedColumns] = []
    taken: set[int] = set()
    for each in targets:
        shared = [i for i in ends[each.name] if i in features]
        if shared and len(shared) == len(ends[each.name]) and each.options.task != "classes":
            continue
        again = [i for i in ends[each.name] if i in taken] or shared
        if again:
            raise DataError(
                f"column {quoted(names[again[0]])} goes to {quoted(each.name)} and to "
                f"{'an input' if shared else 'another output'}",
                who=who,
                hint="give the output columns of its own",
            )
        taken.update(ends[each.name])
        apart.append(each)
    return apart


def _read_as(
    wanted: NamedColumns,
    cells: list[LabelColumn],
    ends: list[int],
    names: Sequence[str],
    lines: RowLines,
    who: str,
) -> tuple[list[LabelColumn], LabelPlaces, Task, Sequence[str]]:
    """What `resolve_labels` takes of a target, limits apart."""
    places = LabelPlaces([names[i] for i in ends], ends, lines, who)
    return cells, places, wanted.options.task, wanted.options.class_names


def _label_columns(wanted: NamedColumns, limits: DataLimits) -> list[LabelColumn]:
    task, several = wanted.options.task, len(wanted.columns) > 1
    are_numbers = task == "regression" or (several and task == "auto")
    most = 0 if are_numbers else max(limits.classes, MAX_GUESSED_CLASSES)
    return [LabelColumn(most, wanted.options.class_names) for _ in wanted.columns]


def _target(
    name: str, labels: Labels | None, reader: FeatureReader, places: Sequence[int], who: str
) -> TargetArray:
    """What an output is compared with; without labels the numbers of an input."""
    if labels is None:
        return TargetArray(name, _numbers(reader, places, who))
    return TargetArray(name, labels.y, labels.class_names)


def _numbers(reader: FeatureReader, places: Sequence[int], who: str) -> Floats:
    """The columns of an output that are those of an input too."""
    values, columns = reader.take(places)
    text = next((each for each in columns if each.encoding != "number"), None)
    if text is not None:
        raise DataError(
            f"column {quoted(text.name)} holds categories for an input, which are no numbers of an "
            "output",
            who=who,
        )
    return np.ascontiguousarray(values, np.float32)


def _input(
    wanted: NamedColumns, reader: FeatureReader, places: Sequence[int], names: Sequence[str]
) -> InputArray:
    own = wanted.options
    values, columns = reader.take(places)
    stored: Array = np.ascontiguousarray(values)
    if own.normalization == "none" and not columns and (np.abs(values) <= _WHOLE).all():
        whole = values.astype(np.int32)
        stored = whole if (whole == values).all() else stored
    named = tuple(names[i] for i in places)
    if columns:
        named = tuple(name for column in columns for name in column.names)
    return InputArray(
        wanted.name, stored, "table", own.value_range, own.kind_of_normalization, "", named,
        columns=columns,
    )  # fmt: skip
