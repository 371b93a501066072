"""The feature columns of a table: numbers and categories as they are read, then as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.cleaning import (
    MOST_PLACES,
    Cleaning,
    fill_category,
    fill_number,
    given_value,
)
from studio.engine.train.data.csv.bad_rows import BadRows, TableRules, unknown_category
from studio.engine.train.data.csv.columns import FeatureBlocks
from studio.engine.train.data.csv.labels import (
    LabelColumn,
    LabelPlaces,
    RowLines,
    unusable_labels,
)
from studio.engine.train.data.csv.pieces import Codes, Wanted
from studio.engine.train.data.csv.plain import Marks
from studio.engine.train.data.csv.rows import find_column
from studio.engine.train.data.input_columns import MAX_TEXT, InputColumn
from studio.engine.train.data.labels import Task, sorted_names
from studio.engine.train.data.normalization import Array
from studio.engine.train.data.source_files import DataLimits, size_text
from studio.engine.train.data.splitting import divided_indices


@dataclass(slots=True)
class _Category:
    """A column of categories while it is read.

    Attributes:
        texts: the different texts.
        codes: the text of each row, as its place among them.
        column: the list, once it is settled; codes are places in it from then on.
    """

    texts: list[str]
    codes: Codes
    column: InputColumn


class FeatureReader:
    """Collects the features of a table and makes arrays of them.

    Args:
        names: of all columns.
        features: positions of the features.
        rules: what the project says of bad cells and of categories.
        who: the file's name.
        limits: caps on categories and sizes.
        may_be_bytes: whether numbers that are all whole and from 0 to 255 become uint8.
    """

    def __init__(
        self,
        names: Sequence[str],
        features: Sequence[int],
        rules: TableRules,
        who: str,
        limits: DataLimits,
        *,
        may_be_bytes: bool = False,
    ) -> None:
        self._names, self._who, self._limits, self._rules = tuple(names), who, limits, rules
        self._options = {
            self._feature(name, features, "categories"): option
            for name, option in rules.categories.items()
        }
        self._fill = {
            self._feature(name, features, "fill"): rule for name, rule in rules.fill.items()
        }
        self._check_rules()
        self.numbers = tuple(i for i in features if i not in self._options)
        self.blocks = FeatureBlocks(len(self.numbers), may_be_bytes=may_be_bytes)
        self.texts = {i: LabelColumn(each.most(limits)) for i, each in self._options.items()}
        self.bad = BadRows(rules, names, frozenset(self._fill), who)
        self._x: Array = np.zeros((0, 0), np.float32)
        self._found: dict[int, _Category] = {}

    def wanted(self, labels: Sequence[int]) -> Wanted:
        """What is read of each row; cells of categories come behind those of the labels."""
        return Wanted(len(self._names), self.numbers, (*labels, *self.texts))

    def settle(
        self,
        lines: RowLines,
        labels: Sequence[tuple[list[LabelColumn], LabelPlaces, Task, Sequence[str]]],
    ) -> None:
        """Leave out rows whose categories or labels cannot be used; DataError to refuse them.

        Args:
            lines: the line of every row that was read.
            labels: the columns of each target, their places, its task and stated classes.
        """
        self._x = self.blocks.matrix()
        self._found = {i: self._collected(i, column) for i, column in self.texts.items()}
        every = [column for columns, *_ in labels for column in columns]
        self._refuse_or_skip(lines, every)
        if self.bad.skips:
            for columns, places, *_ in labels:
                marks = [column.missing_rows() for column in columns]
                self._skip_labels(marks, places, lines, every, columns)
            for columns, places, task, classes in labels:
                marks = unusable_labels(columns, places, task, classes)
                self._skip_labels(marks, places, lines, every, columns)
        for i in self._found:
            self._list_categories(i, lines)

    def fill(self, labels: npt.NDArray[np.int32] | None) -> None:
        """Fill bad cells by what the training part of the rows holds.

        Args:
            labels: class of each row, where each has one.
        """
        columns = self.bad.columns_with_gaps()
        if not columns:
            return
        rule = self._rules.split
        training = np.zeros(len(self), np.bool_)
        training[divided_indices(labels, len(self), rule.fraction, rule.seed)[0]] = True
        for column in columns:
            gaps = self.bad.gaps(column)
            good = training.copy()
            good[gaps] = False
            if column in self._found:
                self._fill_category(column, gaps, good)
            else:
                self._fill_number(column, gaps, good)

    def take(self, features: Sequence[int]) -> tuple[Array, tuple[InputColumn, ...]]:
        """The values of some features, in this order, and what their columns are.

        The columns are empty where all hold numbers.
        """
        if not any(i in self._found for i in features):
            if tuple(features) == self.numbers:
                return self._x, ()
            chosen = [self.numbers.index(i) for i in features]
            return np.ascontiguousarray(self._x[:, chosen], np.float32), ()
        columns = tuple(
            self._found[i].column if i in self._found else InputColumn(self._names[i])
            for i in features
        )
        width = sum(len(each.names) for each in columns)
        if len(self) * width * 4 > self._limits.array_bytes:
            raise DataError(
                f"{len(self):,} rows of {width:,} inputs need {size_text(len(self) * width * 4)}: "
                f"at most {size_text(self._limits.array_bytes)}",
                who=self._who,
                hint="leave out columns of many categories, or give them an index",
            )
        if all(each.encoding == "index" for each in columns):
            parts = [each.encoded(self._found[i].codes) for i, each in zip(features, columns,
                     strict=True)]  # fmt: skip
            return np.concatenate(parts, axis=1).astype(np.int32), columns
        made = np.empty((len(self), width), np.float32)
        at = 0
        for i, each in zip(features, columns, strict=True):
            end = at + len(each.names)
            found = self._found.get(i)
            if found is None:
                made[:, at] = self._x[:, self.numbers.index(i)]
            else:
                made[:, at:end] = each.encoded(found.codes)
            at = end
        return made, columns

    def cleaning(self, lines: RowLines) -> Cleaning:
        """What was left out or filled in."""
        return self.bad.cleaning(lines)

    def __len__(self) -> int:
        return len(self._x)

    # -- checking -------------------------------------------------------------------------------

    def _feature(self, name: str, features: Sequence[int], option: str) -> int:
        """The position of a feature that an option names."""
        found = find_column(name, self._names, self._who)
        if found not in features:
            raise DataError(
                f"option {option} names {quoted(name)}, which is no feature",
                who=self._who,
                hint="it is the label or left out",
            )
        return found

    def _check_rules(self) -> None:
        for column, rule in self._fill.items():
            is_category = column in self._options
            by_number = isinstance(rule, float) or rule in ("mean", "median")
            if by_number if is_category else given_value(rule) is not None:
                kind = "categories" if is_category else "numbers"
                raise DataError(
                    f"column {quoted(self._names[column])} holds {kind}, which cannot be filled "
                    f"with {quoted(rule)}",
                    who=self._who,
                    hint="use most frequent, or = and a category" if is_category else
                    "use mean, median, most frequent or a number",
                )  # fmt: skip

    # -- categories -----------------------------------------------------------------------------

    def _collected(self, i: int, column: LabelColumn) -> _Category:
        option = self._options[i]
        if column.is_wide or len(option.values) > option.most(self._limits):
            other = "give it an index, or leave it out"
            raise DataError(
                f"column {quoted(self._names[i])} has too many categories: at most "
                f"{option.most(self._limits):,} can be {option.encoding}, got more",
                who=self._who,
                hint=other if option.encoding == "one-hot" else "leave the column out",
            )
        long = max(column.texts, key=len, default="")
        if len(long) > MAX_TEXT:
            raise DataError(
                f"column {quoted(self._names[i])} has a text of {len(long):,} characters: a "
                f"category has at most {MAX_TEXT:,}",
                who=self._who,
                hint="leave the column out",
            )
        name = self._names[i]
        made = InputColumn(name, option.encoding, option.values, option.unknown)
        return _Category(column.texts, column.codes(), made)

    def _is_unfit(self, i: int) -> Marks:
        """Which texts of a column are none of its categories, or empty."""
        found = self._found[i]
        stated = found.column.categories
        return np.array(
            [
                text not in stated and (not text or found.column.unknown == "refuse")
                if stated
                else not text
                for text in found.texts
            ],
            np.bool_,
        )

    def _refuse_or_skip(self, lines: RowLines, every: Sequence[LabelColumn]) -> None:
        marks: dict[int, Marks] = {}
        for i, found in self._found.items():
            if i not in self._fill and found.texts:
                unfit = self._is_unfit(i)
                if unfit.any():
                    marks[i] = unfit[found.codes]
        if not marks:
            return
        bad = np.logical_or.reduce(list(marks.values()))
        if not bad.any():
            return
        if not self.bad.skips:
            row = int(np.argmax(bad))
            raise self._unfit(next(i for i in sorted(marks) if marks[i][row]), row, lines)
        seen = np.zeros(len(bad), np.bool_)
        for i in sorted(marks):
            own = marks[i] & ~seen
            seen |= own
            rows = np.flatnonzero(own)[:MOST_PLACES].tolist()
            said = [self._unfit(i, row, lines).message.partition(": ")[2] for row in rows]
            self.bad.skip_rows(own, lines, i, said)
        self._drop(bad, lines, every)

    def _unfit(self, i: int, row: int, lines: RowLines) -> DataError:
        found = self._found[i]
        place = f"row {lines[row]}, column {i + 1} ({quoted(self._names[i])})"
        text = found.texts[found.codes[row]]
        return unknown_category(place, text, len(found.column.categories), self._who)

    def _list_categories(self, i: int, lines: RowLines) -> None:
        """Settle the list of a column, and let its codes be places in it."""
        found = self._found[i]
        occurring = {found.texts[code] for code in np.unique(found.codes)}
        stated = found.column.categories
        names = stated or tuple(sorted_names(occurring - {""}))
        old = found.column
        found.column = InputColumn(old.name, old.encoding, names, old.unknown)
        if not names:
            raise DataError(
                f"column {quoted(self._names[i])} has no category: every cell is empty",
                who=self._who,
                hint="leave the column out",
            )
        unfit, texts = self._is_unfit(i) if found.texts else np.zeros(0, np.bool_), found.texts
        codes = found.column.codes_of(texts)[found.codes]
        gaps = unfit[found.codes]
        for row in np.flatnonzero(gaps).tolist():
            told = self._unfit(i, row, lines).message if self.bad.tells_more else ""
            self.bad.gap(row, i, told.partition(": ")[2])
        zeros = np.flatnonzero((codes < 0) & ~gaps)
        self.bad.unknown += len(zeros)
        for row in zeros[:MOST_PLACES].tolist():
            text = quoted(texts[found.codes[row]])
            self.bad.see_unknown(lines[row], i, f"{text} is none of the {len(names):,} categories")
        found.codes = codes

    # -- leaving out and filling ----------------------------------------------------------------

    def _skip_labels(
        self,
        marks: Sequence[Marks],
        places: LabelPlaces,
        lines: RowLines,
        every: Sequence[LabelColumn],
        columns: Sequence[LabelColumn],
    ) -> None:
        bad = np.logical_or.reduce(list(marks))
        if not bad.any():
            return
        seen = np.zeros(len(bad), np.bool_)
        for mark, position, column in zip(marks, places.positions, columns, strict=True):
            own = mark & ~seen
            seen |= own
            texts = [column.text_at(row) for row in np.flatnonzero(own)[:MOST_PLACES].tolist()]
            said = [
                f"{quoted(text)} cannot be a label here" if text else "the label is missing"
                for text in texts
            ]
            self.bad.skip_rows(own, lines, position, said)
        self._drop(bad, lines, every)

    def _drop(self, bad: Marks, lines: RowLines, labels: Sequence[LabelColumn]) -> None:
        kept = ~bad
        if not kept.any():
            raise self.bad.nothing_left()
        self._x = self._x[kept]
        for found in self._found.values():
            found.codes = found.codes[kept]
        for column in labels:
            column.keep(kept)
        self.bad.keep(kept)
        lines.keep(kept)

    def _fill_number(self, column: int, gaps: npt.NDArray[np.int64], good: Marks) -> None:
        rule, at = self._fill[column], self.numbers.index(column)
        values = np.asarray(self._x[:, at], np.float32)
        found = fill_number(values[good], rule)
        if found is None:
            raise self._nothing_to_learn(column, "number")
        self._x[gaps, at] = np.float32(found)
        self.bad.fill(column, rule, f"{np.float32(found):g}")

    def _fill_category(self, column: int, gaps: npt.NDArray[np.int64], good: Marks) -> None:
        rule, found = self._fill[column], self._found[column]
        codes = found.codes[good]
        code = fill_category(codes[codes >= 0], found.column.categories, rule)
        if code < 0:
            given = given_value(rule) if isinstance(rule, str) else None
            if given is None:
                raise self._nothing_to_learn(column, "category")
            raise DataError(
                f"fill of column {quoted(self._names[column])} gives {quoted(given)}, which is "
                f"none of its {len(found.column.categories):,} categories",
                who=self._who,
                hint="list it under values of the column",
            )
        found.codes[gaps] = code
        self.bad.fill(column, rule, quoted(found.column.categories[code]))

    def _nothing_to_learn(self, column: int, what: str) -> DataError:
        return DataError(
            f"column {quoted(self._names[column])} has no {what} in the training part to fill "
            "other cells with",
            who=self._who,
            hint="give a value, skip the rows, or leave the column out",
        )
