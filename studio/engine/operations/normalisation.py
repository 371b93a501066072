"""Normalisations with statistics of what they are given."""

from __future__ import annotations

import numpy as np

from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.ops import arithmetic, function
from studio.engine.isa.ops.linear import MatMul
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axes,
    Axis,
    Lines,
    at_axis,
    extent,
    plus,
    require_small,
    reshaped,
    scalar,
    scaled,
    shape_of,
    shifted,
    times,
)
from studio.engine.operations.reductions import centred, mean
from studio.engine.operations.table import operation


def _per_channel(lines: Lines, values: Ref, rank: int, axis: int) -> Ref:
    """A vector that broadcasts along one dimension."""
    (values,) = types.floats(lines, values)
    shape = shape_of(lines, values)
    if len(shape) != 1 or axis == rank - 1:
        return values
    return reshaped(lines, values, tuple(shape[0] if i == axis else 1 for i in range(rank)))


@operation(symbol="BN", keras="batch_normalization", onnx="BatchNormalization", tfjs="batchNorm")
def batch_normalization(
    lines: Lines, x: Ref, mean: Ref, variance: Ref, offset: Ref = ABSENT, scale: Ref = ABSENT,
    *, axis: Axis = -1, epsilon: float = 1e-3,
) -> Ref:  # fmt: skip
    """Normalises channels by statistics that are given: (x - mean)/√(variance + epsilon).

    Args:
        x: any tensor.
        mean: of each channel.
        variance: of each channel.
        offset: added behind the scale.
        scale: what normalised values are multiplied with.
    """
    (x,) = types.floats(lines, x)
    rank = len(shape_of(lines, x))
    at = at_axis(axis, rank)
    centre, spread = (_per_channel(lines, ref, rank, at) for ref in (mean, variance))
    factor = lines.emit(function.Rsqrt, x=shifted(lines, spread, epsilon))[0]
    if scale.present:
        factor = times(lines, factor, _per_channel(lines, scale, rank, at))
    found = times(lines, plus(lines, x, centre, -1.0), factor)
    return plus(lines, found, _per_channel(lines, offset, rank, at)) if offset.present else found


def _normalized(lines: Lines, x: Ref, axes: Axes, epsilon: float) -> Ref:
    from_mean = centred(lines, x, axes)
    spread = mean(lines, times(lines, from_mean, from_mean), axis=axes, keepdims=True)
    inverse = lines.emit(function.Rsqrt, x=shifted(lines, spread, epsilon))[0]
    return times(lines, from_mean, inverse)


def _scaled_and_shifted(lines: Lines, x: Ref, scale: Ref, offset: Ref) -> Ref:
    if scale.present:
        x = times(lines, x, types.floats(lines, scale)[0])
    return plus(lines, x, types.floats(lines, offset)[0]) if offset.present else x


@operation(symbol="LN", keras="layer_normalization", onnx="LayerNormalization")
def layer_normalization(
    lines: Lines, x: Ref, scale: Ref = ABSENT, offset: Ref = ABSENT,
    *, axis: Axes = -1, epsilon: float = 1e-3,
) -> Ref:  # fmt: skip
    """Gives each sample mean 0 and variance 1 along dimensions (Ba et al. 2016)."""
    (x,) = types.floats(lines, x)
    return _scaled_and_shifted(lines, _normalized(lines, x, axis, epsilon), scale, offset)


@operation(symbol="RMS", keras="rms_normalization", onnx="RMSNormalization")
def rms_normalization(
    lines: Lines, x: Ref, scale: Ref = ABSENT, *, axis: Axes = -1, epsilon: float = 1e-7
) -> Ref:
    """Divides by the root of the mean square along dimensions (Zhang and Sennrich 2019)."""
    (x,) = types.floats(lines, x)
    squares = mean(lines, times(lines, x, x), axis=axis, keepdims=True)
    found = times(lines, x, lines.emit(function.Rsqrt, x=shifted(lines, squares, epsilon))[0])
    return _scaled_and_shifted(lines, found, scale, ABSENT)


@operation(symbol="IN", onnx="InstanceNormalization")
def instance_normalization(
    lines: Lines, x: Ref, scale: Ref = ABSENT, offset: Ref = ABSENT, *, epsilon: float = 1e-5
) -> Ref:
    """Gives each channel of each sample mean 0 and variance 1; channels are last."""
    (x,) = types.floats(lines, x)
    rank = len(shape_of(lines, x))
    if rank < 3:
        raise ShapeError("expected a batch, positions and channels")
    axes = tuple(range(1, rank - 1))
    return _scaled_and_shifted(lines, _normalized(lines, x, axes, epsilon), scale, offset)


@operation(symbol="GN", onnx="GroupNormalization")
def group_normalization(
    lines: Lines, x: Ref, scale: Ref = ABSENT, offset: Ref = ABSENT,
    *, groups: int = 1, epsilon: float = 1e-3,
) -> Ref:  # fmt: skip
    """Gives groups of channels of each sample mean 0 and variance 1 (Wu and He 2018).

    Args:
        x: a batch with its channels last.
        scale: what normalised channels are multiplied with.
        offset: added behind the scale.
        groups: How many there are.
    """
    (x,) = types.floats(lines, x)
    shape = shape_of(lines, x)
    if len(shape) < 2 or groups < 1 or shape[-1] % groups:
        raise ShapeError(f"{groups} groups need channels that are a multiple of it")
    batch, channels = shape[0], shape[-1]
    positions = extent(shape, range(1, len(shape) - 1))
    apart = reshaped(lines, x, (batch, positions, groups, channels // groups))
    found = reshaped(lines, _normalized(lines, apart, (1, 3), epsilon), shape)
    return _scaled_and_shifted(lines, found, scale, offset)


@operation(symbol="LRN", onnx="LRN", tfjs="localResponseNormalization")
def local_response_normalization(
    lines: Lines, x: Ref,
    *, radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
) -> Ref:  # fmt: skip
    """Divides by a power of the squares of neighbouring channels (Krizhevsky et al. 2012).

    x / (bias + alpha·Σ x²)^beta, over the channels up to ``radius`` away.

    Args:
        x: images with their channels last.
        radius: How many channels on either side count.
        bias: Added to the sum.
        alpha: Factor of the sum.
        beta: The power.
    """
    (x,) = types.floats(lines, x)
    if radius < 0:
        raise ParameterError(f"radius must not be below 0: got {radius}")
    shape = shape_of(lines, x)
    if len(shape) < 2:
        raise ShapeError("expected a batch and channels")
    count = extent(shape, [len(shape) - 1])
    require_small(count, count)
    places = np.arange(count)
    near = (np.abs(places[:, None] - places) <= radius).astype(np.float32)
    sums = lines.emit(MatMul, a=times(lines, x, x), b=lines.constant(near))[0]
    base = shifted(lines, scaled(lines, sums, alpha), bias)
    factor = lines.emit(arithmetic.Pow, a=base, b=scalar(lines, -beta))[0]
    return times(lines, x, factor)
