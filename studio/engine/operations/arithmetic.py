"""Sums, products and what is made of them, element by element."""

from __future__ import annotations

from functools import reduce

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import arithmetic, function
from studio.engine.operations import types
from studio.engine.operations.lines import Lines, cast, plus, scaled, shifted, times
from studio.engine.operations.table import operation, plain


@operation(symbol="+", numpy="add", keras="add", onnx="Add", tfjs="add")
def add(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Adds two tensors; shapes broadcast."""
    a, b = types.numbers(lines, a, b)
    return plus(lines, a, b)


@operation(symbol="-", numpy="subtract", keras="subtract", onnx="Sub", tfjs="sub")
def subtract(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Subtracts the second tensor from the first; shapes broadcast."""
    a, b = types.numbers(lines, a, b)
    return plus(lines, a, b, -1.0)


@operation(symbol="×", numpy="multiply", keras="multiply", onnx="Mul", tfjs="mul")
def multiply(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Multiplies two tensors; shapes broadcast."""
    a, b = types.numbers(lines, a, b)
    return times(lines, a, b)


@operation(
    symbol="÷", numpy="divide true_divide", keras="divide true_divide", onnx="Div", tfjs="div"
)
def divide(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Divides the first tensor by the second as floats; shapes broadcast."""
    a, b = types.floats(lines, a, b)
    return lines.emit(arithmetic.Div, a=a, b=b)[0]


@operation(symbol="÷0", keras="divide_no_nan", tfjs="divNoNan")
def divide_no_nan(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Divides the first tensor by the second, and gives 0 where that is 0."""
    a, b = types.floats(lines, a, b)
    zero = lines.emit(arithmetic.Equal, a=b, b=scaled(lines, b, 0.0))[0]
    safe = plus(lines, b, cast(lines, zero, DType.float32))
    inverse = lines.emit(arithmetic.Div, a=a, b=safe)[0]
    kept = shifted(lines, scaled(lines, cast(lines, zero, DType.float32), -1.0), 1.0)
    return times(lines, inverse, kept)


@operation(symbol="Σ", onnx="Sum", tfjs="addN")
def add_all(lines: Lines, *xs: Ref) -> Ref:
    """Adds any number of tensors; shapes broadcast."""
    return reduce(lambda a, b: plus(lines, a, b), types.numbers(lines, *xs))


@operation(symbol="×c", numpy="", onnx="")
def scale(lines: Lines, x: Ref, *, factor: float = 1.0) -> Ref:
    """Multiplies by a number."""
    (x,) = types.floats(lines, x)
    return lines.emit(arithmetic.Scale, x=x, alpha=factor)[0]


@operation(symbol="+c")
def add_scalar(lines: Lines, x: Ref, *, number: float = 0.0) -> Ref:
    """Adds a number to every element."""
    (x,) = types.floats(lines, x)
    return lines.emit(arithmetic.AddScalar, x=x, beta=number)[0]


@operation(symbol="aX+bY")
def weighted_sum(lines: Lines, a: Ref, b: Ref, *, alpha: float = 1.0, beta: float = 1.0) -> Ref:
    """Adds two tensors, each times a number.

    Args:
        a: first tensor.
        b: second tensor.
        alpha: Factor of the first tensor.
        beta: Factor of the second tensor.
    """
    a, b = types.floats(lines, a, b)
    return lines.emit(arithmetic.Add, x1=a, x2=b, alpha=alpha, beta=beta)[0]


maximum = plain(
    arithmetic.Maximum, family=__name__, takes="alike", symbol="max",
    numpy="maximum", keras="maximum", onnx="Max", tfjs="maximum",
)  # fmt: skip
minimum = plain(
    arithmetic.Minimum, family=__name__, takes="alike", symbol="min",
    numpy="minimum", keras="minimum", onnx="Min", tfjs="minimum",
)  # fmt: skip
power = plain(
    arithmetic.Pow, family=__name__, name="power", symbol="xʸ",
    numpy="power float_power", keras="power", onnx="Pow", tfjs="pow",
)  # fmt: skip


@operation(symbol="-x", numpy="negative", keras="negative", onnx="Neg", tfjs="neg")
def negative(lines: Lines, x: Ref) -> Ref:
    """Changes the sign."""
    (x,) = types.numbers(lines, x)
    return lines.emit(function.Neg, x=x)[0]


@operation(symbol="(a-b)²", tfjs="squaredDifference")
def squared_difference(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Squares the difference of two tensors; shapes broadcast."""
    a, b = types.numbers(lines, a, b)
    found = plus(lines, a, b, -1.0)
    return times(lines, found, found)


@operation(symbol="√a²+b²", numpy="hypot", keras="hypot")
def hypot(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Length of the hypotenuse over two sides, √(a² + b²)."""
    a, b = types.floats(lines, a, b)
    return lines.emit(function.Sqrt, x=plus(lines, times(lines, a, a), times(lines, b, b)))[0]


@operation(symbol="a→b", numpy="", onnx="")
def interpolate(lines: Lines, a: Ref, b: Ref, weight: Ref) -> Ref:
    """Goes from the first tensor to the second by a weight: a + (b - a)·weight."""
    a, b, weight = types.floats(lines, a, b, weight)
    return plus(lines, a, times(lines, plus(lines, b, a, -1.0), weight))


mod = plain(
    arithmetic.Mod, family=__name__, takes="numbers", symbol="mod",
    numpy="mod remainder", keras="mod", onnx="Mod", tfjs="mod",
)  # fmt: skip
floor_divide = plain(
    arithmetic.FloorDiv, family=__name__, name="floor_divide", takes="numbers", symbol="⌊÷⌋",
    numpy="floor_divide", keras="floor_divide", tfjs="floorDiv",
)  # fmt: skip
