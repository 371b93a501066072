"""Tensors made of numbers."""

from __future__ import annotations

from math import ceil, erf, inf, sqrt
from typing import Literal

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import BATCH, Ref, Shape, shape_text
from studio.engine.isa.ops import arithmetic, function, order, random, reduce
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axis,
    Ints,
    Lines,
    TypeName,
    at_axis,
    cast,
    extent,
    inverse_of,
    order_to_end,
    permuted,
    plus,
    rank_of,
    require_small,
    reshaped,
    scalar,
    scaled,
    shape_of,
    shifted,
    spread,
    times,
)
from studio.engine.operations.table import operation


def _checked(shape: Ints) -> Ints:
    if any(size < 0 for size in shape):
        raise ShapeError(f"lengths must not be below 0: got {shape}")
    return shape


def filled(lines: Lines, shape: Ints, value: float, dtype: DType) -> Ref:
    """BROADCAST of one number."""
    return spread(lines, scalar(lines, value, dtype), shape)


@operation(symbol="0", numpy="zeros", keras="zeros", tfjs="zeros")
def zeros(lines: Lines, *, shape: Ints = (), dtype: TypeName = "float32") -> Ref:
    """Zeros of a shape."""
    return filled(lines, _checked(shape), 0, DType.parse(dtype))


@operation(symbol="1", numpy="ones", keras="ones", tfjs="ones")
def ones(lines: Lines, *, shape: Ints = (), dtype: TypeName = "float32") -> Ref:
    """Ones of a shape."""
    return filled(lines, _checked(shape), 1, DType.parse(dtype))


@operation(symbol="c", numpy="full", keras="full", onnx="ConstantOfShape", tfjs="fill")
def full(lines: Lines, *, shape: Ints = (), value: float = 0.0, dtype: TypeName = "float32") -> Ref:
    """One number everywhere.

    Args:
        value: The number.
    """
    return filled(lines, _checked(shape), value, DType.parse(dtype))


@operation(symbol="0", numpy="zeros_like", keras="zeros_like", tfjs="zerosLike")
def zeros_like(lines: Lines, x: Ref) -> Ref:
    """Zeros in the shape and type of a tensor."""
    shape, dtype = lines.type_of(x)
    return filled(lines, shape, 0, dtype)


@operation(symbol="1", numpy="ones_like", keras="ones_like", tfjs="onesLike")
def ones_like(lines: Lines, x: Ref) -> Ref:
    """Ones in the shape and type of a tensor."""
    shape, dtype = lines.type_of(x)
    return filled(lines, shape, 1, dtype)


@operation(symbol="c", numpy="full_like", keras="full_like")
def full_like(lines: Lines, x: Ref, *, value: float = 0.0) -> Ref:
    """One number everywhere, in the shape and type of a tensor."""
    shape, dtype = lines.type_of(x)
    return filled(lines, shape, value, dtype)


LONGEST_RANGE = 2**31 - 1
"""Most numbers of `arange`."""

_LARGEST_EXACT = 1 << 24
"""Up to here float32 has every whole number."""


@operation(symbol="0…n", numpy="arange", keras="arange", onnx="Range", tfjs="range")
def arange(
    lines: Lines, *, start: float = 0.0, stop: float, step: float = 1.0,
    dtype: Literal["float32", "int32"] = "float32",
) -> Ref:  # fmt: skip
    """Numbers from a first one on, at equal distance, below a last one.

    Args:
        start: The first number.
        stop: Where they end; it is not reached.
        step: Distance of two neighbours.
    """
    if step == 0:
        raise ParameterError("step must not be 0")
    count = max(ceil((stop - start) / step), 0)
    if count > LONGEST_RANGE:
        raise ParameterError(f"there would be {count} numbers: at most {LONGEST_RANGE} may be")
    last = start + (count - 1) * step
    exact = start == int(start) and step == int(step)
    if count and exact and max(abs(start), abs(last)) <= _LARGEST_EXACT:
        first, distance = (scalar(lines, n, DType.parse(dtype)) for n in (start, step))
        return lines.emit(order.Range, start=first, delta=distance, count=count)[0]
    # Fractions are worked out in float64 and rounded once, which RANGE on a device cannot.
    require_small(count)
    return lines.constant(np.arange(start, stop, step).astype(dtype))


@operation(symbol="a…b", numpy="linspace", keras="linspace", tfjs="linspace")
def linspace(
    lines: Lines, *, start: float = 0.0, stop: float = 1.0, count: int = 50, endpoint: bool = True
) -> Ref:
    """Numbers at equal distance from a first to a last one.

    Args:
        start: The first number.
        stop: The last number.
        count: How many.
        endpoint: Whether the last number is among them.
    """
    if count < 0:
        raise ParameterError(f"count must not be below 0: got {count}")
    return lines.constant(np.linspace(start, stop, count, endpoint=endpoint).astype(np.float32))


@operation(symbol="10ᵃ…10ᵇ", numpy="logspace", keras="logspace")
def logspace(
    lines: Lines, *, start: float = 0.0, stop: float = 1.0, count: int = 50, base: float = 10.0
) -> Ref:
    """Powers of a base with exponents at equal distance.

    Args:
        start: The first exponent.
        stop: The last exponent.
        count: How many.
        base: What is raised.
    """
    if count < 0:
        raise ParameterError(f"count must not be below 0: got {count}")
    return lines.constant(np.logspace(start, stop, count, base=base).astype(np.float32))


def _matrix_shape(rows: int, columns: int | None) -> tuple[int, int]:
    wide = rows if columns is None else columns
    if min(rows, wide) < 0:
        raise ParameterError(f"lengths must not be below 0: got {rows} and {wide}")
    return rows, wide


@operation(symbol="I", numpy="eye", keras="eye", onnx="EyeLike", tfjs="eye")
def eye(lines: Lines, *, rows: int, columns: int | None = None, diagonal: int = 0) -> Ref:
    """A matrix with ones on a diagonal.

    Args:
        rows: How many.
        columns: How many; as many as rows where none are given.
        diagonal: Which diagonal: above the main one where positive.
    """
    shape = _matrix_shape(rows, columns)
    return lines.constant(np.eye(*shape, diagonal, dtype=np.float32))


@operation(symbol="I", numpy="identity", keras="identity")
def identity(lines: Lines, *, size: int) -> Ref:
    """A square matrix with ones on its diagonal."""
    return eye(lines, rows=size)


@operation(symbol="◺", numpy="tri", keras="tri")
def tri(lines: Lines, *, rows: int, columns: int | None = None, diagonal: int = 0) -> Ref:
    """A matrix with ones on and below a diagonal.

    Args:
        rows: How many.
        columns: How many; as many as rows where none are given.
        diagonal: Which diagonal: above the main one where positive.
    """
    shape = _matrix_shape(rows, columns)
    return lines.constant(np.tri(*shape, diagonal, dtype=np.float32))


def _masked(lines: Lines, x: Ref, diagonal: int, upper: bool) -> Ref:
    (x,) = types.numbers(lines, x)
    shape = shape_of(lines, x)
    if len(shape) < 2:
        raise ShapeError(f"expected matrices, got {shape_text(shape)}")
    extent(shape, [len(shape) - 2, len(shape) - 1])
    require_small(*shape[-2:])
    mask = np.tri(shape[-2], shape[-1], diagonal - upper)
    kept = 1 - mask if upper else mask
    return times(lines, x, lines.constant(kept.astype(lines.type_of(x).dtype.np)))


@operation(symbol="◺", numpy="tril", keras="tril", onnx="Trilu", tfjs="")
def tril(lines: Lines, x: Ref, *, diagonal: int = 0) -> Ref:
    """Matrices with zeros above a diagonal."""
    return _masked(lines, x, diagonal, False)


@operation(symbol="◹", numpy="triu", keras="triu", tfjs="")
def triu(lines: Lines, x: Ref, *, diagonal: int = 0) -> Ref:
    """Matrices with zeros below a diagonal."""
    return _masked(lines, x, diagonal, True)


@operation(symbol="⋱", numpy="diag", keras="diag", tfjs="diag")
def diag(lines: Lines, x: Ref) -> Ref:
    """A matrix with a vector on its diagonal."""
    shape = shape_of(lines, x)
    if len(shape) != 1 or shape == (BATCH,):
        raise ShapeError(f"expected a vector, got {shape_text(shape)}")
    (x,) = types.numbers(lines, x)
    require_small(shape[0], shape[0])
    mask = np.eye(shape[0], dtype=lines.type_of(x).dtype.np)
    return times(lines, lines.constant(mask), reshaped(lines, x, (shape[0], 1)))


def _diagonal_of(lines: Lines, x: Ref) -> Ref:
    shape = shape_of(lines, x)
    if len(shape) < 2:
        raise ShapeError(f"expected matrices, got {shape_text(shape)}")
    extent(shape, [len(shape) - 2, len(shape) - 1])
    (x,) = types.numbers(lines, x)
    require_small(*shape[-2:])
    mask = np.eye(shape[-2], shape[-1], dtype=lines.type_of(x).dtype.np)
    return times(lines, x, lines.constant(mask))


@operation(symbol="⋱", numpy="diagonal", keras="diagonal")
def diagonal(lines: Lines, x: Ref) -> Ref:
    """The main diagonals of matrices in the last two dimensions."""
    shape = shape_of(lines, x)
    kept = _diagonal_of(lines, x)
    # Over the longer side, so that what remains is as long as the diagonal.
    axis = len(shape) - (2 if shape[-1] <= shape[-2] else 1)
    return lines.emit(reduce.ReduceSum, x=kept, axes=(axis,))[0]


@operation(symbol="tr", numpy="trace linalg.trace", keras="trace")
def trace(lines: Lines, x: Ref) -> Ref:
    """Sum of the main diagonals of matrices in the last two dimensions."""
    kept = _diagonal_of(lines, x)
    rank = rank_of(lines, kept)
    return lines.emit(reduce.ReduceSum, x=kept, axes=(rank - 2, rank - 1))[0]


@operation(symbol="1@i", keras="one_hot", onnx="OneHot", tfjs="oneHot")
def one_hot(
    lines: Lines, x: Ref, *, depth: int, on: float = 1.0, off: float = 0.0, axis: Axis = -1
) -> Ref:
    """Rows with one number at an index and another elsewhere.

    An index outside gives a row of the other number.

    Args:
        x: indices, whole numbers.
        depth: Length of a row.
        on: Number at the index.
        off: Number elsewhere.
        axis: Where the dimension of rows stands in the result.
    """
    (x,) = types.whole(lines, x)
    found = lines.emit(reduce.OneHot, x=x, depth=depth)[0]
    found = shifted(lines, scaled(lines, found, on - off), off)
    rank = rank_of(lines, found)
    order = order_to_end(rank, [at_axis(axis, rank)])
    return permuted(lines, found, inverse_of(order))


@operation(symbol="rand", numpy="random.uniform", keras="random.uniform", onnx="RandomUniform",
           tfjs="randomUniform")  # fmt: skip
def random_uniform(lines: Lines, *, shape: Ints = (), low: float = 0.0, high: float = 1.0) -> Ref:
    """Numbers drawn evenly from an interval.

    Args:
        low: Smallest number.
        high: Bound that is not reached.
    """
    return _drawn(lines, _checked(shape), low, high)


def _drawn(lines: Lines, shape: Shape, low: float = 0.0, high: float = 1.0) -> Ref:
    """RANDOM_UNIFORM; dimension 0 may be the batch."""
    return lines.emit(
        random.RandomUniform, step=lines.step, low=low, high=high, shape=shape,
        stream=lines.stream("uniform"),
    )[0]  # fmt: skip


@operation(symbol="randn", numpy="random.normal", keras="random.normal", onnx="RandomNormal",
           tfjs="randomNormal randomStandardNormal")  # fmt: skip
def random_normal(
    lines: Lines, *, shape: Ints = (), mean: float = 0.0, deviation: float = 1.0
) -> Ref:
    """Numbers drawn from a normal distribution.

    Args:
        mean: Mean of the distribution.
        deviation: Standard deviation.
    """
    return lines.emit(
        random.RandomNormal, step=lines.step, mean=mean, deviation=_spread(deviation),
        shape=_checked(shape), stream=lines.stream("normal"),
    )[0]  # fmt: skip


def _spread(deviation: float) -> float:
    if not 0 <= deviation < inf:
        raise ParameterError(f"deviation must be a number from 0: got {deviation}")
    return deviation


# Giles (2012), "Approximating the erfinv function", single precision, central part.
_ERFINV = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
           -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip


@operation(symbol="randn", keras="random.truncated_normal", tfjs="truncatedNormal")
def truncated_normal(
    lines: Lines, *, shape: Ints = (), mean: float = 0.0, deviation: float = 1.0
) -> Ref:
    """Numbers drawn from a normal distribution without what is over two deviations from its mean.

    √2·erf⁻¹(u) of numbers u drawn evenly between -erf √2 and erf √2.

    Args:
        mean: Mean of the distribution.
        deviation: Standard deviation of the distribution before it is cut.
    """
    bound = erf(sqrt(2.0))
    u = _drawn(lines, _checked(shape), -bound, bound)
    rest = shifted(lines, scaled(lines, times(lines, u, u), -1.0), 1.0)
    w = shifted(lines, scaled(lines, lines.emit(function.Log, x=rest)[0], -1.0), -2.5)
    sums = shifted(lines, scaled(lines, w, _ERFINV[0]), _ERFINV[1])
    for number in _ERFINV[2:]:
        sums = shifted(lines, times(lines, sums, w), number)
    z = scaled(lines, times(lines, sums, u), sqrt(2.0))
    limited = lines.emit(function.Clip, x=z, low=-2.0, high=2.0)[0]
    return shifted(lines, scaled(lines, limited, _spread(deviation)), mean)


@operation(symbol="draw", keras="random.categorical", onnx="Multinomial", tfjs="multinomial")
def multinomial(lines: Lines, logits: Ref, *, count: int = 1) -> Ref:
    """Draws classes by their logits; int32.

    The class is the largest of logit - ln(-ln u) with even u (Gumbel's trick).

    Args:
        logits: of each class, [rows, classes].
        count: How many draws for each row.
    """
    (logits,) = types.floats(lines, logits)
    shape = shape_of(lines, logits)
    if len(shape) != 2 or shape[1] < 1:
        raise ShapeError(f"expected logits [rows, classes], got {shape_text(shape)}")
    if count < 1:
        raise ParameterError(f"count must be at least 1: got {count}")
    rows, classes = shape
    # Half a step above the 2⁻²⁴ steps of u: no logarithm of 0.
    u = shifted(lines, _drawn(lines, (rows, count, classes), 0.0, 1.0 - 2.0**-23), 2.0**-25)
    noise = u
    for _ in range(2):
        noise = scaled(lines, lines.emit(function.Log, x=noise)[0], -1.0)
    sums = plus(lines, reshaped(lines, logits, (rows, 1, classes)), noise)
    return lines.emit(reduce.ArgMax, x=sums, axis=2)[0]


@operation(symbol="Bern", keras="random.binomial", onnx="Bernoulli")
def bernoulli(lines: Lines, probabilities: Ref) -> Ref:
    """Draws 1 with given probabilities, else 0."""
    (p,) = types.floats(lines, probabilities)
    drawn = _drawn(lines, shape_of(lines, p))
    return cast(lines, lines.emit(arithmetic.Greater, a=p, b=drawn)[0], DType.float32)


@operation(symbol="drop", keras="random.dropout", onnx="Dropout", tfjs="dropout")
def dropout(lines: Lines, x: Ref, *, rate: float = 0.5) -> Ref:
    """Sets a share of elements to 0 and scales the others up.

    Args:
        x: any tensor.
        rate: The share.
    """
    (x,) = types.floats(lines, x)
    if rate == 0:
        return x
    return lines.emit(
        random.Dropout, x=x, rate=rate, stream=lines.stream("dropout"), step=lines.step
    )[0]
