"""The functions of the language: a closed list, with one answer each at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Function:
    """One function.

    Attributes:
        doc: what it gives, and its answers for NaN, infinities and zeros where they are not those
            of the formula.
        arity: number of arguments.
        meaning: the function of Python numbers (float64), which also computes constants.
        whole: it also takes whole numbers, and gives one for them.
        bits: it takes whole numbers alone.
    """

    doc: str
    arity: int
    meaning: Callable[..., float]
    whole: bool = False
    bits: bool = False


def _sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def _log(x: float) -> float:
    if math.isnan(x) or x < 0:
        return math.nan
    return -math.inf if x == 0 else math.log(x)


def _log1p(x: float) -> float:
    if math.isnan(x) or x < -1:
        return math.nan
    return -math.inf if x == -1 else math.log1p(x)


def _exp(x: float) -> float:
    return math.inf if x > 709.7 else math.exp(x)


def _expm1(x: float) -> float:
    return math.inf if x > 709.7 else math.expm1(x)


def _sqrt(x: float) -> float:
    return math.nan if math.isnan(x) or x < 0 else math.sqrt(x)


def _rsqrt(x: float) -> float:
    root = _sqrt(x)
    return math.copysign(math.inf, x) if root == 0 else 1.0 / root


def _bounded(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: math.nan if math.isinf(x) else function(x)


def _within(low: float, high: float, function: Callable[[float], float]) -> Callable[..., float]:
    return lambda x: function(x) if low <= x <= high else math.nan


def _unbounded(function: Callable[[float], float], below: float) -> Callable[[float], float]:
    """A function that grows beyond float64 on both sides, to ``below`` on the left one."""
    return lambda x: (
        function(x) if abs(x) < 710.0 or math.isnan(x) else below if x < 0 else math.inf
    )


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else _within(-1.0, 1.0, math.atanh)(x)


def _sigmoid(x: float) -> float:
    e = math.exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0 or math.isnan(x) else e / (1.0 + e)


def _softplus(x: float) -> float:
    return x if math.isnan(x) else max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _pow(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(a), np.float64(b)))


def _max(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def _min(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _clip(x: float, low: float, high: float) -> float:
    return _min(_max(x, low), high)


def _rounded(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: x if not math.isfinite(x) else math.copysign(float(function(x)), x)


def _floor_div(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b else 0
    if not b or math.isnan(a) or math.isnan(b) or math.isinf(a):
        return math.nan
    return a // b


def _mod(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int):
        return a % b if b else 0
    if not b or not math.isfinite(a):
        return math.nan
    return a % b


def _wrapped(x: int) -> int:
    """The 32 bits of a whole number, as int32."""
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


def _shift_left(a: int, by: int) -> int:
    return _wrapped(a << by) if 0 <= by <= 31 else 0


def _shift_right(a: int, by: int) -> int:
    return a >> (by if 0 <= by <= 31 else 31)


def _bits(doc: str, arity: int, meaning: Callable[..., int]) -> Function:
    return Function(doc, arity, meaning, whole=True, bits=True)


FUNCTIONS: Mapping[str, Function] = {
    "abs": Function("|x|.", 1, abs, whole=True),
    "sign": Function("-1, 0 or 1; NaN stays NaN.", 1, _sign, whole=True),
    "floor": Function("The next whole number below.", 1, _rounded(math.floor)),
    "ceil": Function("The next whole number above.", 1, _rounded(math.ceil)),
    "round": Function("The nearest whole number, of two the even one.", 1, _rounded(round)),
    "exp": Function("e^x.", 1, _exp),
    "expm1": Function("e^x - 1, exact near 0.", 1, _expm1),
    "log": Function("ln x; -∞ at 0, NaN below.", 1, _log),
    "log1p": Function("ln(1 + x), exact near 0; -∞ at -1, NaN below.", 1, _log1p),
    "sqrt": Function("√x; NaN below 0.", 1, _sqrt),
    "rsqrt": Function("1/√x; ±∞ at ±0, NaN below.", 1, _rsqrt),
    "square": Function("x·x, also written x**2.", 1, lambda x: x * x, whole=True),
    "sin": Function("sin x, x in radians; NaN at ±∞.", 1, _bounded(math.sin)),
    "cos": Function("cos x, x in radians; NaN at ±∞.", 1, _bounded(math.cos)),
    "tan": Function("tan x, x in radians; NaN at ±∞.", 1, _bounded(math.tan)),
    "asin": Function("arcsin x; NaN beyond ±1.", 1, _within(-1.0, 1.0, math.asin)),
    "acos": Function("arccos x, from 0 to π; NaN beyond ±1.", 1, _within(-1.0, 1.0, math.acos)),
    "atan": Function("arctan x; ±π/2 at ±∞.", 1, math.atan),
    "atan2": Function(
        "The angle of the point (b, a), from -π to π; of ±0 the sign says from which side.",
        2,
        math.atan2,
    ),
    "sinh": Function("sinh x.", 1, _unbounded(math.sinh, -math.inf)),
    "cosh": Function("cosh x.", 1, _unbounded(math.cosh, math.inf)),
    "tanh": Function("tanh x.", 1, math.tanh),
    "asinh": Function("arsinh x.", 1, math.asinh),
    "acosh": Function("arcosh x; NaN below 1.", 1, _within(1.0, math.inf, math.acosh)),
    "atanh": Function("artanh x; ±∞ at ±1, NaN beyond.", 1, _atanh),
    "erf": Function("The error function, 2/√π·∫e^-t² dt from 0 to x.", 1, math.erf),
    "sigmoid": Function("1/(1 + e^-x) without overflow.", 1, _sigmoid),
    "softplus": Function("ln(1 + e^x) without overflow.", 1, _softplus),
    "normal_cdf": Function(
        "½·(1 + erf(x/√2)), the distribution function of the normal distribution.",
        1,
        lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)),
    ),
    "pow": Function("a^b; 1 for b = 0 whatever a, NaN for a < 0 with a fractional b.", 2, _pow),
    "one_minus_pow": Function(
        "1 - b^n without cancellation, for 0 ≤ b < 1 and n ≥ 1.",
        2,
        lambda b, n: 1.0 if b == 0 else -math.expm1(n * math.log(b)),
    ),
    "max": Function("The larger; NaN if either is NaN.", 2, _max, whole=True),
    "min": Function("The smaller; NaN if either is NaN.", 2, _min, whole=True),
    "clip": Function("min(max(x, low), high); NaN stays NaN.", 3, _clip, whole=True),
    "floor_div": Function(
        "⌊a/b⌋, as Python's //; NaN for b = 0 and infinite a; of whole numbers 0 for b = 0.",
        2,
        _floor_div,
        whole=True,
    ),
    "mod": Function(
        "a - b·⌊a/b⌋, of the sign of b, as Python's %; NaN for b = 0 and infinite a; of whole "
        "numbers 0 for b = 0.",
        2,
        _mod,
        whole=True,
    ),
    "bit_and": _bits("The bits that both have.", 2, lambda a, b: a & b),
    "bit_or": _bits("The bits that one or both have.", 2, lambda a, b: a | b),
    "bit_xor": _bits("The bits that exactly one has.", 2, lambda a, b: a ^ b),
    "bit_not": _bits("The bits that it has not, -1 - x.", 1, lambda x: ~x),
    "shift_left": _bits("a·2^b, wrapping; 0 for b below 0 or above 31.", 2, _shift_left),
    "shift_right": _bits(
        "⌊a/2^b⌋; for b below 0 or above 31 as for 31, all bits that of the sign.", 2, _shift_right
    ),
    "isnan": Function("Whether x is NaN.", 1, math.isnan),
    "isfinite": Function("Whether x is neither NaN nor infinite.", 1, math.isfinite),
    "float": Function("A whole number or truth value as a float.", 1, float),
    "int": Function("A float without its fraction, as a whole number.", 1, int),
}
"""Functions by name. ``has(operand)``, which asks whether an optional operand is there, is none of
them: it is known before anything runs."""

HAS = "has"

CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
"""Numbers with a name."""
