"""Losses: what predictions miss of their targets."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa.ops import activation, arithmetic, function, reduce
from studio.engine.operations import types
from studio.engine.operations.activations import log_softmax
from studio.engine.operations.lines import (
    Axes,
    Axis,
    Lines,
    at_axis,
    cast,
    plus,
    rank_of,
    scalar,
    scaled,
    shape_of,
    shifted,
    times,
)
from studio.engine.operations.reductions import mean, normalize, sum_
from studio.engine.operations.table import operation

Reduction: TypeAlias = Literal["mean", "sum", "none"]
"""How losses are combined: their mean, their sum, or not at all."""


def together(lines: Lines, losses: Ref, weights: Ref, reduction: Reduction) -> Ref:
    """Losses times weights, reduced."""
    if weights.present:
        (weights,) = types.floats(lines, weights)
        losses = times(lines, losses, weights)
    if reduction == "none":
        return losses
    return (mean if reduction == "mean" else sum_)(lines, losses)


def _miss(lines: Lines, targets: Ref, predictions: Ref) -> Ref:
    targets, predictions = types.floats(lines, targets, predictions)
    return plus(lines, predictions, targets, -1.0)


@operation(symbol="MSE", keras="", tfjs="losses.meanSquaredError")
def mean_squared_error(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Squares of what predictions miss."""
    miss = _miss(lines, targets, predictions)
    return together(lines, times(lines, miss, miss), weights, reduction)


@operation(symbol="MAE", tfjs="losses.absoluteDifference")
def absolute_difference(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Sizes of what predictions miss."""
    size = lines.emit(function.Abs, x=_miss(lines, targets, predictions))[0]
    return together(lines, size, weights, reduction)


@operation(symbol="Huber", tfjs="losses.huberLoss")
def huber(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, delta: float = 1.0, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Half the square of a small miss, and a line behind (Huber 1964).

    Args:
        targets: what is right.
        predictions: of the shape of the targets.
        weights: what losses are multiplied with.
        delta: Where the line begins.
    """
    size = lines.emit(function.Abs, x=_miss(lines, targets, predictions))[0]
    inside = lines.emit(arithmetic.Minimum, a=size, b=scalar(lines, delta))[0]
    found = plus(lines, times(lines, inside, size), times(lines, inside, inside), -0.5)
    return together(lines, found, weights, reduction)


@operation(symbol="ln cosh")
def log_cosh(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Logarithm of the hyperbolic cosine of what predictions miss."""
    miss = _miss(lines, targets, predictions)
    soft = lines.emit(activation.Softplus, x=scaled(lines, miss, -2.0))[0]
    found = shifted(lines, plus(lines, miss, soft), -math.log(2))
    return together(lines, found, weights, reduction)


@operation(symbol="-ln p", tfjs="losses.logLoss")
def log_loss(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, epsilon: float = 1e-7, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Cross-entropy of shares: -t·ln(p + epsilon) - (1 - t)·ln(1 - p + epsilon)."""
    t, p = types.floats(lines, targets, predictions)
    hit = lines.emit(function.Log, x=shifted(lines, p, epsilon))[0]
    other = lines.emit(function.Log, x=shifted(lines, scaled(lines, p, -1.0), 1 + epsilon))[0]
    rest = shifted(lines, scaled(lines, t, -1.0), 1.0)
    found = plus(lines, scaled(lines, times(lines, t, hit), -1.0), times(lines, rest, other), -1.0)
    return together(lines, found, weights, reduction)


@operation(symbol="hinge", tfjs="losses.hingeLoss")
def hinge(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, squared: bool = False, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """What is missing to a margin of 1, for targets 0 and 1: max(0, 1 - (2·t - 1)·p).

    Args:
        targets: 0 or 1.
        predictions: of the shape of the targets.
        weights: what losses are multiplied with.
        squared: Whether it is squared.
    """
    t, p = types.floats(lines, targets, predictions)
    side = shifted(lines, scaled(lines, t, 2.0), -1.0)
    margin = shifted(lines, scaled(lines, times(lines, side, p), -1.0), 1.0)
    found = lines.emit(activation.Relu, x=margin)[0]
    if squared:
        found = times(lines, found, found)
    return together(lines, found, weights, reduction)


@operation(symbol="1-cos", tfjs="losses.cosineDistance")
def cosine_distance(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, axis: Axis = -1, normalized: bool = False, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """One minus the sum of products along a dimension, which stays with length 1.

    Args:
        targets: directions.
        predictions: of the shape of the targets.
        weights: what losses are multiplied with.
        normalized: Whether vectors are divided by their lengths first.
    """
    t, p = types.floats(lines, targets, predictions)
    if normalized:
        t, p = normalize(lines, t, axis=axis), normalize(lines, p, axis=axis)
    total = sum_(lines, times(lines, t, p), axis=axis, keepdims=True)
    return together(lines, shifted(lines, scaled(lines, total, -1.0), 1.0), weights, reduction)


@operation(symbol="cos")
def cosine_similarity(lines: Lines, a: Ref, b: Ref, *, axis: Axis = -1) -> Ref:
    """Cosine of the angle between vectors along a dimension."""
    a, b = types.floats(lines, a, b)
    products = times(lines, normalize(lines, a, axis=axis), normalize(lines, b, axis=axis))
    return sum_(lines, products, axis=axis)


@operation(symbol="KL")
def kl_divergence(
    lines: Lines, targets: Ref, predictions: Ref, *, axis: Axis = -1, epsilon: float = 1e-7
) -> Ref:
    """Sum of t·ln(t/p) along a dimension (Kullback and Leibler 1951), as Keras computes it.

    Args:
        targets: shares of 1.
        predictions: shares of 1.
        epsilon: Smaller shares count as that much.
    """
    t, p = (
        lines.emit(function.Clip, x=x, low=epsilon, high=1.0)[0]
        for x in types.floats(lines, targets, predictions)
    )
    apart = plus(lines, lines.emit(function.Log, x=t)[0], lines.emit(function.Log, x=p)[0], -1.0)
    return sum_(lines, times(lines, t, apart), axis=axis)


@operation(symbol="Poisson")
def poisson_loss(
    lines: Lines, targets: Ref, predictions: Ref, weights: Ref = ABSENT,
    *, epsilon: float = 1e-7, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """What counts miss: p - t·ln(p + epsilon)."""
    t, p = types.floats(lines, targets, predictions)
    logs = lines.emit(function.Log, x=shifted(lines, p, epsilon))[0]
    return together(lines, plus(lines, p, times(lines, t, logs), -1.0), weights, reduction)


@operation(symbol="σCE", tfjs="losses.sigmoidCrossEntropy", keras="")
def sigmoid_cross_entropy(
    lines: Lines, targets: Ref, logits: Ref, weights: Ref = ABSENT,
    *, label_smoothing: float = 0.0, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Cross-entropy of the logistic function of logits, without overflow.

    Args:
        targets: 0 to 1.
        logits: of the shape of the targets.
        weights: what losses are multiplied with.
        label_smoothing: How far targets are moved towards one half.
    """
    t, x = types.floats(lines, targets, logits)
    t = shifted(lines, scaled(lines, t, 1 - label_smoothing), 0.5 * label_smoothing)
    # softplus(x) - t·x is max(x, 0) - t·x + ln(1 + e^-|x|).
    found = plus(lines, lines.emit(activation.Softplus, x=x)[0], times(lines, t, x), -1.0)
    return together(lines, found, weights, reduction)


@operation(symbol="CE", tfjs="losses.softmaxCrossEntropy")
def softmax_cross_entropy(
    lines: Lines, targets: Ref, logits: Ref, weights: Ref = ABSENT,
    *, label_smoothing: float = 0.0, axis: Axis = -1, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Cross-entropy of the softmax of logits against shares.

    Args:
        targets: shares of 1 along the dimension.
        logits: of the shape of the targets.
        weights: what losses are multiplied with.
        label_smoothing: How far targets are moved towards equal shares.
    """
    t, x = types.floats(lines, targets, logits)
    if label_smoothing:
        count = shape_of(lines, t)[at_axis(axis, rank_of(lines, t))]
        t = shifted(lines, scaled(lines, t, 1 - label_smoothing), label_smoothing / count)
    products = times(lines, t, log_softmax(lines, x, axis=axis))
    found = scaled(lines, sum_(lines, products, axis=axis), -1.0)
    return together(lines, found, weights, reduction)


@operation(symbol="CE@i")
def sparse_softmax_cross_entropy(
    lines: Lines, classes: Ref, logits: Ref, weights: Ref = ABSENT,
    *, reduction: Reduction = "mean",
) -> Ref:  # fmt: skip
    """Cross-entropy of the softmax of logits against indices of classes.

    Args:
        classes: index of the right class, whole numbers.
        logits: a row for each index.
        weights: what losses are multiplied with.
    """
    (i,), (x,) = types.whole(lines, classes), types.floats(lines, logits)
    if not shape_of(lines, x):
        raise ShapeError("logits need a dimension of classes: got a scalar")
    shares = lines.emit(reduce.OneHot, x=i, depth=shape_of(lines, x)[-1])[0]
    products = times(lines, shares, log_softmax(lines, x, axis=-1))
    found = scaled(lines, sum_(lines, products, axis=-1), -1.0)
    return together(lines, found, weights, reduction)


@operation(symbol="CE", keras="categorical_crossentropy", tfjs="")
def categorical_cross_entropy(
    lines: Lines, targets: Ref, shares: Ref, *, axis: Axis = -1, epsilon: float = 1e-7
) -> Ref:
    """Cross-entropy of shares along a dimension; shares are divided by their sum first."""
    t, p = types.floats(lines, targets, shares)
    p = lines.emit(arithmetic.Div, a=p, b=sum_(lines, p, axis=axis, keepdims=True))[0]
    p = lines.emit(function.Clip, x=p, low=epsilon, high=1 - epsilon)[0]
    products = times(lines, t, lines.emit(function.Log, x=p)[0])
    return scaled(lines, sum_(lines, products, axis=axis), -1.0)


@operation(symbol="BCE", keras="binary_crossentropy", tfjs="")
def binary_cross_entropy(lines: Lines, targets: Ref, shares: Ref, *, epsilon: float = 1e-7) -> Ref:
    """Cross-entropy of each share against 0 or 1."""
    t, p = types.floats(lines, targets, shares)
    p = lines.emit(function.Clip, x=p, low=epsilon, high=1 - epsilon)[0]
    hit = times(lines, t, lines.emit(function.Log, x=p)[0])
    other = lines.emit(function.Log, x=shifted(lines, scaled(lines, p, -1.0), 1.0))[0]
    rest = times(lines, shifted(lines, scaled(lines, t, -1.0), 1.0), other)
    return scaled(lines, plus(lines, hit, rest), -1.0)


@operation(symbol="weighted", tfjs="losses.computeWeightedLoss")
def weighted_loss(
    lines: Lines, losses: Ref, weights: Ref = ABSENT, *, reduction: Reduction = "mean"
) -> Ref:
    """Losses times weights, reduced."""
    (found,) = types.floats(lines, losses)
    return together(lines, found, weights, reduction)


@operation(symbol="acc")
def accuracy(lines: Lines, targets: Ref, predictions: Ref, *, axis: Axes = None) -> Ref:
    """Share of elements that are equal."""
    a, b = types.alike(lines, targets, predictions)
    same = lines.emit(arithmetic.Equal, a=a, b=b)[0]
    return mean(lines, cast(lines, same, DType.float32), axis=axis)
