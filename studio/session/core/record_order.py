"""Records in the order of a value: stable, and those without one last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

R = TypeVar("R")


def in_order(
    records: Iterable[R], order: Callable[[R], Any], *, descending: bool = False
) -> tuple[R, ...]:
    """Records sorted by a value; those whose value is None come last either way.

    Records of the same value stay in the order given.
    """
    having, without = [], []
    for record in records:
        value = order(record)
        if value is None:
            without.append(record)
        else:
            having.append((value, record))
    having.sort(key=lambda pair: pair[0], reverse=descending)
    return (*(record for _, record in having), *without)


def sortable(value: str | float | int | None) -> tuple[int, float, str] | None:
    """What a cell's value is sorted by: numbers before texts, texts whatever their case."""
    if value is None:
        return None
    if isinstance(value, str):
        return (1, 0.0, value.casefold())
    return (0, float(value), "")
