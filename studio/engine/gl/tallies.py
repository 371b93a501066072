"""Losses of rows that are there when their sum is made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tallied:
    """What another entry has left for one.

    Attributes:
        key: number of its entry.
        parts: how many.
        rows: rows of a part.
    """

    key: int
    parts: int
    rows: int
