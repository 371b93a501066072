"""Typed look-ups in the options of a data reference, each refusing a wrong value by its name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.csv.table import Column
from studio.engine.train.data.labels import Task, parse_task
from studio.engine.train.data.source_files import resolve_source

Reference: TypeAlias = Mapping[str, object]
"""A data reference as the project file holds it: JSON values under ``source`` and option names."""


class ReferenceOptions:
    """Typed look-ups in a reference; each raises DataError naming the option."""

    def __init__(self, spec: Reference, source: str, base: Path) -> None:
        self._spec = spec
        self._source = source
        self._base = base

    def refuse(self, key: str, expected: str) -> DataError:
        """The error for an option that is missing or of the wrong kind."""
        got = quoted(self._spec[key]) if key in self._spec else "nothing"
        return DataError(
            f"option {key} of source {self._source} must be {expected}: got {got}", who="data"
        )

    def has(self, key: str) -> bool:
        """Whether the option is given and not null."""
        return self._spec.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """A text option."""
        value = self._spec.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.refuse(key, "a text")
        return value

    def choice(self, key: str, names: Sequence[str]) -> str:
        """One of some names; the first where it is not given."""
        value = self.text(key, names[0])
        if value not in names:
            raise self.refuse(key, f"one of {', '.join(names)}")
        return value

    def path(self, key: str) -> Path:
        """A path that must be given."""
        if not self.has(key):
            raise self.refuse(key, "a path")
        return resolve_source(self._base, self.text(key))

    def whole(self, key: str, default: int) -> int:
        """A whole number option."""
        value = self._spec.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.refuse(key, "a whole number")
        return value

    def number(self, key: str, default: float) -> float:
        """A number option."""
        value = self._spec.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e30:
            raise self.refuse(key, "a number")
        return float(value)

    def flag(self, key: str) -> bool | None:
        """A yes-or-no option, None where it is not given."""
        value = self._spec.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def items(self, key: str) -> list[object]:
        """A list option, empty where it is not given."""
        value = self._spec.get(key)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise self.refuse(key, "a list")
        return list(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self.items(key)
        if not all(isinstance(item, str) for item in found):
            raise self.refuse(key, "a list of texts")
        return tuple(cast("list[str]", found))

    def sizes(self, key: str) -> tuple[int, ...]:
        """A list of positive whole numbers."""
        found = self.items(key)
        whole = [item for item in found if isinstance(item, int) and not isinstance(item, bool)]
        if len(whole) != len(found) or any(not 1 <= item <= 1 << 24 for item in whole):
            raise self.refuse(key, "a list of whole numbers from 1 up")
        return tuple(whole)

    def columns_or_one(self, key: str) -> Column | tuple[Column, ...] | None:
        """One column, a list of them, or None where it is not given."""
        value = self._spec.get(key)
        if value is None:
            return None
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
        return self.columns(key)

    def columns(self, key: str) -> tuple[Column, ...]:
        """A list of column names or positions."""
        found = self.items(key)
        if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in found):
            raise self.refuse(key, "a list of column names or positions")
        return tuple(cast("list[Column]", found))

    def span(self, key: str) -> tuple[float, float] | None:
        """A lowest and a highest number, or None where it is not given."""
        found = [
            float(item)
            for item in self.items(key)
            if isinstance(item, int | float) and not isinstance(item, bool) and abs(item) < 1e30
        ]
        if len(found) != len(self.items(key)) or (found and len(found) != 2):
            raise self.refuse(key, "two numbers, lowest and highest")
        if found and not found[0] < found[1]:
            raise self.refuse(key, "two numbers, the lowest first")
        return (found[0], found[1]) if found else None

    def task(self) -> Task:
        """The task option."""
        return parse_task(self.text("task", "auto"))
