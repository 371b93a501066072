"""Cells of the table of runs in words."""

from __future__ import annotations

from datetime import datetime

from studio.session.runs.columns import Cell, Kind
from studio.widgets import numbers


def shown_text(kind: Kind, value: Cell) -> str:
    """A value as its column writes it; nothing for none."""
    if value is None or kind == "star":
        return ""
    if isinstance(value, str):
        return value
    if kind == "share":
        return numbers.share(float(value))
    if kind == "count":
        return numbers.count(int(value))
    if kind == "duration":
        return numbers.duration(float(value))
    if kind == "date":
        return datetime.fromtimestamp(float(value)).astimezone().strftime("%d %b %H:%M")
    return numbers.number(float(value))


def exact_text(kind: Kind, value: Cell) -> str:
    """A value with every digit, for copies."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if kind == "date" and not isinstance(value, str):
        return datetime.fromtimestamp(float(value)).astimezone().isoformat(timespec="seconds")
    return value if isinstance(value, str) else repr(value)
