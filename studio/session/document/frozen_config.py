"""Plain data that never changes and knows its own text, so that equal settings are found fast."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from studio.engine.core.options import Plain


class FrozenConfig(Mapping[str, Plain]):
    """Options of a layer, or settings of a section: a mapping with a hash.

    It owns the lists inside; do not change them.
    """

    __slots__ = ("_hash", "_text", "_values")

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values: dict[str, Plain] = {k: _own(v) for k, v in (values or {}).items()}
        self._text = json.dumps(self._values, sort_keys=True, ensure_ascii=False)
        self._hash = hash(self._text)

    @property
    def text(self) -> str:
        """The mapping as JSON with sorted keys."""
        return self._text

    def plain(self) -> dict[str, Plain]:
        """A copy that may be changed."""
        return {k: _own(v) for k, v in self._values.items()}

    def replaced(self, **changes: Plain) -> FrozenConfig:
        """A copy with some values changed."""
        return FrozenConfig({**self._values, **changes})

    def without(self, *keys: str) -> FrozenConfig:
        """A copy without some keys."""
        return FrozenConfig({k: v for k, v in self._values.items() if k not in keys})

    def __getitem__(self, key: str) -> Plain:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenConfig):
            return self._text == other._text
        return isinstance(other, Mapping) and self._values == dict(other)

    def __repr__(self) -> str:
        return f"FrozenConfig({self._values!r})"


EMPTY = FrozenConfig()


def _own(value: object) -> Plain:
    if isinstance(value, list | tuple):
        return [_own(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): _own(v) for k, v in value.items()}
    return cast("Plain", value)
