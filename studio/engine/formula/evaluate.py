"""What an expression of known values is, in float64."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from studio.engine.formula.functions import FUNCTIONS
from studio.engine.formula.tree import (
    Arithmetic,
    Call,
    Comparison,
    Expression,
    Logic,
    Name,
    Negative,
    Not,
    Number,
    Select,
)

Values: TypeAlias = Mapping[str, float]
"""Numbers by name."""

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def evaluator(node: Expression) -> Callable[[Values], float]:
    """A function of the values of an expression's names."""
    match node:
        case Number(value):
            return lambda _: value
        case Name(name):
            return lambda known: known[name]
        case Negative(a):
            inner = evaluator(a)
            return lambda known: -inner(known)
        case Not(a):
            inner = evaluator(a)
            return lambda known: not inner(known)
        case Arithmetic("/", a, b):
            return _binary(_quotient, a, b)
        case Arithmetic(sign, a, b) | Comparison(sign, a, b):
            return _binary(_OPERATORS[sign], a, b)
        case Logic(word, a, b):
            one, other = evaluator(a), evaluator(b)
            if word == "and":
                return lambda known: one(known) and other(known)
            return lambda known: one(known) or other(known)
        case Select(condition, a, b):
            decides, one, other = (evaluator(each) for each in (condition, a, b))
            return lambda known: (one if decides(known) else other)(known)
        case Call(name, arguments):
            function = FUNCTIONS[name].meaning
            inputs = [evaluator(argument) for argument in arguments]
            return lambda known: function(*(each(known) for each in inputs))
    raise TypeError("a word has no number")


def _binary(
    function: Callable[[Any, Any], Any], a: Expression, b: Expression
) -> Callable[[Values], float]:
    one, other = evaluator(a), evaluator(b)
    return lambda known: function(one(known), other(known))


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return float(np.float64(a) / np.float64(b))
