"""What formulas and rules mean, in float64 and with a function table of the tests' own.

A rounding says what a backend may do to the result of every operation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

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
    Statement,
    Text,
)
from studio.engine.isa.instruction import Instruction

Values = dict[str, Any]
Known = Mapping[str, Any]
Rounding = Callable[[Any], Any]

SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)


def exact(x: Any) -> Any:
    """Keeps float64."""
    return x


def to_float32(x: Any) -> Any:
    """Rounds to float32, so that numbers leave its range on the way."""
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float32).astype(np.float64)


def flushed(x: Any) -> Any:
    """Rounds to float32 without denormals, as GLSL allows: they become zeros of their sign."""
    found = to_float32(x)
    return np.where(np.abs(found) < SMALLEST_NORMAL, np.copysign(0.0, found), found)


def _nan_where(wrong: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.where(wrong, math.nan, values)


def _power(a: Any, b: Any) -> Any:
    return np.power(np.asarray(a, np.float64), np.asarray(b, np.float64))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "square": lambda x: x * x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "normal_cdf": np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[float]),
    "pow": _power,
    "one_minus_pow": lambda b, n: 1.0 - np.power(b, n),
    "max": np.maximum,
    "min": np.minimum,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "floor_div": lambda a, b: _nan_where((b == 0) | np.isinf(a), np.floor_divide(a, b)),
    "mod": lambda a, b: _nan_where(b == 0, np.mod(a, b)),
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "float": lambda x: np.asarray(x, np.float64),
    "int": lambda x: np.trunc(x).astype(np.int64),
}

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": np.divide,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def value_of(
    node: Expression,
    known: Known,
    present: frozenset[str] = frozenset(),
    *,
    rounding: Rounding = exact,
) -> Any:
    """An expression over arrays of float64 or int64."""
    found = _value_of(node, known, present, rounding)
    return rounding(found) if np.asarray(found).dtype == np.float64 else found


def _value_of(node: Expression, known: Known, present: frozenset[str], rounding: Rounding) -> Any:
    def of(inner: Expression) -> Any:
        return value_of(inner, known, present, rounding=rounding)

    match node:
        case Number(value) | Text(value):
            return value
        case Name(name):
            return known[name]
        case Negative(a):
            return -of(a)
        case Not(a):
            return np.logical_not(of(a))
        case Arithmetic(sign, a, b) | Comparison(sign, a, b) | Logic(sign, a, b):
            return OPERATORS[sign](of(a), of(b))
        case Select(condition, a, b):
            return np.where(of(condition), of(a), of(b))
        case Call("has", (Name(name),)):
            return name in present
        case Call(name, arguments):
            return FUNCTIONS[name](*(of(argument) for argument in arguments))


def formula_value(formula: Formula, known: Known, *, rounding: Rounding) -> Any:
    """The result of a formula."""
    with np.errstate(all="ignore"):
        found = dict(known)
        for line in formula.lines:
            found[line.name] = value_of(line.value, found, rounding=rounding)
        return value_of(formula.value, found, rounding=rounding)


def _run(
    statements: tuple[Statement, ...], known: Values, present: frozenset[str], rounding: Rounding
) -> None:
    for step in statements:
        if isinstance(step, Assign):
            known[step.name] = value_of(step.value, known, present, rounding=rounding)
        else:
            chosen = value_of(step.condition, known, present)
            _run(step.then if chosen else step.otherwise, known, present, rounding)


def results_of(
    cls: type[Instruction], values: Values, attrs: Values, *, rounding: Rounding = exact
) -> Values:
    """What an instruction that states a formula or a rule leaves in its results."""
    assert cls.meaning is not None
    if cls.meaning.value is not None:
        found = formula_value(cls.meaning.value, {**attrs, **values}, rounding=rounding)
        shape = np.broadcast_shapes(*(np.shape(v) for v in values.values()))
        return {cls.meaning.target: np.broadcast_to(found, shape)}
    assert cls.meaning.rule is not None
    rate = values["rates"][int(values["step"][0]) % len(values["rates"])]
    known = {**attrs, **values, "lr": rate, "t": values["step"][3]}
    with np.errstate(all="ignore"):
        _run(cls.meaning.rule.statements, known, frozenset(values), rounding)
    return {name: known[name] for name in values if name not in ("g", "step", "rates")}


def slopes_of(
    cls: type[Instruction],
    values: Values,
    attrs: Values,
    dy: np.ndarray,
    *,
    rounding: Rounding = exact,
) -> dict[str, np.ndarray]:
    """What an instruction adds to the gradient of each operand, by operand."""
    assert cls.meaning is not None
    known = {**attrs, **results_of(cls, values, attrs, rounding=rounding), **values, "dy": dy}
    return {
        name: np.broadcast_to(formula_value(slope, known, rounding=rounding), dy.shape)
        for name, slope in cls.meaning.slopes.items()
    }
