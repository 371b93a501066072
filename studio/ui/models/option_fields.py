"""Declared options as a form shows them: editor, help, value and default of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studio.engine.core.options import MAX_INTEGER, Editor, Option, Plain, Steps
from studio.instruction_view.model.quantities import THIN, TIMES


@dataclass(frozen=True)
class Variant:
    """One kind a value may be of, with the options of that kind.

    Attributes:
        key: its name in plain data; empty for none.
        label: its name for people.
        doc: one sentence.
        fields: its own options.
    """

    key: str
    label: str
    doc: str = ""
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Variants:
    """A value that is of one of several kinds, each with options.

    Attributes:
        kinds: in the order they are offered.
        split: plain data to the kind's key and values of its options (missing ones are default).
        join: the other way round.
    """

    kinds: tuple[Variant, ...]
    split: Callable[[Plain], tuple[str, dict[str, Plain]]]
    join: Callable[[str, Mapping[str, Plain]], Plain]

    def kind(self, key: str) -> Variant:
        """The kind of that key; the first for one that is not offered."""
        return next((kind for kind in self.kinds if kind.key == key), self.kinds[0])

    def with_kind(self, value: Plain, key: str) -> Plain:
        """The value turned into another kind, with the options both have."""
        _, values = self.split(value)
        fields = self.kind(key).fields
        kept = {f.name: values[f.name] for f in fields if f.name in values}
        missing = {f.name: f.start for f in fields if f.required and f.name not in kept}
        return self.join(key, {**kept, **missing})

    def with_value(self, value: Plain, name: str, changed: Plain) -> Plain:
        """The value with one option of its kind changed; ``None`` for one that is not optional
        takes the default again."""
        key, values = self.split(value)
        field = next(f for f in self.kind(key).fields if f.name == name)
        if changed is None and not field.optional:
            values.pop(name, None)
            if field.required:
                values[name] = field.start
        else:
            values[name] = changed
        return self.join(key, values)


@dataclass(frozen=True)
class Field:
    """One option, apart from any value.

    Attributes:
        name: as in plain data.
        label: as shown.
        editor: what it is edited with.
        doc: one sentence.
        default: its default as plain data; None also where one has to be given.
        required: whether it has no default.
        optional: whether none is allowed.
        low: smallest number.
        high: largest number.
        choices: words allowed.
        start: a value to begin with where one has to be given.
        variants: kinds, for the editors ``variants`` and ``list``.
        effect: what changing it does, one sentence.
        steps: how a form changes the number.
        check: the value in stored form; raises StudioError for one that is not allowed.
    """

    name: str
    label: str
    editor: Editor
    doc: str
    default: Plain = None
    required: bool = False
    optional: bool = False
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    start: Plain = None
    variants: Variants | None = None
    effect: str = ""
    steps: Steps = "linear"
    check: Callable[[object], object] = lambda value: value

    def is_default(self, value: Plain) -> bool:
        """Whether a value is the default; never where one has to be given."""
        return not self.required and value == self.default

    def tip(self) -> str:
        """Help in a few sentences: meaning, effect, range, default."""
        parts = [self.doc, self.effect, self.range_text(), self.default_text()]
        return " ".join(part for part in parts if part)

    def range_text(self) -> str:
        """Which values are allowed, as a sentence; empty where any is."""
        whole = self.editor in ("integer", "pair", "integers")
        noun = "Whole numbers" if whole else "Numbers"
        low = -math.inf if self.low <= -MAX_INTEGER else self.low
        high = math.inf if self.high >= MAX_INTEGER else self.high
        if self.editor not in ("integer", "number", "pair", "integers", "numbers"):
            return ""
        if math.isinf(low) and math.isinf(high):
            return ""
        if low == high:
            return f"Only {_digits(low)} is possible."
        if math.isinf(high):
            return f"{noun} from {_digits(low)} up."
        return f"{noun} from {_digits(low)} to {_digits(high)}."

    def default_text(self) -> str:
        """What holds where nothing is chosen, as a sentence."""
        if self.required:
            return ""
        if self.default is None:
            return "Not set by default."
        return f"Default: {plain_text(self.default, self)}."


def _digits(bound: float) -> str:
    return f"{int(bound):,}".replace(",", THIN) if bound == int(bound) else f"{bound:g}"


def plain_text(value: Plain, field: Field | None = None) -> str:
    """A value in a few words, as help and lists show it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        between = (
            f" {TIMES} " if field is not None and field.editor in ("pair", "integers") else ", "
        )
        return between.join(plain_text(each) for each in value) or "none"
    if isinstance(value, dict):
        kind, config = value.get("type"), value.get("config")
        if kind is None:
            return ", ".join(f"{k} {plain_text(v)}" for k, v in value.items()) or "as it is"
        return str(kind) if not config else f"{kind} ({plain_text(config)})"
    return str(value)


def field_of(option: Option[Any], who: str) -> Field:
    """An option of the engine as a field, without kinds of its own; a closed list is a choice."""
    default = None if option.required else option.plain(option.default)
    return Field(
        option.name, option.label, option.form_editor, option.doc, default, option.required,
        option.optional, option.low, option.high, option.choices, option.start,
        effect=option.effect, steps=option.steps, check=lambda value: option.check(value, who),
    )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A field with the value it has in what is edited.

    Attributes:
        field: the option.
        value: its value as plain data; of the first where several are edited.
        is_default: whether it is the default everywhere.
        is_mixed: whether several are edited and differ in it.
    """

    field: Field
    value: Plain
    is_default: bool
    is_mixed: bool = False


def row_of(field: Field, value: Plain) -> Row:
    """A field and its value."""
    return Row(field, value, field.is_default(value))


def joined_rows(forms: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    """The rows several forms have in common; those that differ are marked."""
    if not forms:
        return ()
    first, *others = forms
    found = []
    for row in first:
        twins = [next((r for r in form if _alike(r.field, row.field)), None) for form in others]
        known = [twin for twin in twins if twin is not None]
        if len(known) < len(twins):
            continue
        differs = any(twin.value != row.value for twin in known)
        default = row.is_default and all(twin.is_default for twin in known)
        found.append(Row(row.field, row.value, default, differs))
    return tuple(found)


def _alike(one: Field, other: Field) -> bool:
    """Whether two fields mean the same, although their help may differ."""
    return one is other or (
        (one.name, one.editor, one.low, one.high, one.choices, one.optional)
        == (other.name, other.editor, other.low, other.high, other.choices, other.optional)
    )
