"""The label columns of a table: collected piece by piece, then made classes or targets."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.csv.numbers import not_a_number
from studio.engine.train.data.csv.pieces import Cells, Codes, Floats, Texts
from studio.engine.train.data.csv.plain import Lines, Marks
from studio.engine.train.data.csv.rows import looks_like_number
from studio.engine.train.data.labels import (
    MAX_GUESSED_CLASSES,
    Labels,
    Task,
    classes_of_codes,
    too_many_classes,
    unknown_label,
)
from studio.engine.train.data.source_files import DataLimits

T = TypeVar("T", np.int32, np.float32)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows that were added together.

    Attributes:
        row: the first of them.
        line: the line this begins on.
        steps: from each row's line to the next one's, in as few bytes as will do; None where all
            are 1.
    """

    row: int
    line: int
    steps: npt.NDArray[np.unsignedinteger] | None


class RowLines:
    """The line each row begins on; rows whose lines follow one another take next to nothing."""

    def __init__(self) -> None:
        self.count = 0
        self._stretches: list[_Stretch] = []

    def __len__(self) -> int:
        return self.count

    def extend(self, lines: Lines | range) -> None:
        """Add the lines of further rows."""
        if not len(lines):
            return
        first, steps = int(lines[0]), None
        if not isinstance(lines, range):
            found = np.diff(lines)
            if (found != 1).any():
                steps = found.astype(np.min_scalar_type(int(found.max())))
        last = self._stretches[-1] if self._stretches else None
        follows = last is not None and last.steps is None and self._line(last, self.count) == first
        if steps is not None or not follows:
            self._stretches.append(_Stretch(self.count, first, steps))
        self.count += len(lines)

    def keep(self, kept: Marks) -> None:
        """Forget the lines of rows that are not marked."""
        parts = [np.zeros(0, np.int64)]
        ends = [each.row for each in self._stretches[1:]] + [self.count]
        for stretch, end in zip(self._stretches, ends, strict=True):
            count, steps = end - stretch.row, stretch.steps
            if steps is None:
                parts.append(np.arange(count, dtype=np.int64) + stretch.line)
            else:
                taken = np.cumsum(steps[: count - 1], dtype=np.int64)
                parts.append(stretch.line + np.concatenate([np.zeros(1, np.int64), taken]))
        lines = np.concatenate(parts)[kept]
        self.count, self._stretches = 0, []
        self.extend(lines)

    def __getitem__(self, row: int) -> int:
        place = bisect_right(self._stretches, row, key=lambda each: each.row) - 1
        return self._line(self._stretches[place], row)

    @staticmethod
    def _line(stretch: _Stretch, row: int) -> int:
        count = row - stretch.row
        steps = stretch.steps
        return stretch.line + (count if steps is None else int(steps[:count].sum(dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Fault:
    """The first row whose cell is of some kind, and the cell."""

    row: int
    cell: str


class LabelColumn:
    """The cells of one label column.

    Different texts are kept once, with a code for each row. Once they are too many to be classes,
    numbers take the place of codes, and the texts are forgotten.

    Args:
        most: different texts that can be classes; 0 where numbers are wanted.
        class_names: the stated classes, if there are any.

    Attributes:
        missing: the first row whose cell is empty, None without one.
        unfit: the first cell that is no finite number, once there are numbers in place of codes.
        unknown: the first cell that is none of the stated classes, likewise.
        numeric: rows that are numbers, likewise.
    """

    def __init__(self, most: int, class_names: Sequence[str] = ()) -> None:
        self.missing: int | None = None
        self.unfit: Fault | None = None
        self.unknown: Fault | None = None
        self.numeric = 0
        self._most = most
        self._classes = frozenset(class_names)
        self._rows = 0
        self._index: dict[str, int] | None = {} if most else None
        self._codes: list[Codes] = []
        self._values: list[Floats] = []

    @property
    def is_wide(self) -> bool:
        """Whether there are numbers in place of codes."""
        return self._index is None

    @property
    def takes_numbers(self) -> bool:
        """Whether numbers may be added instead of texts."""
        return self.is_wide and not self._classes

    @property
    def texts(self) -> list[str]:
        """The different texts in the order of their codes."""
        return list(self._index or ())

    def counts(self) -> npt.NDArray[np.int64]:
        """Rows of each code."""
        found = np.zeros(len(self._index or ()), np.int64)
        for codes in self._codes:
            found += np.bincount(codes, minlength=len(found))
        return found

    def add(self, cells: Cells) -> None:
        """Add the cells of further rows; numbers only where these may be added."""
        if isinstance(cells, Texts):
            if self.missing is None and "" in cells.different:
                is_empty = np.array([not text for text in cells.different], np.bool_)
                self.missing = self._rows + int(np.argmax(is_empty[cells.codes]))
            if self._index is not None:
                self._add_codes(cells, self._index)
            else:
                self._to_numbers(cells.codes, _Table.of(cells.different, self._classes), self._rows)
            self._rows += len(cells.codes)
        else:
            self.numeric += len(cells)
            self._values.append(cells)
            self._rows += len(cells)

    def missing_rows(self) -> Marks:
        """Which rows have an empty cell; none once there are numbers in place of codes."""
        empty = -1 if self._index is None else self._index.get("", -1)
        if empty < 0:
            return np.zeros(self._rows, np.bool_)
        return np.concatenate([each == empty for each in self._codes])

    def unfit_rows(self) -> Marks:
        """Which rows hold no finite number."""
        if self._index is None:
            return np.concatenate([~np.isfinite(each) for each in self._values])
        values = _Table.of(self.texts, frozenset()).values
        return np.concatenate([~np.isfinite(values[each]) for each in self._codes])

    def unknown_rows(self, classes: frozenset[str]) -> Marks:
        """Which rows hold none of some classes; none once there are numbers in place of codes."""
        if self._index is None:
            return np.zeros(self._rows, np.bool_)
        is_unknown = _Table.of(self.texts, classes).is_unknown
        return np.concatenate([is_unknown[each] for each in self._codes])

    def text_at(self, row: int) -> str:
        """The cell of a row as text; empty once there are numbers in place of codes."""
        for codes in self._codes:
            if row < len(codes):
                return self.texts[int(codes[row])]
            row -= len(codes)
        return ""

    def keep(self, kept: Marks) -> None:
        """Forget rows that are not marked, and texts that only those had."""
        self._rows = int(np.count_nonzero(kept))
        self.missing, self.unfit, self.unknown = None, None, None
        if self._index is None:
            values = _joined(self._values, np.float32)[kept]
            self._values = [values]
            self.numeric = int(np.count_nonzero(~np.isnan(values)))
            return
        texts = self.texts
        found, codes = np.unique(_joined(self._codes, np.int32)[kept], return_inverse=True)
        self._index = {texts[code]: place for place, code in enumerate(found)}
        self._codes = [codes.astype(np.int32)]

    def codes(self) -> Codes:
        """The code of every row; empties the column."""
        return _joined(self._codes, np.int32)

    def values(self) -> Floats:
        """The number of every row as float32, NaN for what is none; empties the column."""
        self._widen()
        return _joined(self._values, np.float32)

    def _add_codes(self, cells: Texts, index: dict[str, int]) -> None:
        for text in cells.different:
            index.setdefault(text, len(index))
        codes = np.fromiter(map(index.__getitem__, cells.different), np.int32)
        self._codes.append(codes[cells.codes])
        if len(index) > self._most:
            self._widen()

    def _widen(self) -> None:
        """Put numbers in the place of codes."""
        if self._index is None:
            return
        table, first = _Table.of(self.texts, self._classes), 0
        self._index = None
        blocks, self._codes = self._codes[::-1], []
        while blocks:
            codes = blocks.pop()
            self._to_numbers(codes, table, first)
            first += len(codes)

    def _to_numbers(self, codes: Codes, table: "_Table", first: int) -> None:
        self.numeric += int(np.count_nonzero(table.is_number[codes]))
        self.unfit = self.unfit or table.first(~np.isfinite(table.values), codes, first)
        self.unknown = self.unknown or table.first(table.is_unknown, codes, first)
        self._values.append(table.values[codes])


@dataclass(frozen=True, slots=True)
class _Table:
    """What some texts are.

    Attributes:
        texts: the texts.
        values: their numbers as float32, NaN for what is none.
        is_number: whether each reads as a number.
        is_unknown: whether each is none of the stated classes, if there are any.
    """

    texts: list[str]
    values: Floats
    is_number: Marks
    is_unknown: Marks

    @classmethod
    def of(cls, texts: list[str], classes: frozenset[str]) -> "_Table":
        count = len(texts)
        is_number = [looks_like_number(text) for text in texts]
        numbers = (float(t) if ok else np.nan for t, ok in zip(texts, is_number, strict=True))
        with np.errstate(over="ignore"):
            values = np.fromiter(numbers, np.float64, count).astype(np.float32)
        is_unknown = [
            bool(classes) and text not in classes and _whole_text(text) not in classes
            for text in texts
        ]
        return cls(texts, values, np.array(is_number, np.bool_), np.array(is_unknown, np.bool_))

    def first(self, wrong: Marks, codes: Codes, first: int) -> Fault | None:
        """The first of some rows whose text is marked."""
        found = wrong[codes]
        place = int(np.argmax(found)) if len(found) else 0
        if not len(found) or not found[place]:
            return None
        return Fault(first + place, self.texts[codes[place]])


def _whole_text(text: str) -> str:
    """A whole number as classes are called, any other text as it is."""
    if looks_like_number(text) and float(text).is_integer():
        return str(int(float(text)))
    return text


def _joined(blocks: list[npt.NDArray[T]], dtype: type[T]) -> npt.NDArray[T]:
    """All rows of blocks in one array; each block is given up once it is copied."""
    result = np.empty(sum(map(len, blocks)), dtype)
    at = 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        result[at : at + len(block)] = block
        at += len(block)
    return result


@dataclass(frozen=True, slots=True)
class LabelPlaces:
    """Where labels come from, for messages.

    Attributes:
        names: of the label columns.
        positions: where these stand in a row, from 0.
        lines: the line of every row.
        who: the file's name.
    """

    names: list[str]
    positions: list[int]
    lines: RowLines
    who: str

    def of(self, column: int, row: int) -> str:
        """Row and column of a label, as messages name them."""
        name = quoted(self.names[column])
        return f"row {self.lines[row]}, column {self.positions[column] + 1} ({name})"


def unusable_labels(
    columns: list[LabelColumn], places: LabelPlaces, task: Task, class_names: Sequence[str]
) -> list[Marks]:
    """Which rows of each label column `resolve_labels` would refuse, empty cells apart."""
    if not _is_class(columns, places, task)[0]:
        return [column.unfit_rows() for column in columns]
    return [column.unknown_rows(frozenset(class_names)) for column in columns]


def resolve_labels(
    columns: list[LabelColumn],
    places: LabelPlaces,
    task: Task,
    class_names: Sequence[str],
    limits: DataLimits,
) -> tuple[Labels, tuple[str, ...]]:
    """Labels, and a note where the cells left a choice; DataError where they make none."""
    missing = [(c.missing, i) for i, c in enumerate(columns) if c.missing is not None]
    if missing:
        row, at = min(missing)
        raise DataError(f"{places.of(at, row)}: the label is missing", who=places.who)
    is_class, note = _is_class(columns, places, task)
    if not is_class:
        return Labels(_targets(columns, places), ()), note
    if len(columns) > 1:
        raise DataError("several label columns are only for regression", who=places.who)
    found = _classes(columns[0], places, class_names, limits)
    if len(found.class_names) < 2:
        raise DataError(
            f"expected at least two classes: every label in column {quoted(places.names[0])} is "
            f"{quoted(found.class_names[0])}",
            who=places.who,
            hint="choose another column as the label",
        )
    return found, note


def _is_class(
    columns: list[LabelColumn], places: LabelPlaces, task: Task
) -> tuple[bool, tuple[str, ...]]:
    """Whether the label is a class, by the task or the cells, and a note where that was a guess."""
    if task != "auto":
        return task == "classes", ()
    if len(columns) > 1:
        return False, ()
    column, rows = columns[0], len(places.lines)
    texts = column.texts
    is_few = not column.is_wide and len(texts) <= MAX_GUESSED_CLASSES
    numeric = column.numeric
    if not column.is_wide:
        is_number = np.fromiter(map(looks_like_number, texts), np.bool_, len(texts))
        numeric = int(column.counts()[is_number].sum())
    if numeric < rows:
        # Mostly numbers with many values: a typing slip in a regression target, not classes.
        return numeric * 2 <= rows or is_few, ()
    few = is_few and _are_whole(texts)
    kind, other = ("classes", "regression") if few else ("targets", "classes")
    name = quoted(places.names[0])
    return few, (f"label column {name} taken as {kind}; set task to {other} if it is not",)


def _are_whole(texts: Sequence[str]) -> bool:
    return all(looks_like_number(text) and float(text).is_integer() for text in texts)


def _targets(columns: list[LabelColumn], places: LabelPlaces) -> Floats:
    """Targets float32 [rows, columns]; DataError at the first cell that is no finite number."""
    found = np.empty((len(places.lines), len(columns)), np.float32)
    for at, column in enumerate(columns):
        found[:, at] = column.values()
    # Of one row, texts come before numbers that are too large, as where rows are read.
    faults = [
        (fault.row, looks_like_number(fault.cell), at, fault.cell)
        for at, fault in ((at, column.unfit) for at, column in enumerate(columns))
        if fault is not None
    ]
    if faults:
        row, _, at, cell = min(faults)
        raise not_a_number(places.of(at, row), cell, places.who)
    return found


def _classes(
    column: LabelColumn, places: LabelPlaces, class_names: Sequence[str], limits: DataLimits
) -> Labels:
    if column.is_wide:
        fault = column.unknown
        if fault is None or len(class_names) > limits.classes:
            raise too_many_classes(limits, places.who)
        raise unknown_label(places.lines[fault.row], fault.cell, len(class_names), places.who)
    texts = column.texts
    if _are_whole(texts):
        texts = [_whole_text(text) for text in texts]
    line_of = places.lines.__getitem__
    return classes_of_codes(texts, column.codes(), line_of, places.who, class_names, limits)
