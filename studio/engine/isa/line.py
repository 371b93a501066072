"""The text of one instruction: ``MNEMONIC ids scalars {tail}``, printed and parsed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from studio.engine.core.errors import FormatError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import OptionKind
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.fields import Attr
from studio.engine.isa.instruction import Instruction, all_instructions, by_mnemonic

_SHORT = 200
_LONGEST_REF = len("0xffffffff.grad")
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
    return _known_ref(word) if len(word) <= _LONGEST_REF else _ref(word)


def _ref(word: str) -> Ref:
    match = _REF.match(word)
    if match is None:
        raise FormatError(f"an operand is expected, such as 0xa or 0xa.grad: got {quoted(word)}")
    if match[1] == "-":
        if match[2]:
            raise FormatError("an absent operand has no gradient")
        return ABSENT
    return Ref(int(match[1], 16), bool(match[2]))


_known_ref = lru_cache(maxsize=4096)(_ref)


def value_text(attr: Attr[Any], value: Any) -> str:
    """An attribute value as it stands in a line."""
    if attr.kind is OptionKind.NUMBER:
        return number_text(value)
    if attr.kind is OptionKind.FLAG:
        return "1" if value else "0"
    if attr.kind in (OptionKind.INTEGERS, OptionKind.NAMES):
        return ",".join(str(v) for v in value) if value else "-"
    return str(value)


def parse_value(attr: Attr[Any], word: str, who: str) -> Any:
    """The value a word stands for, checked against the declaration."""
    try:
        return attr.check(_READERS[attr.kind](word), who)
    except ValueError:
        raise FormatError(f"{attr.name} cannot be {quoted(word)}", who=who) from None


_READERS: dict[OptionKind, Any] = {
    OptionKind.INTEGER: int,
    OptionKind.NUMBER: float,
    OptionKind.FLAG: int,
    OptionKind.CHOICE: str,
    OptionKind.INTEGERS: lambda word: () if word == "-" else tuple(int(v) for v in word.split(",")),
    OptionKind.NAMES: lambda word: () if word == "-" else tuple(word.split(",")),
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
        raise FormatError(f"not an instruction: {quoted(text)}")
    cls = by_mnemonic(match[1])
    if cls is None:
        known = (each.mnemonic for each in all_instructions())
        raise FormatError(
            f"unknown instruction {quoted(match[1])}", hint=did_you_mean(match[1], known)
        )
    words = match[2].split()
    count = next((i for i, w in enumerate(words) if not w.startswith("0x")), len(words))
    tail = match[3] or ""
    # Lines of a program repeat few attributes: they are read once, and kept once.
    read = _rest_of_line if len(text) > _SHORT else _known_rest_of_line
    # The operands are looked at first, since a missing one shifts the scalars.
    given = _operands(cls, words[:count])
    rest = read(match[1], tuple(words[count:]), tail)
    operands = {f.name: rest.operands[f.name] if f.tail else given[f.name]
                for f in cls.operand_fields}  # fmt: skip
    return cls.settled(operands, rest.attrs, owners)


class _Rest(NamedTuple):
    """What stands behind the operands of a line: tail operands and all attributes, checked."""

    operands: Mapping[str, tuple[Ref, ...]]
    attrs: Mapping[str, Any]


def _operands(cls: type[Instruction], words: list[str]) -> dict[str, tuple[Ref, ...]]:
    specs = [f for f in cls.operand_fields if not f.tail]
    spare = len(words) - len(specs)
    if spare < 0 or (spare > 0 and not any(f.variadic for f in specs)):
        raise FormatError(f"{len(specs)} operands are expected, got {len(words)}", who=cls.mnemonic)
    found: dict[str, tuple[Ref, ...]] = {}
    position = 0
    for spec in specs:
        take = spare + 1 if spec.variadic else 1
        refs = tuple([parse_ref(w) for w in words[position : position + take]])
        if not spec.optional and ABSENT in refs:
            raise FormatError(f"operand {spec.name!r} may not be absent", who=cls.mnemonic)
        if not refs:
            raise FormatError(f"operand list {spec.name!r} is empty", who=cls.mnemonic)
        found[spec.name] = refs
        position += take
    return found


def _rest_of_line(mnemonic: str, words: tuple[str, ...], tail: str) -> _Rest:
    cls = by_mnemonic(mnemonic) or Instruction
    scalars = [a for a in cls.attr_fields if not a.tail]
    if len(words) != len(scalars):
        raise FormatError(
            f"{len(scalars)} scalars are expected after the operands, got {len(words)}",
            who=cls.mnemonic,
        )
    values = {
        attr.name: parse_value(attr, word, cls.mnemonic)
        for attr, word in zip(scalars, words, strict=True)
    }
    operands: dict[str, tuple[Ref, ...]] = {}
    sides = {f.name for f in cls.operand_fields if f.tail}
    attrs = {a.name: a for a in cls.attr_fields if a.tail}
    for entry in tail.split():
        key, _, word = entry.partition("=")
        if key in values or key in operands:
            raise FormatError(f"{quoted(key)} is given twice", who=cls.mnemonic)
        if key in sides:
            operands[key] = (parse_ref(word),)
        elif key in attrs:
            values[key] = parse_value(attrs[key], word, cls.mnemonic)
        else:
            raise FormatError(f"unknown tail entry {quoted(key)}", who=cls.mnemonic)
    return _Rest(
        {name: operands.get(name, (ABSENT,)) for name in sides},
        {
            a.name: values[a.name] if a.name in values else a.check(a.default, cls.mnemonic)
            for a in cls.attr_fields
        },
    )


_known_rest_of_line = lru_cache(maxsize=1024)(_rest_of_line)
