"""Functions of angles and hyperbolic functions, with their inverses; angles are in radians.

Relative errors, measured against float64 on the CPU and on software OpenGL: at most 3e-7, of SINH
and COSH 4e-6 (the exponential of a number near 89 is off by 89 roundings of it).
"""

from __future__ import annotations

from studio.engine.isa.families import Binary, Unary


class Tan(Unary, code=400, mnemonic="TAN", since=2):
    """Tangent.

    x is in radians; NaN at ±Inf. Relative error at most 3e-7, however large x is.
    """

    synopsis = "{y} = tan({x})"
    formula = "tan(x)"
    slopes = {"x": "dy * (1 + y**2)"}


class Asin(Unary, code=401, mnemonic="ASIN", since=2):
    """Inverse sine.

    From -π/2 to π/2; NaN beyond ±1. The derivative at ±1 is infinite.
    """

    synopsis = "{y} = arcsin({x})"
    formula = "asin(x)"
    slopes = {"x": "dy * rsqrt((1 - x) * (1 + x))"}


class Acos(Unary, code=402, mnemonic="ACOS", since=2):
    """Inverse cosine.

    From π down to 0; NaN beyond ±1. The derivative at ±1 is infinite.
    """

    synopsis = "{y} = arccos({x})"
    formula = "acos(x)"
    slopes = {"x": "-dy * rsqrt((1 - x) * (1 + x))"}


class Atan(Unary, code=403, mnemonic="ATAN", since=2):
    """Inverse tangent.

    ±π/2 at ±Inf.
    """

    synopsis = "{y} = arctan({x})"
    formula = "atan(x)"
    slopes = {"x": "dy / (1 + x**2)"}


class Atan2(Binary, code=404, mnemonic="ATAN2", since=2):
    """Angle of the point (b, a) from the axis of b.

    From -π to π. Shapes broadcast. ±0 count as from above and below, and infinities as equally far,
    as IEEE 754 has it. The gradient is NaN at the origin.
    """

    synopsis = "{y} = arctan2({a}, {b})"
    formula = "atan2(a, b)"
    slopes = {"a": "dy * (b / (a**2 + b**2))", "b": "-dy * (a / (a**2 + b**2))"}


class Sinh(Unary, code=405, mnemonic="SINH", since=2):
    """Hyperbolic sine.

    ±Inf beyond 89.4.
    """

    synopsis = "{y} = sinh({x})"
    formula = "sinh(x)"
    slopes = {"x": "dy * cosh(x)"}


class Cosh(Unary, code=406, mnemonic="COSH", since=2):
    """Hyperbolic cosine.

    Inf beyond ±89.4.
    """

    synopsis = "{y} = cosh({x})"
    formula = "cosh(x)"
    slopes = {"x": "dy * sinh(x)"}


class Asinh(Unary, code=407, mnemonic="ASINH", since=2):
    """Inverse hyperbolic sine.

    ±Inf at ±Inf.
    """

    synopsis = "{y} = arsinh({x})"
    formula = "asinh(x)"
    slopes = {"x": "dy * rsqrt(1 + x**2)"}


class Acosh(Unary, code=408, mnemonic="ACOSH", since=2):
    """Inverse hyperbolic cosine.

    NaN below 1; the derivative at 1 is infinite.
    """

    synopsis = "{y} = arcosh({x})"
    formula = "acosh(x)"
    slopes = {"x": "dy * rsqrt(x - 1) * rsqrt(x + 1)"}


class Atanh(Unary, code=409, mnemonic="ATANH", since=2):
    """Inverse hyperbolic tangent.

    ±Inf at ±1, NaN beyond.
    """

    synopsis = "{y} = artanh({x})"
    formula = "atanh(x)"
    slopes = {
        "x": """
            d = 1 - abs(x)
            dy / (d * (2 - d))
        """
    }
