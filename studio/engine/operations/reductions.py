"""Sums, means, extremes and places of extremes along dimensions."""

from __future__ import annotations

from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import BATCH, Ref
from studio.engine.isa.ops import arithmetic, function, reduce
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axes,
    Axis,
    Lines,
    at_axes,
    at_axis,
    extent,
    plus,
    rank_of,
    reshaped,
    scaled,
    shape_of,
    shifted,
    times,
    with_one,
    without,
)
from studio.engine.operations.table import operation


def along(
    lines: Lines, cls: type[reduce.Reduce], x: Ref, axis: Axes, keepdims: bool = False
) -> Ref:
    """A reduction, unless there is no dimension to reduce."""
    axes = at_axes(axis, rank_of(lines, x))
    return lines.emit(cls, x=x, axes=axes, keepdims=keepdims)[0] if axes else x


@operation(symbol="Σ", name="sum", numpy="sum", keras="sum", onnx="ReduceSum", tfjs="sum")
def sum_(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Sum along dimensions; truth values are counted."""
    (x,) = types.numbers(lines, x)
    return along(lines, reduce.ReduceSum, x, axis, keepdims)


@operation(symbol="mean", numpy="mean", keras="mean", onnx="ReduceMean", tfjs="mean")
def mean(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Mean along dimensions."""
    (x,) = types.floats(lines, x)
    return along(lines, reduce.ReduceMean, x, axis, keepdims)


@operation(
    symbol="max", name="max", numpy="max amax", keras="max amax", onnx="ReduceMax", tfjs="max"
)
def max_(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Largest element along dimensions; NaN wins."""
    return along(lines, reduce.ReduceMax, x, axis, keepdims)


@operation(
    symbol="min", name="min", numpy="min amin", keras="min amin", onnx="ReduceMin", tfjs="min"
)
def min_(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Smallest element along dimensions; NaN wins."""
    return along(lines, reduce.ReduceMin, x, axis, keepdims)


@operation(symbol="range", numpy="ptp")
def peak_to_peak(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Largest minus smallest element along dimensions."""
    (x,) = types.numbers(lines, x)
    return plus(lines, max_(lines, x, axis=axis, keepdims=keepdims),
                min_(lines, x, axis=axis, keepdims=keepdims), -1.0)  # fmt: skip


def centred(lines: Lines, x: Ref, axis: Axes) -> Ref:
    """What x is above its mean along dimensions."""
    return plus(lines, x, mean(lines, x, axis=axis, keepdims=True), -1.0)


@operation(symbol="σ²", numpy="var", keras="var")
def var(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False, ddof: int = 0) -> Ref:
    """Variance along dimensions.

    Args:
        x: any tensor.
        ddof: What is taken from the number of elements before it divides.
    """
    (x,) = types.floats(lines, x)
    from_mean = centred(lines, x, axis)
    squares = times(lines, from_mean, from_mean)
    found = mean(lines, squares, axis=axis, keepdims=keepdims)
    if ddof == 0:
        return found
    count = extent(shape_of(lines, x), at_axes(axis, rank_of(lines, x)))
    if count <= ddof:
        raise ParameterError(f"ddof must be below the number of elements {count}: got {ddof}")
    return scaled(lines, found, count / (count - ddof))


@operation(symbol="σ", numpy="std", keras="std")
def std(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False, ddof: int = 0) -> Ref:
    """Standard deviation along dimensions.

    Args:
        x: any tensor.
        ddof: What is taken from the number of elements before it divides.
    """
    found = var(lines, x, axis=axis, keepdims=keepdims, ddof=ddof)
    return lines.emit(function.Sqrt, x=found)[0]


@operation(symbol="μ,σ²", keras="moments", tfjs="moments")
def moments(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> tuple[Ref, Ref]:
    """Mean and variance along dimensions."""
    found = mean(lines, x, axis=axis, keepdims=keepdims)
    return found, var(lines, x, axis=axis, keepdims=keepdims)


@operation(symbol="ln Σeˣ", keras="logsumexp", onnx="ReduceLogSumExp", tfjs="logSumExp")
def logsumexp(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Logarithm of the sum of e^x along dimensions, without overflow.

    Where the largest element is infinite the result is NaN.
    """
    (x,) = types.floats(lines, x)
    axes = at_axes(axis, rank_of(lines, x))
    top = max_(lines, x, axis=axes, keepdims=True)
    powers = lines.emit(function.Exp, x=plus(lines, x, top, -1.0))[0]
    total = lines.emit(function.Log, x=sum_(lines, powers, axis=axes, keepdims=True))[0]
    found = plus(lines, total, top)
    return found if keepdims else reshaped(lines, found, without(shape_of(lines, x), axes))


@operation(symbol="ln Σ", onnx="ReduceLogSum")
def log_sum(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Logarithm of the sum along dimensions."""
    (x,) = types.floats(lines, x)
    return lines.emit(function.Log, x=sum_(lines, x, axis=axis, keepdims=keepdims))[0]


@operation(symbol="Σx²", onnx="ReduceSumSquare")
def sum_of_squares(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Sum of squares along dimensions."""
    (x,) = types.numbers(lines, x)
    return sum_(lines, times(lines, x, x), axis=axis, keepdims=keepdims)


@operation(symbol="Σ|x|", onnx="ReduceL1")
def sum_of_sizes(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Sum of absolute values along dimensions."""
    (x,) = types.numbers(lines, x)
    sizes = lines.emit(function.Abs, x=x)[0]
    return sum_(lines, sizes, axis=axis, keepdims=keepdims)


@operation(symbol="‖x‖", numpy="linalg.norm", keras="norm", onnx="ReduceL2", tfjs="norm")
def norm(
    lines: Lines, x: Ref, *, order: float = 2.0, axis: Axes = None, keepdims: bool = False
) -> Ref:
    """Length of vectors along dimensions: (Σ|x|^order)^(1/order).

    Args:
        x: any tensor.
        order: 1 for the sum of absolute values, 2 for the Euclidean length, 0 for the largest
            absolute value; others above 0 are powers.
    """
    (x,) = types.floats(lines, x)
    if order == 2:
        squares = sum_of_squares(lines, x, axis=axis, keepdims=keepdims)
        return lines.emit(function.Sqrt, x=squares)[0]
    sizes = lines.emit(function.Abs, x=x)[0]
    if order == 1:
        return sum_(lines, sizes, axis=axis, keepdims=keepdims)
    if order == 0:
        return max_(lines, sizes, axis=axis, keepdims=keepdims)
    if order < 0:
        raise ParameterError(f"order must not be below 0: got {order:g}")
    powers = lines.emit(arithmetic.Pow, a=sizes, b=lines.constant(order))[0]
    total = sum_(lines, powers, axis=axis, keepdims=keepdims)
    return lines.emit(arithmetic.Pow, a=total, b=lines.constant(1 / order))[0]


@operation(symbol="x/‖x‖", keras="normalize", onnx="LpNormalization")
def normalize(lines: Lines, x: Ref, *, axis: Axes = -1, epsilon: float = 1e-12) -> Ref:
    """Divides vectors along dimensions by their Euclidean length.

    Args:
        x: any tensor.
        epsilon: Squares of lengths below it count as that much.
    """
    (x,) = types.floats(lines, x)
    squares = sum_of_squares(lines, x, axis=axis, keepdims=True)
    least = lines.emit(arithmetic.Maximum, a=squares, b=lines.constant(epsilon))[0]
    return times(lines, x, lines.emit(function.Rsqrt, x=least)[0])


@operation(symbol="#≠0", numpy="count_nonzero", keras="count_nonzero")
def count_nonzero(lines: Lines, x: Ref, *, axis: Axes = None) -> Ref:
    """How many elements along dimensions are not 0."""
    (x,) = types.truths(lines, x)
    return sum_(lines, x, axis=axis)


def _place(
    lines: Lines, cls: type[reduce.ArgExtreme], x: Ref, axis: Axis | None, keepdims: bool
) -> Ref:
    """The place of an extreme along one dimension, or among all elements."""
    (x,) = types.numbers(lines, x)
    shape = shape_of(lines, x)
    if not shape:
        raise ShapeError("a scalar has no dimension to look along")
    if axis is None:
        if shape[0] == BATCH:
            raise ShapeError("say the axis: the length of the batch is not known here")
        x = reshaped(lines, x, (extent(shape, range(len(shape))),))
        found = lines.emit(cls, x=x)[0]
        return reshaped(lines, found, (1,) * len(shape)) if keepdims else found
    at = at_axis(axis, len(shape))
    found = lines.emit(cls, x=x, axis=at)[0]
    return reshaped(lines, found, with_one(shape, [at])) if keepdims else found


@operation(symbol="argmax", numpy="argmax", keras="argmax", onnx="ArgMax", tfjs="argMax")
def argmax(lines: Lines, x: Ref, *, axis: int | None = None, keepdims: bool = False) -> Ref:
    """Place of the largest element along a dimension as int32; the first of equals."""
    return _place(lines, reduce.ArgMax, x, axis, keepdims)


@operation(symbol="argmin", numpy="argmin", keras="argmin", onnx="ArgMin", tfjs="argMin")
def argmin(lines: Lines, x: Ref, *, axis: int | None = None, keepdims: bool = False) -> Ref:
    """Place of the smallest element along a dimension as int32; the first of equals."""
    return _place(lines, reduce.ArgMin, x, axis, keepdims)


@operation(symbol="Π", name="prod", numpy="prod", keras="prod", onnx="ReduceProd", tfjs="prod")
def prod_(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Product along dimensions."""
    (x,) = types.numbers(lines, x)
    return along(lines, reduce.ReduceProd, x, axis, keepdims)


@operation(symbol="z", numpy="", onnx="MeanVarianceNormalization")
def standardize(lines: Lines, x: Ref, *, axis: Axes = -1, epsilon: float = 1e-9) -> Ref:
    """Gives vectors along dimensions mean 0 and variance 1."""
    (x,) = types.floats(lines, x)
    from_mean = centred(lines, x, axis)
    spread = mean(lines, times(lines, from_mean, from_mean), axis=axis, keepdims=True)
    inverse = lines.emit(function.Rsqrt, x=shifted(lines, spread, epsilon))[0]
    return times(lines, from_mean, inverse)
