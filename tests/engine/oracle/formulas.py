"""What formulas and rules mean, in float64 and with a function table of the tests' own.

A `Rounding` says what a backend may do to the operands and the result of every operation.
"""

from __future__ import annotations

import itertools
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

SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)


class Rounding:
    """Applies operations in float64 and keeps their results so."""

    def __call__(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The result of one operation."""
        found = function(*operands)
        return self.rounded(found) if np.asarray(found).dtype == np.float64 else found

    def rounded(self, x: Any) -> Any:
        """A result as a backend may leave it."""
        return x


class Float32(Rounding):
    """Rounds every result to float32, so that numbers leave its range on the way."""

    def rounded(self, x: Any) -> Any:
        return to_float32(x)


class Flushing(Float32):
    """Every result that a device may give which flushes denormals to zero, as arrays [results, N].

    GLSL 4.60, 4.7.1: any operand and any result may be flushed, and each on its own. Devices do
    so: one that flushes the divisor alone divides a denormal by itself and gives infinity.
    """

    def __call__(self, function: Callable[..., Any], *operands: Any) -> Any:
        if any(isinstance(each, str) for each in operands):
            return function(*operands)
        choices = [_flushed_or_not(each) for each in operands]
        of_each = [
            super(Flushing, self).__call__(function, *chosen)
            for chosen in itertools.product(*choices)
        ]
        shape = np.broadcast_shapes(*(np.shape(each)[1:] for each in of_each))
        found = [np.broadcast_to(each, (len(each), *shape)) for each in of_each]
        return _distinct(np.concatenate(_flushed_or_not(np.concatenate(found))))


EXACT, FLOAT32, FLUSHING = Rounding(), Float32(), Flushing()


def to_float32(x: Any) -> Any:
    """The nearest float32, in float64."""
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(np.float32).astype(np.float64)


def _flushed_or_not(x: Any) -> list[np.ndarray]:
    """An operand [N] or its choices [choices, N], as rows; flushed as well where it may be."""
    values = np.atleast_1d(x)
    rows = list(values) if values.ndim == 2 else [values]
    if values.dtype == np.float64:
        rows += [np.where(small, np.copysign(0.0, row), row) for row in rows
                 if (small := (row != 0) & (np.abs(row) < SMALLEST_NORMAL)).any()]  # fmt: skip
    return [row[None] for row in rows]


def _distinct(rows: np.ndarray) -> np.ndarray:
    """The different numbers of each column, in as few rows as hold them."""
    if rows.dtype != np.float64:
        return np.unique(rows, axis=0)
    bits = np.sort(np.where(np.isnan(rows), np.nan, rows).view(np.int64), axis=0)
    again = np.zeros(bits.shape, bool)
    again[1:] = bits[1:] == bits[:-1]
    order = np.argsort(again, axis=0, kind="stable")
    packed = np.take_along_axis(np.where(again, bits[:1], bits), order, axis=0)
    return packed[: (~again).sum(axis=0).max()].view(np.float64)


def _nan_where(wrong: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.where(wrong, math.nan, values)


def _divided(function: Callable[..., Any], a: Any, b: Any) -> Any:
    if np.result_type(a, b).kind == "i":
        return np.where(b == 0, 0, function(a, np.where(b == 0, 1, b)))
    return _nan_where((b == 0) | np.isinf(a), function(a, b))


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
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "normal_cdf": np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[float]),
    "pow": _power,
    "one_minus_pow": lambda b, n: 1.0 - np.power(b, n),
    "max": np.maximum,
    "min": np.minimum,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "floor_div": lambda a, b: _divided(np.floor_divide, a, b),
    "mod": lambda a, b: _divided(np.mod, a, b),
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "bit_not": np.invert,
    "shift_left": lambda a, b: np.where((b < 0) | (b > 31), 0, a * 2 ** np.clip(b, 0, 31)),
    "shift_right": lambda a, b: a // 2 ** np.where((b < 0) | (b > 31), 31, b),
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
    rounding: Rounding = EXACT,
) -> Any:
    """An expression over arrays of float64 or int64."""

    def of(inner: Expression) -> Any:
        return value_of(inner, known, present, rounding=rounding)

    match node:
        case Number(value) | Text(value):
            return value
        case Name(name):
            return known[name]
        case Negative(a):
            return rounding(operator.neg, of(a))
        case Not(a):
            return rounding(np.logical_not, of(a))
        case Arithmetic(sign, a, b) | Comparison(sign, a, b) | Logic(sign, a, b):
            return rounding(OPERATORS[sign], of(a), of(b))
        case Select(condition, a, b):
            return rounding(np.where, of(condition), of(a), of(b))
        case Call("has", (Name(name),)):
            return name in present
        case Call(name, arguments):
            return rounding(FUNCTIONS[name], *(of(argument) for argument in arguments))


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
    cls: type[Instruction], values: Values, attrs: Values, *, rounding: Rounding = EXACT
) -> Values:
    """What an instruction that states a formula or a rule leaves in its results."""
    assert cls.meaning is not None
    if cls.meaning.value is not None:
        found = formula_value(cls.meaning.value, {**attrs, **values}, rounding=rounding)
        shape = np.broadcast_shapes(np.shape(found), *(np.shape(v) for v in values.values()))
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
    rounding: Rounding = EXACT,
) -> dict[str, np.ndarray]:
    """What an instruction adds to the gradient of each operand, by operand."""
    assert cls.meaning is not None
    known = {**attrs, **results_of(cls, values, attrs, rounding=rounding), **values, "dy": dy}
    found = {
        name: formula_value(slope, known, rounding=rounding)
        for name, slope in cls.meaning.slopes.items()
    }
    return {
        name: np.broadcast_to(value, np.broadcast_shapes(np.shape(value), dy.shape))
        for name, value in found.items()
    }
