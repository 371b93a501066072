"""Windows, frames, polynomials and differences of sequences."""

from __future__ import annotations

import numpy as np

from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import Ref, shape_text
from studio.engine.isa.ops import function, index
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axis,
    Lines,
    at_axis,
    cut,
    extent,
    plus,
    rank_of,
    require_small,
    reshaped,
    scaled,
    shape_of,
    times,
)
from studio.engine.operations.moving import expand_dims
from studio.engine.operations.products import matmul
from studio.engine.operations.reductions import sum_
from studio.engine.operations.table import operation


def _periodic(lines: Lines, length: int, first: float) -> Ref:
    """first - (1 - first)·cos(2πk/length): a window of one period."""
    if length < 1:
        raise ParameterError(f"length must be at least 1: got {length}")
    places = np.arange(length) / length
    found = first - (1 - first) * np.cos(2 * np.pi * places)
    return lines.constant(found.astype(np.float32))


@operation(symbol="Hann", onnx="HannWindow", tfjs="signal.hannWindow")
def hann_window(lines: Lines, *, length: int) -> Ref:
    """A raised cosine of one period, 0 at its beginning."""
    return _periodic(lines, length, 0.5)


@operation(symbol="Hamming", onnx="HammingWindow", tfjs="signal.hammingWindow")
def hamming_window(lines: Lines, *, length: int) -> Ref:
    """A raised cosine of one period, 0.08 at its beginning."""
    return _periodic(lines, length, 0.54)


@operation(symbol="frames", tfjs="signal.frame")
def frame(lines: Lines, x: Ref, *, length: int, step: int) -> Ref:
    """Pieces of a sequence in the last dimension, which may overlap: [..., frames, length].

    Args:
        x: sequences.
        length: Of a frame.
        step: From the beginning of one frame to that of the next.
    """
    shape = shape_of(lines, x)
    if not shape:
        raise ShapeError("a scalar is no sequence")
    whole = extent(shape, [len(shape) - 1])
    if not 1 <= length <= whole or step < 1:
        raise ParameterError(
            f"frames of {length} by steps of {step} do not fit a length of {whole}"
        )
    count = (whole - length) // step + 1
    require_small(count, length)
    places = np.arange(count)[:, None] * step + np.arange(length)
    indices = lines.constant(places.astype(np.int32))
    return lines.emit(index.Gather, x=x, i=indices, axis=len(shape) - 1)[0]


@operation(symbol="Δ", numpy="diff", keras="diff")
def diff(lines: Lines, x: Ref, *, axis: Axis = -1) -> Ref:
    """Differences of neighbours along a dimension."""
    (x,) = types.numbers(lines, x)
    at = at_axis(axis, rank_of(lines, x))
    length = extent(shape_of(lines, x), [at])
    if length < 1:
        raise ShapeError("there is no element to begin with")
    return plus(lines, cut(lines, x, at, 1, length - 1), cut(lines, x, at, 0, length - 1), -1.0)


@operation(symbol="p(x)", numpy="polyval")
def polyval(lines: Lines, coefficients: Ref, x: Ref) -> Ref:
    """Value of a polynomial, the coefficient of the highest power first.

    Args:
        coefficients: a vector.
        x: where it is worked out.
    """
    coefficients, x = types.floats(lines, coefficients, x)
    shape = shape_of(lines, coefficients)
    if len(shape) != 1 or shape[0] < 1:
        raise ShapeError(f"expected a vector of coefficients, got {shape_text(shape)}")
    found = scaled(lines, x, 0.0)
    for place in range(shape[0]):
        found = plus(lines, times(lines, found, x), cut(lines, coefficients, 0, place, 1))
    return found


@operation(symbol="a×b", numpy="cross", keras="cross")
def cross(lines: Lines, a: Ref, b: Ref) -> Ref:
    """The vector at right angles to two vectors of 3 in the last dimension."""
    a, b = types.floats(lines, a, b)
    for x in (a, b):
        if shape_of(lines, x)[-1:] != (3,):
            raise ShapeError(f"expected vectors of 3, got {shape_text(shape_of(lines, x))}")

    def turned(x: Ref, by: int) -> Ref:
        order = lines.constant(np.roll(np.arange(3), -by).astype(np.int32))
        return lines.emit(index.Gather, x=x, i=order, axis=rank_of(lines, x) - 1)[0]

    return plus(
        lines, times(lines, turned(a, 1), turned(b, 2)), times(lines, turned(a, 2), turned(b, 1)),
        -1.0,
    )  # fmt: skip


@operation(symbol="A⊗B", numpy="kron", keras="kron")
def kron(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Every product of an element of one matrix with the other matrix (Kronecker)."""
    a, b = types.floats(lines, a, b)
    left, right = shape_of(lines, a), shape_of(lines, b)
    if len(left) != 2 or len(right) != 2:
        raise ShapeError(f"expected two matrices, got {shape_text(left)} and {shape_text(right)}")
    extent(left, (0, 1))
    wide = reshaped(lines, a, (left[0], 1, left[1], 1))
    tall = reshaped(lines, b, (1, right[0], 1, right[1]))
    return reshaped(lines, times(lines, wide, tall), (left[0] * right[0], left[1] * right[1]))


@operation(symbol="∫", numpy="trapezoid", keras="")
def trapezoid(lines: Lines, x: Ref, *, distance: float = 1.0, axis: Axis = -1) -> Ref:
    """Area under points at equal distance, by trapezoids.

    Args:
        x: heights.
        distance: From one point to the next.
    """
    (x,) = types.floats(lines, x)
    at = at_axis(axis, rank_of(lines, x))
    length = extent(shape_of(lines, x), [at])
    if length < 2:
        raise ShapeError(f"two points are needed: got {length}")
    pairs = plus(lines, cut(lines, x, at, 1, length - 1), cut(lines, x, at, 0, length - 1))
    return scaled(lines, sum_(lines, pairs, axis=at), 0.5 * distance)


@operation(symbol="band", tfjs="linalg.bandPart")
def band_part(lines: Lines, x: Ref, *, below: int = -1, above: int = -1) -> Ref:
    """Matrices with zeros outside of a band around their diagonal.

    Args:
        x: matrices in the last two dimensions.
        below: Diagonals kept below the main one; -1 for all.
        above: Diagonals kept above the main one; -1 for all.
    """
    (x,) = types.numbers(lines, x)
    shape = shape_of(lines, x)
    if len(shape) < 2:
        raise ShapeError(f"expected matrices, got {shape_text(shape)}")
    extent(shape, (len(shape) - 2, len(shape) - 1))
    require_small(*shape[-2:])
    apart = np.arange(shape[-1]) - np.arange(shape[-2])[:, None]
    kept = ((apart >= -below) | (below < 0)) & ((apart <= above) | (above < 0))
    return times(lines, x, lines.constant(kept.astype(lines.type_of(x).dtype.np)))


@operation(symbol="DFT", onnx="")
def power_spectrum(lines: Lines, x: Ref) -> Ref:
    """Squares of the absolute values of the discrete Fourier transform along the last dimension.

    For real sequences of length n, at the frequencies 0 to n // 2.
    """
    (x,) = types.floats(lines, x)
    shape = shape_of(lines, x)
    if not shape:
        raise ShapeError("a scalar is no sequence")
    length = extent(shape, [len(shape) - 1])
    require_small(length, length // 2 + 1)
    # Whole products are reduced first, so that large ones lose no digits.
    turns = np.outer(np.arange(length), np.arange(length // 2 + 1)) % max(length, 1)
    angles = 2 * np.pi * turns / length
    real = matmul(lines, x, lines.constant(np.cos(angles).astype(np.float32)))
    imaginary = matmul(lines, x, lines.constant(np.sin(angles).astype(np.float32)))
    return plus(lines, times(lines, real, real), times(lines, imaginary, imaginary))


@operation(symbol="pairs")
def pairwise_distances(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Euclidean distances of every row of a to every row of b."""
    a, b = types.floats(lines, a, b)
    apart = plus(lines, expand_dims(lines, a, axis=-2), expand_dims(lines, b, axis=-3), -1.0)
    return lines.emit(function.Sqrt, x=sum_(lines, times(lines, apart, apart), axis=-1))[0]
