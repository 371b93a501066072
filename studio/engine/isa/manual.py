"""The instruction manual, derived from the declarations: one entry per instruction, as Markdown."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import OptionKind
from studio.engine.formula.mathematics import mathematics
from studio.engine.isa.fields import Attr
from studio.engine.isa.instruction import (
    GradInstruction,
    Instruction,
    all_instructions,
    by_mnemonic,
)
from studio.engine.isa.line import value_text

_PREFACE = """# The instruction manual

Made from the declarations by `glassbox isa --markdown`; a test keeps it current.

A line is `MNEMONIC ids scalars {key=value …}`. Ids are hexadecimal places in the tensor map, `0x-`
is an absent operand and `0x9.grad` the gradient storage of `0x9`. Tail entries are printed only
where they differ from the default.

A gradient instruction has the opcode of its forward instruction plus 1000, the prefix `GRADS_`,
the same operands and scalars, and two more tail entries: `set=` names operands whose gradient is
overwritten instead of accumulated into, `skip=` those that are not computed.

Instructions, operands and tail entries of version 2 make a file (`.gbasm`, `.gbi`) one of
version 2. `docs/compiler.md` says what else does.
"""


@dataclass(frozen=True)
class FieldEntry:
    """One operand or attribute of an entry."""

    name: str
    kind: str
    doc: str
    default: str = ""
    bounds: str = ""


@dataclass(frozen=True)
class ManualEntry:
    """Everything a reader of listings wants to know about one instruction."""

    mnemonic: str
    code: int
    category: str
    form: str
    text: str
    operands: tuple[FieldEntry, ...]
    attributes: tuple[FieldEntry, ...]
    gradient: str
    since: int = 1
    formula: tuple[str, ...] = ()
    """What it computes for each element, and what it adds to each operand's gradient."""


def entry(mnemonic: str) -> ManualEntry:
    """The entry of a mnemonic (any case); ParameterError with near names when there is none."""
    cls = by_mnemonic(mnemonic.upper())
    if cls is None:
        raise ParameterError(
            f"there is no instruction {quoted(mnemonic)}",
            who="isa",
            hint=did_you_mean(
                mnemonic, (c.mnemonic for c in all_instructions()), "`glassbox isa` lists all"
            ),
        )
    return entry_of(cls)


def entry_of(cls: type[Instruction]) -> ManualEntry:
    """The entry of an instruction class."""
    if issubclass(cls, GradInstruction):
        gradient = f"is the gradient of {cls.forward.mnemonic}"
    elif cls.grad_class is not None:
        gradient = cls.grad_class.mnemonic
    else:
        gradient = "none"
    return ManualEntry(
        cls.mnemonic,
        cls.code,
        cls.category,
        _form(cls),
        inspect.cleandoc(cls.__doc__ or ""),
        tuple(
            FieldEntry(
                f.name,
                f.access.value
                + (", optional" if f.optional else "")
                + (", kept for the gradient" if f.kept else "")
                + (", list" * f.variadic)
                + (f", version {f.since}" if f in cls.newer_operands else ""),
                f.doc,
            )
            for f in cls.operand_fields
        ),
        tuple(
            FieldEntry(
                a.name,
                _kind(a) + (f", version {a.since}" if a in cls.newer_attrs else ""),
                a.doc,
                value_text(a, a.default),
                _bounds(a),
            )
            for a in cls.attr_fields
        ),
        gradient,
        cls.since,
        formula_lines(cls),
    )


def formula_lines(cls: type[Instruction]) -> tuple[str, ...]:
    """The formula and the slopes of an element-wise instruction, as a reader writes them.

    Those of a gradient instruction are the slopes; empty where a class states none.
    """
    forward = cls.forward if issubclass(cls, GradInstruction) else cls
    meaning = forward.meaning
    if meaning is None or meaning.value is None:
        return ()
    lines = [] if forward is not cls else mathematics(meaning.value, meaning.target)
    for name, slope in meaning.slopes.items():
        lines += mathematics(slope, f"d{name}")
    return tuple(lines)


def markdown(found: ManualEntry) -> str:
    """One entry as Markdown."""
    lines = [
        f"### {found.mnemonic}",
        "",
        f"`{found.form}`",
        "",
        f"Opcode {found.code}, {found.category}. Gradient: {found.gradient}."
        + (f" Version {found.since}." if found.since > 1 else ""),
        "",
        found.text,
        "",
    ]
    if found.formula:
        lines += [*(f"    {line}" for line in found.formula), ""]
    lines += [f"- `{field.name}` ({field.kind}): {field.doc}" for field in found.operands]
    for field in found.attributes:
        facts = ", ".join(t for t in (field.kind, field.bounds, f"default {field.default}") if t)
        lines.append(f"- `{field.name}` ({facts}): {field.doc}")
    return "\n".join([*lines, ""])


def manual() -> str:
    """The whole manual as Markdown: forward instructions by category, then their gradients."""
    forward = [c for c in all_instructions() if not issubclass(c, GradInstruction)]
    parts = [_PREFACE]
    for category in dict.fromkeys(c.category for c in forward):
        parts.append(f"## {category.capitalize()}\n")
        parts += [markdown(entry_of(c)) for c in forward if c.category == category]
    return "\n".join(parts)


def _form(cls: type[Instruction]) -> str:
    words = [cls.mnemonic]
    words += [f.name + ("…" if f.variadic else "") for f in cls.operand_fields if not f.tail]
    words += [a.name for a in cls.attr_fields if not a.tail]
    tail = [f.name for f in cls.operand_fields if f.tail]
    tail += [a.name for a in cls.attr_fields if a.tail]
    if tail:
        words.append("{" + " ".join(f"{name}=" for name in tail) + "}")
    return " ".join(words)


def _kind(attr: Attr[Any]) -> str:
    if attr.kind is OptionKind.CHOICE:
        return " | ".join(attr.choices)
    return {
        OptionKind.INTEGER: "whole number",
        OptionKind.NUMBER: "number",
        OptionKind.FLAG: "0 or 1",
        OptionKind.INTEGERS: "whole numbers",
        OptionKind.NAMES: "operand names",
    }[attr.kind]


def _bounds(attr: Attr[Any]) -> str:
    if attr.kind not in (OptionKind.INTEGER, OptionKind.NUMBER):
        return ""
    whole = attr.kind is OptionKind.INTEGER
    low = "" if math.isinf(attr.low) or (whole and attr.low <= -(2**31)) else f"from {attr.low:g}"
    high = "" if math.isinf(attr.high) or (whole and attr.high >= 2**31) else f"to {attr.high:g}"
    return " ".join(t for t in (low, high) if t)
