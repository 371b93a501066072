"""Options with their current values, as rows of a form, and their help texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from studio.engine.core.options import MAX_INTEGER, Option, Plain
from studio.session.core.quantities import THIN, TIMES

_WHOLE = ("integer", "pair", "integers")
_SIZES = ("pair", "integers")
_NUMBERS = (*_WHOLE, "number", "numbers")


def tip(option: Option[Any]) -> str:
    """Help in a few sentences: meaning, effect, range, default."""
    parts = [option.doc, option.effect, range_text(option), default_text(option)]
    return " ".join(part for part in parts if part)


def range_text(option: Option[Any]) -> str:
    """Which values are allowed, as a sentence; empty where any is."""
    editor = option.form_editor
    if editor not in _NUMBERS:
        return ""
    noun = "Whole numbers" if editor in _WHOLE else "Numbers"
    low = -math.inf if option.low <= -MAX_INTEGER else option.low
    high = math.inf if option.high >= MAX_INTEGER else option.high
    if math.isinf(low) and math.isinf(high):
        return ""
    if low == high:
        return f"Only {_digits(low)} is possible."
    if math.isinf(high):
        return f"{noun} from {_digits(low)} up."
    return f"{noun} from {_digits(low)} to {_digits(high)}."


def default_text(option: Option[Any]) -> str:
    """The default, as a sentence."""
    if option.required:
        return ""
    if option.plain_default is None:
        return "Not set by default."
    return f"Default: {plain_text(option.plain_default, option)}."


def _digits(bound: float) -> str:
    return f"{int(bound):,}".replace(",", THIN) if bound == int(bound) else f"{bound:g}"


def plain_text(value: Plain, option: Option[Any] | None = None) -> str:
    """A value in a few words, as help and lists show it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        between = f" {TIMES} " if option is not None and option.form_editor in _SIZES else ", "
        return between.join("None" if e is None else plain_text(e) for e in value) or "none"
    if isinstance(value, dict):
        kind, config = value.get("type"), value.get("config")
        if kind is None:
            return ", ".join(f"{k} {plain_text(v)}" for k, v in value.items()) or "its defaults"
        return str(kind) if not config else f"{kind} ({plain_text(config)})"
    return str(value)


@dataclass(frozen=True)
class Row:
    """An option with its value in the object that is edited.

    Attributes:
        option: the option.
        value: its value as plain data; of the first where several are edited.
        is_default: whether it is the default everywhere.
        is_mixed: whether several are edited and differ in it.
    """

    option: Option[Any]
    value: Plain
    is_default: bool
    is_mixed: bool = False


def row_of(option: Option[Any], value: Plain) -> Row:
    """An option and its value as plain data."""
    return Row(option, value, option.is_default(value))


def joined_rows(forms: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    """The rows several forms have in common; those that differ are marked."""
    if not forms:
        return ()
    first, *others = forms
    found = []
    for row in first:
        matches = [next((r for r in form if _alike(r.option, row.option)), None) for form in others]
        known = [match for match in matches if match is not None]
        if len(known) < len(matches):
            continue
        differs = any(match.value != row.value for match in known)
        default = row.is_default and all(match.is_default for match in known)
        found.append(Row(row.option, row.value, default, differs))
    return tuple(found)


def _alike(one: Option[Any], other: Option[Any]) -> bool:
    """Whether two options mean the same, although their help may differ."""
    return one is other or _meaning(one) == _meaning(other)


def _meaning(option: Option[Any]) -> tuple[object, ...]:
    limits = (option.low, option.high, option.choices, option.optional)
    return option.name, option.form_editor, *limits
