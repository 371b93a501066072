"""Types of expressions: float, integer or bool, without implicit conversions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from studio.engine.core.errors import ParameterError, quoted
from studio.engine.formula.functions import FUNCTIONS, HAS
from studio.engine.formula.tree import (
    Arithmetic,
    Assign,
    Call,
    Comparison,
    Expression,
    Formula,
    Logic,
    Name,
    Negative,
    Not,
    Number,
    Select,
    Text,
    When,
)


class Kind(Enum):
    """The kinds of values; the last two are not known further before an operand's dtype is."""

    FLOAT = "a float"
    INT = "a whole number"
    BOOL = "a truth value"
    TEXT = "a word"
    NUMBER = "a number"
    ANY = "anything"


Kinds = Mapping[str, Kind]
"""Kinds of operands and attributes by name."""


def kind_of(formula: Formula, kinds: Kinds, who: str = "formula") -> Kind:
    """The kind of a formula's value.

    Args:
        formula: as parsed, or with its attributes put in.
        kinds: of every name it reads.
        who: what an error names.

    Raises:
        ParameterError: a name is unknown, or kinds do not fit.
    """
    known = dict(kinds)
    for line in formula.lines:
        known[line.name] = kind_of_expression(line.value, known, who)
    return kind_of_expression(formula.value, known, who)


def check_statements(
    statements: tuple[Assign | When, ...], kinds: Kinds, who: str = "rule"
) -> dict[str, Kind]:
    """The kinds after the statements of a rule; what only one branch assigns is left out.

    Raises:
        ParameterError: as `kind_of`.
    """
    known = dict(kinds)
    for step in statements:
        if isinstance(step, Assign):
            found = kind_of_expression(step.value, known, who)
            known[step.name] = _meet(known[step.name], found, who) if (
                step.name in kinds
            ) else found  # fmt: skip
            continue
        _truth(step.condition, known, who)
        one = check_statements(step.then, known, who)
        other = check_statements(step.otherwise, known, who)
        known |= {n: _meet(one[n], other[n], who) for n in one.keys() & other}
    return known


def kind_of_expression(node: Expression, kinds: Kinds, who: str) -> Kind:
    """The kind of an expression; see `kind_of`."""
    match node:
        case Number(value):
            return (
                Kind.BOOL if isinstance(value, bool)
                else Kind.NUMBER if isinstance(value, int) else Kind.FLOAT
            )  # fmt: skip
        case Text():
            return Kind.TEXT
        case Name(name):
            if name not in kinds:
                known = ", ".join(sorted(kinds))
                raise ParameterError(
                    f"no such name: {quoted(name)}", who=who, hint=f"there are {known}"
                )
            return kinds[name]
        case Negative(a):
            return _number(a, kinds, who)
        case Arithmetic("/", a, b):
            return _float(a, b, kinds=kinds, who=who)
        case Arithmetic(_, a, b):
            return _meet(_number(a, kinds, who), _number(b, kinds, who), who)
        case Comparison(sign, a, b):
            found = [kind_of_expression(each, kinds, who) for each in (a, b)]
            if sign not in ("==", "!="):
                found = [_number(each, kinds, who) for each in (a, b)]
            _meet(found[0], found[1], who)
            return Kind.BOOL
        case Logic(_, a, b):
            _truth(a, kinds, who)
            return _truth(b, kinds, who)
        case Not(a):
            return _truth(a, kinds, who)
        case Select(condition, a, b):
            _truth(condition, kinds, who)
            one, other = (kind_of_expression(each, kinds, who) for each in (a, b))
            return _meet(one, other, who)
        case Call(name, arguments):
            return _call(name, arguments, kinds, who)


def _call(name: str, arguments: tuple[Expression, ...], kinds: Kinds, who: str) -> Kind:
    if name == HAS:
        return Kind.BOOL
    if name in ("float", "int"):
        if kind_of_expression(arguments[0], kinds, who) is Kind.TEXT:
            raise ParameterError(f"{name} takes no word", who=who)
        return Kind.FLOAT if name == "float" else Kind.INT
    if FUNCTIONS[name].whole:
        found = _number(arguments[0], kinds, who)
        for argument in arguments[1:]:
            found = _meet(found, _number(argument, kinds, who), who)
        if FUNCTIONS[name].bits and found is Kind.FLOAT:
            raise ParameterError("expected a whole number, got a float", who=who)
        return Kind.INT if FUNCTIONS[name].bits else found
    _float(*arguments, kinds=kinds, who=who)
    return Kind.BOOL if name in ("isnan", "isfinite") else Kind.FLOAT


def _number(node: Expression, kinds: Kinds, who: str) -> Kind:
    found = kind_of_expression(node, kinds, who)
    if found in (Kind.BOOL, Kind.TEXT):
        raise ParameterError(f"expected a number, got {found.value}", who=who)
    return Kind.NUMBER if found is Kind.ANY else found


def _float(*nodes: Expression, kinds: Kinds, who: str) -> Kind:
    for node in nodes:
        if _number(node, kinds, who) is Kind.INT:
            raise ParameterError(
                "expected a float, got a whole number", who=who, hint="write float(…)"
            )
    return Kind.FLOAT


def _truth(node: Expression, kinds: Kinds, who: str) -> Kind:
    found = kind_of_expression(node, kinds, who)
    if found not in (Kind.BOOL, Kind.ANY):
        raise ParameterError(f"expected a truth value, got {found.value}", who=who)
    return Kind.BOOL


def _meet(a: Kind, b: Kind, who: str) -> Kind:
    """The kind of two values that must be alike."""
    if a is b:
        return a
    if Kind.TEXT not in (a, b) and Kind.ANY in (a, b):
        return b if a is Kind.ANY else a
    numbers = (Kind.FLOAT, Kind.INT)
    if a is Kind.NUMBER and b in numbers:
        return b
    if b is Kind.NUMBER and a in numbers:
        return a
    hint = "write float(…) round the whole number" if {a, b} == set(numbers) else ""
    raise ParameterError(f"{a.value} and {b.value} meet", who=who, hint=hint)
