"""Computes expressions of known values in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    names_in,
)


def storing(
    values: Sequence[tuple[Expression, Any]], getters: Mapping[str, Callable[[], float]]
) -> Callable[[], None]:
    """A function that computes expressions and stores each in its array of one element.

    It runs before every step, so it is Python text, each name is asked for once, and nothing walks
    over a tree.

    Args:
        values: the expressions, and the arrays without dimensions that take them.
        getters: what says the value a name has now.
    """
    known: dict[str, Any] = {"quotient": _quotient}
    lines = []
    for name in sorted({name for expression, _ in values for name in names_in(expression)}):
        known[f"get_{name}"] = getters[name]
        lines.append(f"    {name} = get_{name}()")
    for number, (expression, array) in enumerate(values):
        known[f"array_{number}"] = array
        lines.append(f"    array_{number}[()] = {_text(expression, known)}")
    exec("\n".join(["def store():", *lines]), known)
    found: Callable[[], None] = known["store"]
    return found


def _text(node: Expression, known: dict[str, object]) -> str:
    match node:
        case Number(value):
            # Infinities have no literal.
            name = f"number_{len(known)}"
            known[name] = value
            return name
        case Name(name):
            return name
        case Negative(a):
            return f"(-{_text(a, known)})"
        case Not(a):
            return f"(not {_text(a, known)})"
        case Arithmetic("/", a, b):
            return f"quotient({_text(a, known)}, {_text(b, known)})"
        case Arithmetic(sign, a, b) | Comparison(sign, a, b) | Logic(sign, a, b):
            return f"({_text(a, known)} {sign} {_text(b, known)})"
        case Select(condition, a, b):
            return f"({_text(a, known)} if {_text(condition, known)} else {_text(b, known)})"
        case Call(name, arguments):
            known[f"function_{name}"] = FUNCTIONS[name].meaning
            return f"function_{name}({', '.join(_text(each, known) for each in arguments)})"
    raise TypeError("a choice has no numeric value")


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return float(np.float64(a) / np.float64(b))
