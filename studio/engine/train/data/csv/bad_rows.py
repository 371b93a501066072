"""Rows and cells of a table that cannot be read, and what the project says becomes of them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.cleaning import (
    DEFAULT_SPLIT,
    MOST_PLACES,
    CleanedPlace,
    Cleaning,
    Fill,
    FillRule,
    Policy,
    SplitRule,
    What,
)
from studio.engine.train.data.csv.labels import RowLines
from studio.engine.train.data.csv.numbers import NumberColumns, check_width
from studio.engine.train.data.csv.plain import Marks
from studio.engine.train.data.csv.rows import Row
from studio.engine.train.data.input_columns import CategoryOption

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TableRules:
    """What a project says of bad cells and of columns of categories.

    Attributes:
        bad_rows: what happens to rows with cells that are not filled.
        fill: what bad cells of a column become, by its name.
        categories: columns of categories, by name.
        split: how samples are divided, for what is learned from the training part.
    """

    bad_rows: Policy = "refuse"
    fill: Mapping[str, FillRule] = field(default_factory=dict)
    categories: Mapping[str, CategoryOption] = field(default_factory=dict)
    split: SplitRule = DEFAULT_SPLIT

    def only_for(self, is_wanted: Mapping[str, bool]) -> TableRules:
        """The rules without those of columns that are not wanted."""
        return replace(
            self,
            fill={name: rule for name, rule in self.fill.items() if is_wanted[name]},
            categories={name: each for name, each in self.categories.items() if is_wanted[name]},
        )


REFUSE = TableRules()
"""Nothing is skipped or filled, and there are no categories."""


class BadRows:
    """Counts what cannot be read of a table and stays the judge of what becomes of it.

    Args:
        rules: what the project says.
        names: of all columns.
        filled: positions of the columns whose bad cells are filled.
        who: the file's name.
    """

    def __init__(
        self, rules: TableRules, names: Sequence[str], filled: frozenset[int], who: str
    ) -> None:
        self.skips = rules.bad_rows == "skip"
        self.filled = filled
        self.skipped = 0
        self.unknown = 0
        self._names = names
        self._who = who
        self._places: dict[What, list[CleanedPlace]] = {"skipped": [], "filled": [], "unknown": []}
        self._rows, self._columns = array("q"), array("q")
        self._messages: dict[tuple[int, int], str] = {}
        self._fills: list[Fill] = []

    @property
    def is_active(self) -> bool:
        """Whether anything at all is skipped or filled."""
        return self.skips or bool(self.filled)

    def take(self, row: Row, width: int, numbers: NumberColumns, at: int) -> bool:
        """Add the numbers of a row; whether it stays.

        Args:
            row: the cells.
            width: how many there must be.
            numbers: where they go; cells to be filled as 0 for now.
            at: how many rows stayed before it.
        """
        try:
            check_width(row, width, self._who)
            numbers.append(row)
        except DataError as error:
            bad = numbers.bad_columns(row) if len(row.cells) == width else []
            left = [column for column in bad if column not in self.filled]
            if left or not bad:
                refusal = numbers.refusal(row, left[0]) if left else error
                if not self.skips:
                    raise refusal from None
                self._skip(refusal)
                return False
            for column in bad:
                is_told = self.tells_more
                place = CleanedPlace.of(numbers.refusal(row, column)) if is_told else None
                self.gap(at, column, "" if place is None else place.message)
            cells = ["0" if i in bad else cell for i, cell in enumerate(row.cells)]
            numbers.append(replace(row, cells=cells))
        return True

    def _skip(self, error: DataError) -> None:
        self.skipped += 1
        if self.skipped <= MOST_PLACES:
            self._places["skipped"].append(CleanedPlace.of(error))

    def skip_rows(
        self, bad: Marks, lines: RowLines, column: int, messages: Sequence[str] | str
    ) -> None:
        """Count rows that are left out because of one column.

        Args:
            bad: marks of these rows.
            lines: the line of every row.
            column: where it stands.
            messages: what is wrong, for all or for the first `MOST_PLACES` of them.
        """
        found = np.flatnonzero(bad)
        self.skipped += len(found)
        for place, row in enumerate(found[:MOST_PLACES].tolist()):
            said = messages if isinstance(messages, str) else messages[place]
            self._places["skipped"].append(self._place(lines[row], column, said, "skipped"))

    def see_unknown(self, line: int, column: int, message: str) -> None:
        """Remember one of the unknown categories that became zeros."""
        self._places["unknown"].append(self._place(line, column, message, "unknown"))

    @property
    def tells_more(self) -> bool:
        """Whether it is still kept what is wrong with cells to be filled."""
        return len(self._messages) < 4 * MOST_PLACES

    def gap(self, row: int, column: int, message: str) -> None:
        """Remember a cell that is to be filled."""
        self._rows.append(row)
        self._columns.append(column)
        if self.tells_more:
            self._messages[row, column] = message

    def gaps(self, column: int) -> Places:
        """The rows that have a cell to be filled in a column."""
        rows = np.array(self._rows, np.int64)
        return np.compress(np.array(self._columns, np.int64) == column, rows)

    def columns_with_gaps(self) -> list[int]:
        """The columns with cells to be filled, in the order of the table."""
        return sorted(set(self._columns))

    def keep(self, kept: Marks) -> None:
        """Forget cells of rows that are not marked."""
        moved = np.cumsum(kept) - 1
        both = list(zip(self._rows, self._columns, strict=True))
        self._messages = {
            (int(moved[row]), column): said
            for (row, column), said in self._messages.items()
            if kept[row]
        }
        self._rows = array("q", [int(moved[row]) for row, _ in both if kept[row]])
        self._columns = array("q", [column for row, column in both if kept[row]])

    def fill(self, column: int, rule: FillRule, value: str) -> None:
        """Say what the cells of a column were filled with."""
        name = "" if isinstance(rule, float) or rule.startswith("=") else rule
        self._fills.append(Fill(self._names[column], name, value, len(self.gaps(column))))

    def nothing_left(self) -> DataError:
        """The error where every row was left out."""
        first = min(self._places["skipped"], key=lambda each: each.row)
        rows = f"all {self.skipped:,} rows" if self.skipped > 1 else "the only row"
        return DataError(
            f"no row is left: {rows} would be skipped, the first at {first.text}: {first.message}",
            who=self._who,
            hint="look at the columns: leave out what holds no numbers, or read it as categories",
        )

    def cleaning(self, lines: RowLines) -> Cleaning:
        """What was done, with places in the order of the file."""
        for (row, column), said in sorted(self._messages.items())[:MOST_PLACES]:
            self._places["filled"].append(self._place(lines[row], column, said, "filled"))
        places = [
            place
            for found in self._places.values()
            for place in sorted(found, key=lambda each: each.row)[:MOST_PLACES]
        ]
        return Cleaning(
            skipped=self.skipped,
            filled=len(self._rows),
            unknown=self.unknown,
            places=tuple(sorted(places, key=lambda each: each.row)),
            fills=tuple(self._fills),
        )

    def _place(self, line: int, column: int, message: str, what: What) -> CleanedPlace:
        return CleanedPlace(self._who, line, self._names[column], message, what)


def unknown_category(place: str, text: str, count: int, who: str) -> DataError:
    """The error for a cell that is none of the stated categories; ``place`` names it."""
    if not text:
        return DataError(
            f"{place}: the cell is empty where a category is expected",
            who=who,
            hint="fill it in, skip the row, or list the empty text as a category",
        )
    return DataError(
        f"{place}: {quoted(text)} is none of the {count:,} categories",
        who=who,
        hint="add it to the list, skip the row, or let unknown categories be zeros",
    )
