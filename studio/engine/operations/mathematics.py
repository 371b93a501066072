"""Functions of one tensor, element by element."""

from __future__ import annotations

import math

from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import arithmetic, function
from studio.engine.operations import types
from studio.engine.operations.lines import Lines, plus, scalar, scaled, shifted, times
from studio.engine.operations.table import operation, plain

absolute = plain(
    function.Abs, family=__name__, name="absolute", takes="numbers", symbol="|x|",
    numpy="absolute abs fabs", keras="absolute abs", onnx="Abs", tfjs="abs",
)  # fmt: skip
exp = plain(
    function.Exp, family=__name__, symbol="eˣ", numpy="exp", keras="exp", onnx="Exp", tfjs="exp"
)
log = plain(
    function.Log, family=__name__, symbol="ln", numpy="log", keras="log", onnx="Log", tfjs="log"
)
sqrt = plain(
    function.Sqrt, family=__name__, symbol="√", numpy="sqrt", keras="sqrt", onnx="Sqrt", tfjs="sqrt"
)
rsqrt = plain(function.Rsqrt, family=__name__, symbol="1/√", keras="rsqrt", tfjs="rsqrt")
square = plain(
    function.Square, family=__name__, takes="numbers", symbol="x²",
    numpy="square", keras="square", tfjs="square",
)  # fmt: skip
reciprocal = plain(
    function.Reciprocal, family=__name__, symbol="1/x",
    numpy="reciprocal", keras="reciprocal", onnx="Reciprocal", tfjs="reciprocal",
)  # fmt: skip
sign = plain(
    function.Sign, family=__name__, takes="numbers", symbol="±",
    numpy="sign", keras="sign", onnx="Sign", tfjs="sign",
)  # fmt: skip
floor = plain(
    function.Floor, family=__name__, symbol="⌊x⌋",
    numpy="floor", keras="floor", onnx="Floor", tfjs="floor",
)  # fmt: skip
sin = plain(
    function.Sin, family=__name__, symbol="sin", numpy="sin", keras="sin", onnx="Sin", tfjs="sin"
)
cos = plain(
    function.Cos, family=__name__, symbol="cos", numpy="cos", keras="cos", onnx="Cos", tfjs="cos"
)


erf = plain(function.Erf, family=__name__, symbol="erf", keras="erf", onnx="Erf", tfjs="erf")
log1p = plain(
    function.Log1p, family=__name__, symbol="ln(1+x)", numpy="log1p", keras="log1p", tfjs="log1p"
)
expm1 = plain(
    function.Expm1, family=__name__, symbol="eˣ-1", numpy="expm1", keras="expm1", tfjs="expm1"
)
ceil = plain(
    function.Ceil, family=__name__, symbol="⌈x⌉", numpy="ceil", keras="ceil", onnx="Ceil",
    tfjs="ceil",
)  # fmt: skip
round_ = plain(
    function.Round, family=__name__, symbol="≈1", numpy="round rint around", keras="round",
    onnx="Round", tfjs="round",
)  # fmt: skip


@operation(symbol="x→0", numpy="trunc fix", keras="trunc")
def trunc(lines: Lines, x: Ref) -> Ref:
    """Cuts fractions off, towards 0."""
    (x,) = types.floats(lines, x)
    size = floor(lines, lines.emit(function.Abs, x=x)[0])
    return times(lines, size, lines.emit(function.Sign, x=x)[0])


@operation(symbol="ln(eᵃ+eᵇ)", numpy="logaddexp", keras="logaddexp")
def logaddexp(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Logarithm of the sum of two powers of e, without overflow."""
    a, b = types.floats(lines, a, b)
    top = lines.emit(arithmetic.Maximum, a=a, b=b)[0]
    apart = lines.emit(function.Abs, x=plus(lines, a, b, -1.0))[0]
    return plus(lines, top, log1p(lines, exp(lines, scaled(lines, apart, -1.0))))


@operation(symbol="sinc", numpy="sinc", keras="sinc")
def sinc(lines: Lines, x: Ref) -> Ref:
    """sin(πx)/(πx), and 1 at 0."""
    (x,) = types.floats(lines, x)
    turned = scaled(lines, x, math.pi)
    zero = lines.emit(arithmetic.Equal, a=turned, b=scalar(lines, 0.0))[0]
    one = shifted(lines, scaled(lines, turned, 0.0), 1.0)
    safe = lines.emit(arithmetic.Select, c=zero, a=one, b=turned)[0]
    found = lines.emit(arithmetic.Div, a=sin(lines, safe), b=safe)[0]
    return lines.emit(arithmetic.Select, c=zero, a=one, b=found)[0]


@operation(symbol="clip", numpy="clip", keras="clip", onnx="Clip", tfjs="clipByValue")
def clip(lines: Lines, x: Ref, *, low: float = 0.0, high: float = 1.0) -> Ref:
    """Limits to an interval.

    Args:
        x: any tensor.
        low: Smallest value of the result.
        high: Largest value of the result.
    """
    (x,) = types.floats(lines, x)
    return lines.emit(function.Clip, x=x, low=low, high=high)[0]


@operation(symbol="log₂", numpy="log2", keras="log2")
def log2(lines: Lines, x: Ref) -> Ref:
    """Logarithm to the base 2."""
    return scaled(lines, log(lines, x), 1 / math.log(2))


@operation(symbol="log₁₀", numpy="log10", keras="log10")
def log10(lines: Lines, x: Ref) -> Ref:
    """Logarithm to the base 10."""
    return scaled(lines, log(lines, x), 1 / math.log(10))


@operation(symbol="2ˣ", numpy="exp2", keras="exp2")
def exp2(lines: Lines, x: Ref) -> Ref:
    """Powers of 2."""
    (x,) = types.floats(lines, x)
    return exp(lines, scaled(lines, x, math.log(2)))


@operation(symbol="x³")
def cube(lines: Lines, x: Ref) -> Ref:
    """Third power."""
    (x,) = types.floats(lines, x)
    return times(lines, x, times(lines, x, x))


@operation(symbol="°→rad", numpy="deg2rad radians", keras="deg2rad")
def deg2rad(lines: Lines, x: Ref) -> Ref:
    """Turns degrees into radians."""
    (x,) = types.floats(lines, x)
    return scaled(lines, x, math.pi / 180)


@operation(symbol="rad→°", numpy="rad2deg degrees", keras="")
def rad2deg(lines: Lines, x: Ref) -> Ref:
    """Turns radians into degrees."""
    (x,) = types.floats(lines, x)
    return scaled(lines, x, 180 / math.pi)


@operation(symbol="frac")
def fraction(lines: Lines, x: Ref) -> Ref:
    """What is above the next smaller whole number: x - floor(x)."""
    (x,) = types.floats(lines, x)
    return lines.emit(arithmetic.Mod, a=x, b=scalar(lines, 1.0))[0]


@operation(symbol="logit", keras="")
def logit(lines: Lines, x: Ref) -> Ref:
    """The inverse of the logistic function: ln(x / (1 - x))."""
    (x,) = types.floats(lines, x)
    other = shifted(lines, scaled(lines, x, -1.0), 1.0)
    return plus(lines, log(lines, x), log(lines, other), -1.0)


@operation(symbol="1-x")
def complement(lines: Lines, x: Ref) -> Ref:
    """What is missing to 1: 1 - x."""
    (x,) = types.floats(lines, x)
    return shifted(lines, scaled(lines, x, -1.0), 1.0)
