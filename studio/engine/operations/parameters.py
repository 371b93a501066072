"""Operands and options of an operation, read from the signature of the function that writes it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.core.options import MAX_INTEGER, REQUIRED, AnyOption, Option, OptionKind, Plain
from studio.engine.core.tensor import ABSENT
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.operations.lines import Axes, Ints, Pairs

_KINDS: Mapping[object, OptionKind] = {
    bool: OptionKind.FLAG,
    int: OptionKind.INTEGER,
    float: OptionKind.NUMBER,
    Ints: OptionKind.INTEGERS,
    tuple[float, ...]: OptionKind.NUMBERS,
    tuple[int, int]: OptionKind.PAIR,
}
_SHARED = {
    "axis": "The dimension, counted with the batch; negative ones count from the end.",
    "axes": "The dimensions, counted with the batch; negative ones count from the end.",
    "keepdims": "Keep reduced dimensions with length 1.",
    "shape": "The shape of the result; -1 is what remains.",
    "dtype": "Element type of the result.",
    "alpha": "Factor of the negative side.",
    "strides": "Steps between windows.",
    "padding": "Whether windows stay inside (valid) or the result keeps its size (same).",
    "epsilon": "Added so that nothing is divided by 0.",
    "reduction": "How the losses of samples are combined: mean, sum, or none to keep them apart.",
}
_STARTS: Mapping[str, Plain] = {"equation": "nf->nf"}
"""What an option begins with where it must be given and no least value will do."""

_ENTRY = re.compile(r"^    (?:    )?(\w+): (.+(?:\n(?:    )?        +\S.*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Operand:
    """One operand of an operation.

    Attributes:
        name: of the parameter.
        doc: one sentence, or empty.
        many: whether any number of operands follow.
        optional: whether it may be left out.
    """

    name: str
    doc: str = ""
    many: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Parameters:
    """What a call gives."""

    operands: tuple[Operand, ...]
    options: tuple[AnyOption, ...]


def shown_default(option: AnyOption) -> Any:
    """The default of an option as a person would write it: 0.2 for the float32 next to it."""
    value = option.default
    return float(str(np.float32(value))) if isinstance(value, float) else value


def read_function(function: Callable[..., Any]) -> Parameters:
    """Operands are the positional parameters behind the lines, options the keyword-only ones.

    Raises:
        TypeError: an annotation is of none of the types that options may have.
    """
    hints = get_type_hints(function)
    told = _told(inspect.getdoc(function) or "")
    operands, options = [], []
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        doc = told.get(name, _SHARED.get(name, ""))
        if parameter.kind is parameter.KEYWORD_ONLY:
            default = REQUIRED if parameter.default is parameter.empty else parameter.default
            options.append(_option(function.__name__, name, hints[name], default, doc))
        else:
            many = parameter.kind is parameter.VAR_POSITIONAL
            operands.append(Operand(name, doc, many, parameter.default == ABSENT))
    return Parameters(tuple(operands), tuple(options))


def read_instruction(
    cls: type[Instruction], order: tuple[str, ...], defaults: Mapping[str, object]
) -> Parameters:
    """Operands and options of an operation that is one instruction.

    Args:
        cls: the instruction.
        order: its operands in the order of a call; all it reads, as they are printed, where empty.
        defaults: options that begin with another value than its attributes do.
    """
    read = {f.name: f for f in cls.operand_fields if f.access is Access.READ and not f.tail}
    operands = tuple(
        Operand(f.name, f.doc, f.variadic, f.optional)
        for f in (read[name] for name in order or tuple(read))
    )
    options = tuple(
        Option[Any](
            attr.kind, attr.doc, defaults.get(attr.name, attr.default), attr.low, attr.high,
            choices=attr.choices,
        ).named(attr.name)
        for attr in cls.attr_fields
    )  # fmt: skip
    return Parameters(operands, options)


def _told(doc: str) -> dict[str, str]:
    """What the section of arguments says of each."""
    _, found, section = doc.partition("Args:\n")
    if not found:
        return {}
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(section)}


def _option(who: str, name: str, hint: Any, default: Any, doc: str) -> AnyOption:
    if not doc:
        words = name.replace("_", " ")
        doc = f"{words[:1].upper()}{words[1:]}."
    optional = type(None) in get_args(hint) and hint != Axes
    kind = next((t for t in get_args(hint) if t is not type(None)), hint) if optional else hint
    made: AnyOption
    if get_origin(kind) is Literal:
        made = Option(OptionKind.CHOICE, doc, default, choices=get_args(kind))
    elif kind in _KINDS:
        made = Option(_KINDS[kind], doc, default)
        if made.kind in (OptionKind.INTEGER, OptionKind.INTEGERS, OptionKind.PAIR):
            made.low, made.high = -MAX_INTEGER, MAX_INTEGER
    elif kind in _READERS:
        read, write = _READERS[kind]
        made = Option(OptionKind.SPEC, doc, default, read=read, write=write, editor="text")
    else:
        raise TypeError(f"{who}.{name}: {hint} is no type of an option")
    made.optional = optional
    made.start = _STARTS.get(name)
    return made.named(name)


def read_axes(value: object, who: str) -> int | tuple[int, ...] | None:
    """A dimension, several, or None; also as text of a form. ParameterError for anything else."""
    if isinstance(value, str):
        value = _parsed(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, list | tuple) and all(type(v) is int for v in value):
        return tuple(value)
    raise ParameterError(
        f"expected a dimension, a list of dimensions or nothing, got {quoted(value)}", who=who
    )


def read_pairs(value: object, who: str) -> tuple[tuple[int, int], ...]:
    """Two whole numbers for each dimension; also as text of a form. ParameterError otherwise."""
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, list | tuple):
        pairs = tuple(tuple(p) if isinstance(p, list | tuple) else p for p in value)
        if all(isinstance(p, tuple) and [type(v) for v in p] == [int, int] for p in pairs):
            return pairs
    raise ParameterError(
        f"expected two whole numbers for each dimension, such as [[0, 0], [1, 1]], got "
        f"{quoted(value)}",
        who=who,
    )


def _parsed(text: str) -> object:
    """Text of a form as numbers, ``1, 2`` or ``[[1, 2]]``; the text itself where it is none."""
    stripped = text.strip()
    if stripped in ("", "None", "none", "null"):
        return None
    try:
        return json.loads(stripped)
    except ValueError:
        pass
    try:
        return json.loads(f"[{stripped}]")
    except ValueError:
        return text


def read_text(value: object, who: str) -> str:
    """Text that is not too long; ParameterError otherwise."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ParameterError(
            f"expected text of at most {_LONGEST} characters, got {quoted(value)}", who=who
        )
    return value


def _plain(value: Any) -> Plain:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


_READERS: Mapping[object, tuple[Callable[[object, str], Any], Callable[[Any], Plain]]] = {
    Axes: (read_axes, _plain),
    Pairs: (read_pairs, _plain),
    str: (read_text, _plain),
}
_LONGEST = 200
