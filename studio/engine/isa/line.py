"""The text of one instruction: ``MNEMONIC ids scalars {tail}``, printed and parsed."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.fields import Attr, AttrKind, Operand
from studio.engine.isa.instruction import Instruction, by_mnemonic

_REF = re.compile(r"0x(-|[0-9a-f]{1,8})(\.grad)?\Z")
_LINE = re.compile(r"([A-Z][A-Z0-9_]*)((?: +[^\s{}]+)*) *(?:\{([^{}]*)\})?\Z")


def number_text(value: float) -> str:
    """The shortest text that reads back as the same float32; whole numbers without ``.0``."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = str(np.float32(value))
    return text[:-2] if text.endswith(".0") else text


def parse_ref(word: str) -> Ref:
    """The operand a word stands for; FormatError when it is none."""
    match = _REF.match(word)
    if match is None:
        raise FormatError(f"an operand is expected, such as 0xa or 0xa.grad: got {word[:40]!r}")
    if match[1] == "-":
        if match[2]:
            raise FormatError("an absent operand has no gradient")
        return ABSENT
    return Ref(int(match[1], 16), bool(match[2]))


def value_text(attr: Attr[Any], value: Any) -> str:
    """An attribute value as it stands in a line."""
    if attr.kind is AttrKind.FLOAT:
        return number_text(value)
    if attr.kind is AttrKind.FLAG:
        return "1" if value else "0"
    if attr.kind in (AttrKind.INTS, AttrKind.NAMES):
        return ",".join(str(v) for v in value) if value else "-"
    return str(value)


def parse_value(attr: Attr[Any], word: str, who: str) -> Any:
    """The value a word stands for, checked against the declaration."""
    try:
        return attr.check(_READERS[attr.kind](word), who)
    except ValueError:
        raise FormatError(f"{attr.name} cannot be {word[:40]!r}", who=who) from None


_READERS: dict[AttrKind, Any] = {
    AttrKind.INT: int,
    AttrKind.FLOAT: float,
    AttrKind.FLAG: int,
    AttrKind.CHOICE: str,
    AttrKind.INTS: lambda word: () if word == "-" else tuple(int(v) for v in word.split(",")),
    AttrKind.NAMES: lambda word: () if word == "-" else tuple(word.split(",")),
}


def format_line(ins: Instruction) -> str:
    """One instruction as text; tail entries appear only where they differ from the default."""
    words = [ins.mnemonic]
    tail = []
    for spec in ins.operand_fields:
        if not spec.tail:
            words += [str(r) for r in ins.refs(spec.name)]
        elif ins.ref(spec.name).present:
            tail.append(f"{spec.name}={ins.ref(spec.name)}")
    for attr in ins.attr_fields:
        value = ins.value(attr.name)
        if not attr.tail:
            words.append(value_text(attr, value))
        elif not attr.is_default(value):
            tail.append(f"{attr.name}={value_text(attr, value)}")
    if tail:
        words.append("{" + " ".join(tail) + "}")
    return " ".join(words)


def parse_line(text: str, owners: tuple[str, ...] = ()) -> Instruction:
    """The instruction a line stands for; FormatError or ParameterError when it is none."""
    match = _LINE.match(text.strip())
    if match is None:
        raise FormatError(f"not an instruction: {text[:60]!r}")
    cls = by_mnemonic(match[1])
    if cls is None:
        raise FormatError(f"unknown instruction {match[1][:40]!r}")
    words = match[2].split()
    fields: dict[str, Any] = {"owners": owners}
    words = _take_operands(cls, words, fields)
    scalars = [a for a in cls.attr_fields if not a.tail]
    if len(words) != len(scalars):
        raise FormatError(
            f"{len(scalars)} scalars are expected behind the operands, got {len(words)}",
            who=cls.mnemonic,
        )
    for attr, word in zip(scalars, words, strict=True):
        fields[attr.name] = parse_value(attr, word, cls.mnemonic)
    _take_tail(cls, match[3] or "", fields)
    return cls(**fields)


def _take_operands(cls: type[Instruction], words: list[str], fields: dict[str, Any]) -> list[str]:
    specs = [f for f in cls.operand_fields if not f.tail]
    count = next((i for i, w in enumerate(words) if not w.startswith("0x")), len(words))
    spare = count - len(specs)
    if spare < 0 or (spare > 0 and not any(f.variadic for f in specs)):
        raise FormatError(f"{len(specs)} operands are expected, got {count}", who=cls.mnemonic)
    position = 0
    for spec in specs:
        take = spare + 1 if spec.variadic else 1
        refs = tuple(parse_ref(w) for w in words[position : position + take])
        _check_presence(spec, refs, cls.mnemonic)
        fields[spec.name] = refs if spec.variadic else refs[0]
        position += take
    return words[position:]


def _check_presence(spec: Operand, refs: tuple[Ref, ...], who: str) -> None:
    if not spec.optional and not all(r.present for r in refs):
        raise FormatError(f"operand {spec.name!r} may not be absent", who=who)


def _take_tail(cls: type[Instruction], tail: str, fields: dict[str, Any]) -> None:
    operands = {f.name: f for f in cls.operand_fields if f.tail}
    attrs = {a.name: a for a in cls.attr_fields if a.tail}
    for entry in tail.split():
        key, _, word = entry.partition("=")
        if key in fields:
            raise FormatError(f"{key!r} is given twice", who=cls.mnemonic)
        if key in operands:
            fields[key] = parse_ref(word)
        elif key in attrs:
            fields[key] = parse_value(attrs[key], word, cls.mnemonic)
        else:
            raise FormatError(f"unknown tail entry {key[:40]!r}", who=cls.mnemonic)
