"""Element-wise functions of one tensor."""

from __future__ import annotations

from studio.engine.isa.families import Unary
from studio.engine.isa.fields import number


class Neg(Unary, code=210, mnemonic="NEG", twin=()):
    """Change the sign.

    y = -x.
    """

    synopsis = "{y} = -{x}"


class Abs(Unary, code=211, mnemonic="ABS", twin=("x",)):
    """Take the absolute value.

    y = |x|. The derivative at 0 is 0.
    """

    synopsis = "{y} = |{x}|"


class Exp(Unary, code=212, mnemonic="EXP", twin=("y",)):
    """Exponential function.

    y = e^x.
    """

    synopsis = "{y} = exp({x})"


class Log(Unary, code=213, mnemonic="LOG", twin=("x",)):
    """Natural logarithm.

    y = ln x. -Inf at 0, NaN below.
    """

    synopsis = "{y} = ln({x})"


class Sqrt(Unary, code=214, mnemonic="SQRT", twin=("y",)):
    """Square root.

    y = √x. NaN below 0; the derivative at 0 is infinite.
    """

    synopsis = "{y} = sqrt({x})"


class Rsqrt(Unary, code=215, mnemonic="RSQRT", twin=("y",)):
    """Reciprocal square root.

    y = 1/√x. Inf at 0, NaN below.
    """

    synopsis = "{y} = 1/sqrt({x})"


class Square(Unary, code=216, mnemonic="SQUARE", twin=("x",)):
    """Square.

    y = x².
    """

    synopsis = "{y} = {x}²"


class Reciprocal(Unary, code=217, mnemonic="RECIPROCAL", twin=("y",)):
    """Reciprocal.

    y = 1/x. ±Inf at 0.
    """

    synopsis = "{y} = 1/{x}"


class Sign(Unary, code=218, mnemonic="SIGN"):
    """Sign of each element.

    y = -1, 0 or 1; NaN stays NaN. No gradient.
    """

    synopsis = "{y} = sign({x})"


class Floor(Unary, code=219, mnemonic="FLOOR"):
    """Round towards minus infinity.

    y = ⌊x⌋. No gradient.
    """

    synopsis = "{y} = floor({x})"


class Sin(Unary, code=220, mnemonic="SIN", twin=("x",)):
    """Sine.

    y = sin x, x in radians.
    """

    synopsis = "{y} = sin({x})"


class Cos(Unary, code=221, mnemonic="COS", twin=("x",)):
    """Cosine.

    y = cos x, x in radians.
    """

    synopsis = "{y} = cos({x})"


class Clip(Unary, code=222, mnemonic="CLIP", twin=("x",)):
    """Limit to an interval.

    y = min(max(x, low), high); NaN stays NaN. The gradient passes where low <= x <= high.
    """

    synopsis = "{y} = clip({x}, {low}, {high})"
    low = number("Lower limit.", 0.0)
    high = number("Upper limit.", 1.0)
