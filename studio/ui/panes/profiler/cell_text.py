"""Numbers of the kernel table in few characters; the exact ones are on hover and in copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from studio.session.profiling.columns import Column, Form
from studio.session.profiling.table import KernelRow
from studio.widgets import numbers


def shown_text(column: Column, row: KernelRow) -> str:
    """A cell of the table."""
    value = column.value(row)
    if value is None or value == "":
        return numbers.DASH
    if isinstance(value, str):
        return value
    return _WRITERS[column.form](float(value))


def _time(value: float) -> str:
    # One decimal everywhere, so that the points of a column stand below each other.
    return f"{value:,.1f}".replace(",", numbers.THIN)


def _share(value: float) -> str:
    return f"{value * 100:.1f}{numbers.THIN}%"


_WRITERS: Mapping[Form, Callable[[float], str]] = {
    "count": lambda value: numbers.count(round(value)),
    "time_us": _time,
    "time_ms": _time,
    "share": _share,
    "bytes": lambda value: numbers.memory(round(value)),
    "number": lambda value: numbers.quantity(value),
}
