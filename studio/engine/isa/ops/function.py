"""Element-wise functions of one tensor."""

from __future__ import annotations

from studio.engine.isa.families import Unary
from studio.engine.isa.fields import number
from studio.engine.isa.meaning import Activation


class Neg(Unary, code=210, mnemonic="NEG"):
    """Change the sign."""

    synopsis = "{y} = -{x}"
    formula = "-x"
    slopes = {"x": "-dy"}


class Abs(Unary, code=211, mnemonic="ABS"):
    """Take the absolute value.

    The derivative at 0 is 0.
    """

    synopsis = "{y} = |{x}|"
    formula = "abs(x)"
    slopes = {"x": "dy * sign(x)"}


class Exp(Unary, code=212, mnemonic="EXP"):
    """Exponential function."""

    synopsis = "{y} = exp({x})"
    formula = "exp(x)"
    slopes = {"x": "dy * y"}
    functions = {"exponential": Activation("e^x.", order=20)}


class Log(Unary, code=213, mnemonic="LOG"):
    """Natural logarithm.

    -Inf at 0, NaN below.
    """

    synopsis = "{y} = ln({x})"
    formula = "log(x)"
    slopes = {"x": "dy / x"}


class Sqrt(Unary, code=214, mnemonic="SQRT"):
    """Square root.

    NaN below 0; the derivative at 0 is infinite.
    """

    synopsis = "{y} = sqrt({x})"
    formula = "sqrt(x)"
    slopes = {"x": "0.5 * dy / y"}


class Rsqrt(Unary, code=215, mnemonic="RSQRT"):
    """Reciprocal square root.

    ±Inf at ±0, NaN below.
    """

    synopsis = "{y} = 1/sqrt({x})"
    formula = "rsqrt(x)"
    slopes = {"x": "-0.5 * dy * y * y * y"}


class Square(Unary, code=216, mnemonic="SQUARE"):
    """Square."""

    synopsis = "{y} = {x}²"
    formula = "x**2"
    slopes = {"x": "2 * dy * x"}


class Reciprocal(Unary, code=217, mnemonic="RECIPROCAL"):
    """Reciprocal.

    ±Inf at 0.
    """

    synopsis = "{y} = 1/{x}"
    formula = "1 / x"
    slopes = {"x": "-dy * y * y"}


class Sign(Unary, code=218, mnemonic="SIGN"):
    """Sign of each element.

    y = -1, 0 or 1; NaN stays NaN. Its gradient is 0.
    """

    synopsis = "{y} = sign({x})"
    formula = "sign(x)"
    flat = True


class Floor(Unary, code=219, mnemonic="FLOOR"):
    """Round towards minus infinity.

    Its gradient is 0.
    """

    synopsis = "{y} = floor({x})"
    formula = "floor(x)"
    flat = True


class Ceil(Unary, code=413, mnemonic="CEIL", since=2):
    """Round towards plus infinity.

    Its gradient is 0.
    """

    synopsis = "{y} = ceil({x})"
    formula = "ceil(x)"
    flat = True


class Round(Unary, code=414, mnemonic="ROUND", since=2):
    """Round to the nearest whole number.

    Of two that are as near, the even one is taken. Its gradient is 0.
    """

    synopsis = "{y} = round({x})"
    formula = "round(x)"
    flat = True


class Log1p(Unary, code=411, mnemonic="LOG1P", since=2):
    """Natural logarithm of 1 + x.

    Exact near 0; -Inf at -1, NaN below.
    """

    synopsis = "{y} = ln(1 + {x})"
    formula = "log1p(x)"
    slopes = {"x": "dy / (1 + x)"}


class Expm1(Unary, code=412, mnemonic="EXPM1", since=2):
    """Exponential function minus 1.

    Exact near 0.
    """

    synopsis = "{y} = exp({x}) - 1"
    formula = "expm1(x)"
    slopes = {"x": "dy * (y + 1)"}


class Erf(Unary, code=410, mnemonic="ERF", since=2):
    """Error function.

    2/√π·∫e^-t² dt from 0 to x; relative error at most 4e-7.
    """

    synopsis = "{y} = erf({x})"
    formula = "erf(x)"
    slopes = {"x": "dy * (2 / sqrt(pi) * exp(-x**2))"}


class Sin(Unary, code=220, mnemonic="SIN"):
    """Sine.

    x is in radians.
    """

    synopsis = "{y} = sin({x})"
    formula = "sin(x)"
    slopes = {"x": "dy * cos(x)"}


class Cos(Unary, code=221, mnemonic="COS"):
    """Cosine.

    x is in radians.
    """

    synopsis = "{y} = cos({x})"
    formula = "cos(x)"
    slopes = {"x": "-dy * sin(x)"}


class Clip(Unary, code=222, mnemonic="CLIP"):
    """Limit to an interval.

    NaN stays NaN. The gradient passes where low <= x <= high.
    """

    synopsis = "{y} = clip({x}, {low}, {high})"
    formula = "clip(x, low, high)"
    slopes = {"x": "dy if x >= low and x <= high else 0"}
    functions = {
        "hard_tanh": Activation("x kept within -1 and 1.", {"low": -1.0, "high": 1.0}, order=11),
    }
    low = number("Lower limit.", 0.0)
    high = number("Upper limit.", 1.0)
