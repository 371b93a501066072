"""What a loader leaves out or fills in because the project says so, counted and with its places."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, quoted

Policy: TypeAlias = Literal["refuse", "skip"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
"""What happens to rows or pictures that cannot be read, the default first."""

Statistic: TypeAlias = Literal["mean", "median", "most frequent"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
"""What a bad cell can be filled with, besides a given value."""

What: TypeAlias = Literal["skipped", "filled", "unknown"]

FillRule: TypeAlias = float | str
"""One of `STATISTICS`, a number, or ``=`` and a category."""

MOST_PLACES = 500
"""Places kept of each kind; all are counted."""

_GIVEN = "="
_SHOWN = 5
_LARGEST = 3.4e38


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How samples are divided, so that what is filled in is learned from the training part.

    Attributes:
        fraction: share held out for testing.
        seed: of the division.
    """

    fraction: float = 0.2
    seed: int = 0


DEFAULT_SPLIT = SplitRule()


_PLACE = re.compile(r"row (\d+)(?:, column (\d+) \((.*?)\))?:? ?(.*)", re.DOTALL)


def place_in(message: str) -> tuple[int, str, str]:
    """Row, column and the rest of a loader's sentence; row 0 where it names none."""
    found = _PLACE.match(message)
    if found is None:
        return 0, "", message
    row, _, column, rest = found.groups()
    return int(row), (column or "").strip("'"), rest


@dataclass(frozen=True, slots=True)
class CleanedPlace:
    """Where something was left out or filled in.

    Attributes:
        file: the file, as messages name it.
        row: line of the file from 1; 0 for a picture.
        column: name of the column, empty where the whole row or picture is meant.
        message: what is wrong there.
        what: what was done about it.
    """

    file: str
    row: int
    column: str
    message: str
    what: What

    @classmethod
    def of(cls, error: DataError, what: What = "skipped") -> CleanedPlace:
        """The place that a loader's refusal names."""
        row, column, rest = place_in(error.message)
        return cls(error.who, row, column, rest, what)

    @property
    def text(self) -> str:
        """The place in a few words."""
        if not self.row:
            return self.file
        return f"row {self.row}" + (f" ({self.column})" if self.column else "")


@dataclass(frozen=True, slots=True)
class Fill:
    """What the bad cells of a column were filled with.

    Attributes:
        column: its name.
        rule: how the value came about.
        value: the value, as text.
        count: cells.
    """

    column: str
    rule: str
    value: str
    count: int

    @property
    def text(self) -> str:
        """A sentence without its end."""
        cells = f"{self.count:,} cell{'' if self.count == 1 else 's'} of {quoted(self.column)}"
        if not self.rule:
            return f"filled {cells} with {self.value}"
        article = "category" if self.rule == "most frequent" else "value"
        rule = f"most frequent {article}" if self.rule == "most frequent" else self.rule
        return f"filled {cells} with the {rule} of the training part, {self.value}"


@dataclass(frozen=True)
class Cleaning:
    """What was left out of a data set or filled in.

    Attributes:
        skipped: rows, samples or pictures left out.
        noun: what these are called.
        filled: cells filled in.
        unknown: cells of categories that are not in the list, which became zeros.
        places: where, at most `MOST_PLACES` of each kind, in the order of the file.
        fills: what was filled in, column by column.
    """

    skipped: int = 0
    noun: str = "row"
    filled: int = 0
    unknown: int = 0
    places: tuple[CleanedPlace, ...] = ()
    fills: tuple[Fill, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.skipped or self.filled or self.unknown)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was done, one sentence for each kind, without its end."""
        found = []
        if self.skipped:
            found.append(
                f"skipped {_counted(self.skipped, self.noun)} that cannot be read: "
                f"{self._first('skipped', self.skipped)}"
            )
        found += [each.text for each in self.fills]
        if self.unknown:
            found.append(
                f"{_counted(self.unknown, 'cell')} with unknown categories became zeros: "
                f"{self._first('unknown', self.unknown)}"
            )
        return tuple(found)

    def joined(self, other: Cleaning) -> Cleaning:
        """What was left out of two parts of one source."""
        return Cleaning(
            self.skipped + other.skipped, self.noun, self.filled + other.filled,
            self.unknown + other.unknown, (*self.places, *other.places),
            (*self.fills, *other.fills),
        )  # fmt: skip

    def to_json(self) -> dict[str, int]:
        """The counts as plain data."""
        made = {"skipped": self.skipped, "filled": self.filled}
        if self.unknown:
            made["unknown"] = self.unknown
        return made

    def _first(self, what: str, count: int) -> str:
        found = [each.text for each in self.places if each.what == what][:_SHOWN]
        return ", ".join(found) + (" …" if count > len(found) else "")


NOTHING_CLEANED = Cleaning()


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def given_value(rule: FillRule) -> str | None:
    """The category that a rule gives; None for another rule."""
    is_given = isinstance(rule, str) and rule.startswith(_GIVEN)
    return str(rule)[1:].strip() if is_given else None


def parse_fill(value: object) -> dict[str, FillRule]:
    """The option ``fill``: a rule for each column, by name; DataError naming what is wrong.

    A rule is one of `STATISTICS`, a number, or an equals sign with a category behind it.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise DataError(
            f"option fill must be an object of columns: got {quoted(value)}", who="data"
        )
    return {str(name): _rule(str(name), given) for name, given in value.items()}


def _rule(name: str, given: object) -> FillRule:
    if isinstance(given, str) and (given in STATISTICS or given.startswith(_GIVEN)):
        return given
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if is_number and math.isfinite(cast(float, given)) and abs(cast(float, given)) < _LARGEST:
        return float(cast(float, given))
    raise DataError(
        f"fill of column {quoted(name)} must be {', '.join(STATISTICS)}, a finite number, or = "
        f"with a category: got {quoted(given)}",
        who="data",
    )


def fill_number(values: npt.NDArray[np.float32], rule: FillRule) -> float | None:
    """What a rule makes of the good numbers of a column; None where there are none to learn from.

    Means and medians are taken in float64; of several most frequent values the smallest counts.
    """
    if isinstance(rule, float):
        return rule
    if not len(values):
        return None
    if rule == "mean":
        return float(values.mean(dtype=np.float64))
    if rule == "median":
        return float(np.median(values.astype(np.float64)))
    different, counts = np.unique(values, return_counts=True)
    return float(different[int(np.argmax(counts))])


def fill_category(codes: npt.NDArray[np.int32], names: Sequence[str], rule: FillRule) -> int:
    """The code that a rule makes of the good codes of a column; -1 where there is none.

    Of several most frequent categories the first in the list counts.
    """
    given = given_value(rule)
    if given is not None:
        return list(names).index(given) if given in names else -1
    if not len(codes):
        return -1
    return int(np.argmax(np.bincount(codes, minlength=len(names))))
