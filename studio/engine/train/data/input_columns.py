"""Columns of a table as a network gets them: numbers, or categories by their stored list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Plain
from studio.engine.train.data.source_files import DataLimits

Encoding: TypeAlias = Literal["number", "one-hot", "index"]
Unknown: TypeAlias = Literal["refuse", "zeros"]

ENCODINGS: tuple[Encoding, ...] = ("one-hot", "index")
"""What a column of categories becomes, the default first."""
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)
"""What a category becomes that is not in the list, the default first."""

MAX_TEXT = 1000
"""Characters of a category."""

MAX_ONE_HOT = 1000
"""Categories of one column that each get an input of their own."""

_FIELDS = ("encoding", "values", "unknown")


@dataclass(frozen=True, slots=True)
class InputColumn:
    """One column of a table.

    Attributes:
        name: its name.
        encoding: whether it holds numbers, or what its categories become.
        categories: the list, in the order of the numbers that stand for them.
        unknown: what becomes of other categories: refused, or zeros.
    """

    name: str
    encoding: Encoding = "number"
    categories: tuple[str, ...] = ()
    unknown: Unknown = "refuse"

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each input that the column becomes."""
        if self.encoding != "one-hot":
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)

    def codes_of(self, texts: Sequence[str]) -> npt.NDArray[np.int32]:
        """The place of each text in the list; -1 for one that is not in it."""
        index = {text: code for code, text in enumerate(self.categories)}
        return np.fromiter((index.get(text, -1) for text in texts), np.int32, len(texts))

    def encoded(self, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        """Places in the list as float32 [rows, inputs]; -1 as zeros.

        An index counts from 0; where unknown categories are zeros, those of the list from 1.
        """
        if self.encoding == "index":
            return (codes + (self.unknown == "zeros")).astype(np.float32)[:, np.newaxis]
        made = np.zeros((len(codes), len(self.categories)), np.float32)
        known = np.flatnonzero(codes >= 0)
        made[known, codes[known]] = 1.0
        return made

    def to_json(self) -> dict[str, Plain]:
        """Plain data."""
        made: dict[str, Plain] = {"name": self.name}
        if self.encoding != "number":
            made |= {"encoding": self.encoding, "values": list(self.categories)}
        if self.unknown != "refuse":
            made["unknown"] = self.unknown
        return made


@dataclass(frozen=True, slots=True)
class CategoryOption:
    """How a column of categories is read.

    Attributes:
        encoding: what it becomes.
        values: the list; empty to take the categories that occur, sorted.
        unknown: what becomes of categories that are not in the list.
    """

    encoding: Encoding = "one-hot"
    values: tuple[str, ...] = ()
    unknown: Unknown = "refuse"

    def most(self, limits: DataLimits) -> int:
        """How many categories there may be."""
        return MAX_ONE_HOT if self.encoding == "one-hot" else limits.classes


def parse_categories(value: object) -> dict[str, CategoryOption]:
    """The option ``categories``: columns by name; DataError naming what is wrong.

    Each is ``one-hot``, ``index``, or an object with ``encoding``, ``values`` and ``unknown``.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise DataError(
            f"option categories must be an object of columns: got {quoted(value)}", who="data"
        )
    return {str(name): _option(str(name), given) for name, given in value.items()}


def _option(name: str, given: object) -> CategoryOption:
    who = f"data: categories of {quoted(name)}"
    fields = {"encoding": given} if isinstance(given, str) else given
    if not isinstance(fields, Mapping):
        raise DataError(
            f"expected {' or '.join(ENCODINGS)}, or an object: got {quoted(given)}", who=who
        )
    unknown = next((str(key) for key in fields if key not in _FIELDS), None)
    if unknown is not None:
        hint = did_you_mean(unknown, _FIELDS, f"known: {', '.join(_FIELDS)}")
        raise DataError(f"unknown field {quoted(unknown)}", who=who, hint=hint)
    chosen = {}
    for key, known in (("encoding", ENCODINGS), ("unknown", UNKNOWN)):
        chosen[key] = fields.get(key, known[0])
        if chosen[key] not in known:
            raise DataError(
                f"{key} must be one of {', '.join(known)}: got {quoted(chosen[key])}",
                who=who,
                hint=did_you_mean(chosen[key], known),
            )
    return CategoryOption(
        cast(Encoding, chosen["encoding"]),
        _values(fields.get("values", ()), who),
        cast(Unknown, chosen["unknown"]),
    )


def _values(given: object, who: str) -> tuple[str, ...]:
    listed = list(given) if isinstance(given, list | tuple) else [None]
    if not all(isinstance(each, str) for each in listed):
        raise DataError(f"values must be a list of texts: got {quoted(given)}", who=who)
    stripped = [str(each).strip() for each in listed]
    if any(len(text) > MAX_TEXT for text in stripped):
        raise DataError(f"a category has at most {MAX_TEXT:,} characters", who=who)
    seen: dict[str, int] = {}
    for place, text in enumerate(stripped):
        if text in seen:
            raise DataError(
                f"values {seen[text] + 1} and {place + 1} are the same category {quoted(text)}",
                who=who,
                hint="blanks around a category do not count",
            )
        seen[text] = place
    return tuple(stripped)


def columns_from_json(value: object) -> tuple[InputColumn, ...]:
    """What `InputColumn.to_json` wrote of each column; DataError for anything else."""
    if not isinstance(value, list | tuple):
        raise DataError(f"columns must be a list: got {quoted(value)}", who="columns")
    found = []
    for each in value:
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            raise DataError(f"a column must have a name: got {quoted(each)}", who="columns")
        name = each["name"]
        if "encoding" not in each:
            found.append(InputColumn(name))
            continue
        option = _option(name, {key: each[key] for key in each if key != "name"})
        found.append(InputColumn(name, option.encoding, option.values, option.unknown))
    return tuple(found)
