"""CSV tables whose columns go to several inputs and outputs of a network, each named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.csv.columns import Columns, FeatureBlocks
from studio.engine.train.data.csv.labels import LabelColumn, LabelPlaces, resolve_labels
from studio.engine.train.data.csv.pieces import Floats, Wanted
from studio.engine.train.data.csv.rows import open_table
from studio.engine.train.data.csv.table import Column, find_column, no_rows, take_header
from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray
from studio.engine.train.data.labels import MAX_GUESSED_CLASSES
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
        blocks = FeatureBlocks(len(features))
        every = [column for each in apart for column in cells[each.name]]
        wanted = Wanted(len(names), features, tuple(labels))
        columns = Columns(table, wanted, names, blocks, every)
        if first is not None:
            columns.add_row(first)
        columns.add_rest()
    if not len(columns.lines):
        raise no_rows(who)
    x = blocks.matrix()
    notes: list[str] = []
    found = []
    for each in targets:
        at, own = ends[each.name], each.options
        if each.name in cells:
            known = LabelPlaces([names[i] for i in at], at, columns.lines, who)
            made, said = resolve_labels(cells[each.name], known, own.task, own.class_names, limits)
            notes += said
            found.append(TargetArray(each.name, made.y, made.class_names))
        else:
            found.append(TargetArray(each.name, _taken(x, features, at)))
    arrays = tuple(
        _input(each, _taken(x, features, places[each.name]), [names[i] for i in places[each.name]])
        for each in inputs
    )
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


def _label_columns(wanted: NamedColumns, limits: DataLimits) -> list[LabelColumn]:
    task, several = wanted.options.task, len(wanted.columns) > 1
    are_numbers = task == "regression" or (several and task == "auto")
    most = 0 if are_numbers else max(limits.classes, MAX_GUESSED_CLASSES)
    return [LabelColumn(most, wanted.options.class_names) for _ in wanted.columns]


def _taken(x: Array, features: Sequence[int], places: Sequence[int]) -> Floats:
    at = [features.index(i) for i in places]
    return np.ascontiguousarray(x[:, at], np.float32)


def _input(wanted: NamedColumns, values: Floats, names: Sequence[str]) -> InputArray:
    own = wanted.options
    stored: Array = values
    if own.normalization == "none" and (np.abs(values) <= _WHOLE).all():
        whole = values.astype(np.int32)
        stored = whole if (whole == values).all() else values
    return InputArray(
        wanted.name, stored, "table", own.value_range, own.kind_of_normalization, "", tuple(names)
    )
