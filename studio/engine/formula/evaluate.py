"""What an expression of known values is, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def evaluator(node: Expression, names: Sequence[str]) -> Callable[..., float]:
    """A function of the values of ``names``, in order.

    It runs before every step, so it is one Python expression and no walk over the tree.
    """
    known: dict[str, object] = {"quotient": _quotient}
    text = _text(node, known)
    found: Callable[..., float] = eval(f"lambda {', '.join(names)}: {text}", known)
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
    raise TypeError("a word has no number")


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return float(np.float64(a) / np.float64(b))
