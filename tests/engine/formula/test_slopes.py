"""Every slope is the derivative of its formula, by SymPy; an instruction joins by stating one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Piecewise, Rational, Symbol

from studio.engine.core.options import OptionKind
from studio.engine.formula.kinds import Kind
from studio.engine.formula.tree import (
    Arithmetic,
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
)
from studio.engine.isa.instruction import Instruction
from tests.engine.conformance.stated import kinds_of, settings_of, stated

SLOPES = [cls for cls in stated(rules=False) if cls.meaning is not None and cls.meaning.slopes]
DIGITS = 40
POINTS = 16


class Floor(sympy.Function):  # type: ignore[misc]
    """⌊x⌋, whose derivative SymPy leaves open: 0 but for the steps."""

    def fdiff(self, argindex: int = 1) -> Any:
        return sympy.S.Zero

    def _eval_evalf(self, prec: int) -> Any:
        return sympy.floor(self.args[0])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": sympy.Abs,
    "sign": sympy.sign,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "round": lambda x: sympy.floor(x + Rational(1, 2)),
    "exp": sympy.exp,
    "expm1": lambda x: sympy.exp(x) - 1,
    "log": sympy.log,
    "log1p": lambda x: sympy.log(1 + x),
    "sqrt": sympy.sqrt,
    "rsqrt": lambda x: 1 / sympy.sqrt(x),
    "square": lambda x: x**2,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "asin": sympy.asin,
    "acos": sympy.acos,
    "atan": sympy.atan,
    "atan2": sympy.atan2,
    "sinh": sympy.sinh,
    "cosh": sympy.cosh,
    "tanh": sympy.tanh,
    "asinh": sympy.asinh,
    "acosh": sympy.acosh,
    "atanh": sympy.atanh,
    "erf": sympy.erf,
    "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
    "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
    "normal_cdf": lambda x: (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
    "pow": lambda a, b: a**b,
    "one_minus_pow": lambda b, n: 1 - b**n,
    "max": lambda a, b: Piecewise((a, a >= b), (b, True)),
    "min": lambda a, b: Piecewise((a, a <= b), (b, True)),
    "clip": lambda x, low, high: Piecewise((low, x < low), (high, x > high), (x, True)),
    "floor_div": lambda a, b: Floor(a / b),
    "mod": lambda a, b: a - b * Floor(a / b),
    "float": lambda x: x,
}
COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge, "==": sympy.Eq, "!=": sympy.Ne,
}  # fmt: skip


def symbolic(node: Expression, known: Mapping[str, Any]) -> Any:
    def of(inner: Expression) -> Any:
        return symbolic(inner, known)

    match node:
        case Number(value):
            return sympy.true if value is True else sympy.false if value is False else exact(value)
        case Name(name):
            return known[name]
        case Negative(a):
            return -of(a)
        case Not(a):
            return sympy.Not(of(a))
        case Arithmetic(sign, a, b):
            one, other = of(a), of(b)
            if sign == "/":
                return one / other
            return one + other if sign == "+" else one - other if sign == "-" else one * other
        case Comparison(sign, a, b):
            return COMPARISONS[sign](of(a), of(b))
        case Logic(word, a, b):
            return (sympy.And if word == "and" else sympy.Or)(of(a), of(b))
        case Select(condition, a, b):
            return Piecewise((of(a), of(condition)), (of(b), True))
        case Call(name, arguments):
            return FUNCTIONS[name](*(of(argument) for argument in arguments))
    raise TypeError(f"not in a formula: {node}")


def exact(value: float) -> Any:
    return sympy.oo if math.isinf(value) else Rational(value)


def formula_symbols(formula: Formula, known: Mapping[str, Any]) -> Any:
    found = dict(known)
    for line in formula.lines:
        found[line.name] = symbolic(line.value, found)
    return symbolic(formula.value, found)


def number(expression: Any, at: Mapping[Any, Any]) -> float:
    found = complex(sympy.N(expression.subs(at), DIGITS))
    return found.real if abs(found.imag) < 1e-25 else math.nan


@pytest.mark.parametrize("cls", SLOPES, ids=lambda cls: cls.mnemonic)
def test_a_slope_is_the_derivative_of_the_formula(cls: type[Instruction]) -> None:
    meaning, kinds = cls.meaning, kinds_of(cls)
    assert meaning is not None
    assert meaning.value is not None
    assert kinds is not None
    names = {n: Symbol(n, real=True) for n, kind in kinds.items() if kind is Kind.FLOAT}
    truths = [n for n, kind in kinds.items() if kind is Kind.BOOL]
    slope_of_result = Symbol("dy", real=True)
    rng = np.random.default_rng(11)
    for attrs, given in itertools.product(
        settings_of(cls), itertools.product((False, True), repeat=len(truths))
    ):
        known: dict[str, Any] = dict(names)
        known |= {n: sympy.true if v else sympy.false for n, v in zip(truths, given, strict=True)}
        for attr in cls.attr_fields:
            if attr.kind is OptionKind.NUMBER:
                known[attr.name] = exact(attr.check(attrs.get(attr.name, attr.default), "test"))
        y = formula_symbols(meaning.value, known)
        for name, slope in meaning.slopes.items():
            stated_slope = formula_symbols(slope, {**known, "y": y, "dy": slope_of_result})
            derivative = slope_of_result * sympy.diff(y, names[name])
            tried = 0
            for _ in range(POINTS):
                at = {
                    symbol: sympy.Float(float(rng.uniform(-4, 4)), DIGITS)
                    for symbol in (*names.values(), slope_of_result)
                }
                wanted = number(derivative, at)
                if math.isfinite(wanted):
                    tried += 1
                    found = number(stated_slope, at)
                    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15), (name, attrs, at)
            assert tried >= POINTS // 8, f"{cls.mnemonic}: no point in the domain"
