"""Substitutes attributes in formulas and folds constants."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

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
    Rule,
    Select,
    Statement,
    Text,
    substituted,
)

Values: TypeAlias = Mapping[str, "float | int | bool | str"]
"""Attributes by name."""

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def with_values(formula: Formula, values: Values, present: frozenset[str] = frozenset()) -> Formula:
    """The formula with attributes put in and constants computed; unused lines are left out.

    Args:
        formula: as parsed.
        values: attributes by name.
        present: optional operands that are there.
    """
    return _with_values(formula, tuple(expressions(values).items()), present)


@lru_cache(maxsize=1 << 12)
def _with_values(
    formula: Formula,
    values: tuple[tuple[str, Expression], ...],
    present: frozenset[str],
) -> Formula:
    known = dict(values)
    lines = [Assign(a.name, _put(a.value, known, present)) for a in formula.lines]
    value = _put(formula.value, known, present)
    # A line that is a number by now, or another name, is put in as well.
    while any(isinstance(line.value, Number | Name) for line in lines):
        place = next(i for i, line in enumerate(lines) if isinstance(line.value, Number | Name))
        line = lines.pop(place)
        lines[place:] = [
            Assign(a.name, _put(a.value, {line.name: line.value}, present)) for a in lines[place:]
        ]
        value = _put(value, {line.name: line.value}, present)
    return _without_unused(Formula(formula.text, tuple(lines), value))


def assignments(
    rule: Rule, values: Values, present: frozenset[str] = frozenset()
) -> tuple[Assign, ...]:
    """The assignments of a rule in a straight line: every ``if`` decided by the attributes.

    Args:
        rule: as parsed.
        values: attributes by name.
        present: optional operands that are there.
    """
    return tuple(_straight(rule.statements, expressions(values), present))


def _straight(
    statements: tuple[Statement, ...], known: Mapping[str, Expression], present: frozenset[str]
) -> Iterator[Assign]:
    for step in statements:
        if isinstance(step, Assign):
            yield Assign(step.name, _put(step.value, known, present))
            continue
        decided = _put(step.condition, known, present)
        if not isinstance(decided, Number):
            raise TypeError(f"an 'if' line is decided by attributes alone: {step.condition}")
        yield from _straight(step.then if decided.value else step.otherwise, known, present)


def expressions(values: Values) -> dict[str, Number | Text]:
    """Values as expressions, which keep apart what Python takes for equal: 0.0, -0.0 and 0."""
    return {n: Text(v) if isinstance(v, str) else Number(v) for n, v in values.items()}


def _without_unused(formula: Formula) -> Formula:
    lines = list(formula.lines)
    for line in reversed(formula.lines):
        rest = Formula("", tuple(lines[lines.index(line) + 1 :]), formula.value)
        if line.name not in rest.names:
            lines.remove(line)
    return Formula(formula.text, tuple(lines), formula.value)


def _put(node: Expression, known: Mapping[str, Expression], present: frozenset[str]) -> Expression:
    return folded(substituted(node, known), present)


def folded(node: Expression, present: frozenset[str] = frozenset()) -> Expression:
    """The expression with constants folded, in float64.

    A selection by a known condition is its branch; ``has`` is decided.
    """
    match node:
        case Negative(a):
            inner = folded(a, present)
            return Number(-inner.value) if isinstance(inner, Number) else Negative(inner)
        case Not(a):
            inner = folded(a, present)
            return Number(not inner.value) if isinstance(inner, Number) else Not(inner)
        case Arithmetic(sign, a, b):
            return _arithmetic(sign, folded(a, present), folded(b, present))
        case Comparison(sign, a, b):
            first, second = folded(a, present), folded(b, present)
            if isinstance(first, Number | Text) and isinstance(second, Number | Text):
                return Number(_COMPARE[sign](first.value, second.value))
            return Comparison(sign, first, second)
        case Logic(word, a, b):
            return _logic(word, folded(a, present), folded(b, present))
        case Select(condition, a, b):
            decided = folded(condition, present)
            if isinstance(decided, Number):
                return folded(a if decided.value else b, present)
            return Select(decided, folded(a, present), folded(b, present))
        case Call(name, arguments):
            return _call(name, arguments, present)
        case _:
            return node


def _arithmetic(sign: str, a: Expression, b: Expression) -> Expression:
    if not (isinstance(a, Number) and isinstance(b, Number)):
        return Arithmetic(sign, a, b)
    x, y = a.value, b.value
    if sign == "/":
        with np.errstate(all="ignore"):
            return Number(float(np.float64(x) / np.float64(y)))
    return Number(x + y if sign == "+" else x - y if sign == "-" else x * y)


def _logic(word: str, a: Expression, b: Expression) -> Expression:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Number):
            decides = bool(one.value) == (word == "or")
            return Number(bool(one.value)) if decides else other
    return Logic(word, a, b)


def _call(name: str, arguments: tuple[Expression, ...], present: frozenset[str]) -> Expression:
    if name == HAS:
        (operand,) = arguments
        return Number(isinstance(operand, Name) and operand.name in present)
    inner = tuple(folded(argument, present) for argument in arguments)
    numbers = [a.value for a in inner if isinstance(a, Number)]
    if len(numbers) < len(inner) or (name == "int" and not math.isfinite(numbers[0])):
        return Call(name, inner)
    return Number(FUNCTIONS[name].meaning(*numbers))
