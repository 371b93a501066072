"""One row per activation function: its NumPy steps and those of its gradient."""

from __future__ import annotations

from math import inf, pi, sqrt

import numpy as np

from studio.engine.cpu.rows import Block, Loop, Row, keep, logistic, normal_share, soft_plus

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
_GELU_ROOT, _GELU_CUBE = sqrt(2.0 / pi), 0.044715
_BELL_HEIGHT = 1.0 / sqrt(2.0 * pi)


def _clip_loop(k: Block) -> Loop:
    from studio.engine.cpu.compiled.activations import clip, clip_in_place

    return clip_in_place if k.in_place else clip


def _clip_compiled(k: Block, ceiling: float) -> None:
    if k.in_place:
        _clip_loop(k)(k.y, 0.0, ceiling)
    else:
        _clip_loop(k)(k.x, k.y, 0.0, ceiling)


def _relu(k: Block) -> None:
    if k.compiled:
        _clip_compiled(k, inf)
        return
    np.maximum(k.x, 0.0, out=k.y)


def _relu_gradient_loop(k: Block) -> Loop:
    from studio.engine.cpu.compiled.activations import relu_gradient, relu_gradient_in_place

    return relu_gradient_in_place if k.in_place else relu_gradient


def _relu_x(k: Block) -> None:
    if k.compiled:
        if k.in_place:
            _relu_gradient_loop(k)(k.y, k.d)
        else:
            _relu_gradient_loop(k)(k.y, k.dy, k.d)
        return
    np.greater(k.y, 0.0, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _sigmoid(k: Block) -> None:
    logistic(k.x, k.s1, k.s2, k.m1)
    np.copyto(k.y, k.s1)


def _sigmoid_x(k: Block) -> None:
    np.subtract(1.0, k.y, out=k.d)
    np.multiply(k.d, k.y, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)


def _tanh_x(k: Block) -> None:
    np.multiply(k.y, k.y, out=k.d)
    np.subtract(1.0, k.d, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)


def _bent(k: Block, alpha: float, scale: float) -> None:
    """scale·x above 0, scale·alpha·(e^x - 1) below: both halves added, one of them being 0."""
    np.minimum(k.x, 0.0, out=k.s1)
    np.expm1(k.s1, out=k.s1)
    np.multiply(k.s1, alpha * scale, out=k.s1)
    np.maximum(k.x, 0.0, out=k.y)
    if scale != 1.0:
        np.multiply(k.y, scale, out=k.y)
    np.add(k.y, k.s1, out=k.y)


def _bent_x(k: Block, alpha: float, scale: float) -> None:
    np.minimum(k.x, 0.0, out=k.s1)
    np.exp(k.s1, out=k.s1)
    np.multiply(k.s1, alpha * scale, out=k.s1)
    np.greater(k.x, 0.0, out=k.m1)
    np.multiply(k.m1, scale - alpha * scale, out=k.d)
    np.add(k.d, k.s1, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)


def _swish(k: Block) -> None:
    np.multiply(k.x, k.beta, out=k.s3)
    logistic(k.s3, k.s1, k.s2, k.m1)
    np.multiply(k.x, k.s1, out=k.y)


def _swish_x(k: Block) -> None:
    np.multiply(k.x, k.beta, out=k.s3)
    logistic(k.s3, k.s1, k.s2, k.m1)
    np.subtract(1.0, k.s1, out=k.s2)
    np.multiply(k.s2, k.s3, out=k.s2)
    np.add(k.s2, 1.0, out=k.s2)
    np.multiply(k.s2, k.s1, out=k.s2)
    np.multiply(k.s2, k.dy, out=k.d)


def _clipped_relu(k: Block) -> None:
    if k.compiled:
        _clip_compiled(k, k.ceiling)
        return
    np.maximum(k.x, 0.0, out=k.y)
    np.minimum(k.y, k.ceiling, out=k.y)


def _clipped_relu_x(k: Block) -> None:
    np.greater(k.x, 0.0, out=k.m1)
    np.less(k.x, k.ceiling, out=k.m2)
    np.logical_and(k.m1, k.m2, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _leaky_relu(k: Block) -> None:
    np.minimum(k.x, 0.0, out=k.s1)
    np.multiply(k.s1, k.alpha, out=k.s1)
    np.maximum(k.x, 0.0, out=k.y)
    np.add(k.y, k.s1, out=k.y)


def _leaky_relu_x(k: Block) -> None:
    np.greater(k.x, 0.0, out=k.m1)
    np.multiply(k.m1, 1.0 - k.alpha, out=k.d)
    np.add(k.d, k.alpha, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)


def _thresholded_relu(k: Block) -> None:
    np.subtract(k.x, k.threshold, out=k.s1)
    np.multiply(k.s1, k.slope, out=k.s1)
    np.greater_equal(k.x, k.threshold, out=k.m1)
    np.copyto(k.s1, k.x, where=k.m1)
    np.greater_equal(k.x, k.ceiling, out=k.m1)
    np.copyto(k.s1, k.ceiling, where=k.m1)
    np.copyto(k.y, k.s1)


def _thresholded_relu_x(k: Block) -> None:
    np.greater_equal(k.x, k.threshold, out=k.m1)
    np.multiply(k.dy, k.slope, out=k.d)
    np.copyto(k.d, k.dy, where=k.m1)
    np.greater_equal(k.x, k.ceiling, out=k.m1)
    np.copyto(k.d, 0.0, where=k.m1)


def _softplus(k: Block) -> None:
    soft_plus(k.x, k.s2, k.s1)
    np.copyto(k.y, k.s2)


def _softplus_x(k: Block) -> None:
    logistic(k.x, k.s1, k.s2, k.m1)
    np.multiply(k.s1, k.dy, out=k.d)


def _softsign(k: Block) -> None:
    np.absolute(k.x, out=k.s1)
    np.add(k.s1, 1.0, out=k.s1)
    np.divide(k.x, k.s1, out=k.y)


def _softsign_x(k: Block) -> None:
    np.absolute(k.x, out=k.s1)
    np.add(k.s1, 1.0, out=k.s1)
    np.multiply(k.s1, k.s1, out=k.s1)
    np.divide(k.dy, k.s1, out=k.d)


def _hard_sigmoid(k: Block) -> None:
    np.divide(k.x, 6.0, out=k.y)
    np.add(k.y, 0.5, out=k.y)
    np.maximum(k.y, 0.0, out=k.y)
    np.minimum(k.y, 1.0, out=k.y)


def _hard_sigmoid_x(k: Block) -> None:
    np.absolute(k.x, out=k.s1)
    np.less(k.s1, 3.0, out=k.m1)
    keep(k.dy, k.m1, k.d)
    np.divide(k.d, 6.0, out=k.d)


def _gelu_inner(k: Block) -> None:
    """s1 = tanh(√(2/π)·(x + 0.044715·x³)), s2 = x²."""
    np.multiply(k.x, k.x, out=k.s2)
    np.multiply(k.s2, _GELU_CUBE, out=k.s1)
    np.add(k.s1, 1.0, out=k.s1)
    np.multiply(k.s1, k.x, out=k.s1)
    np.multiply(k.s1, _GELU_ROOT, out=k.s1)
    np.tanh(k.s1, out=k.s1)


def _gelu(k: Block) -> None:
    _gelu_inner(k)
    np.add(k.s1, 1.0, out=k.s1)
    np.multiply(k.s1, 0.5, out=k.s1)
    np.multiply(k.x, k.s1, out=k.y)


def _gelu_x(k: Block) -> None:
    _gelu_inner(k)
    np.multiply(k.s2, 3.0 * _GELU_CUBE, out=k.s2)
    np.add(k.s2, 1.0, out=k.s2)
    np.multiply(k.s2, _GELU_ROOT, out=k.s2)
    np.multiply(k.s2, k.x, out=k.s2)
    np.multiply(k.s1, k.s1, out=k.s3)
    np.subtract(1.0, k.s3, out=k.s3)
    np.multiply(k.s2, k.s3, out=k.s2)
    np.add(k.s2, k.s1, out=k.s2)
    np.add(k.s2, 1.0, out=k.s2)
    np.multiply(k.s2, 0.5, out=k.s2)
    np.multiply(k.s2, k.dy, out=k.d)


def _gelu_exact(k: Block) -> None:
    normal_share(k.x, k.s1, k.s2, k.s3, k.m1)
    np.multiply(k.x, k.s1, out=k.y)


def _gelu_exact_x(k: Block) -> None:
    normal_share(k.x, k.s1, k.s2, k.s3, k.m1)
    np.multiply(k.s2, _BELL_HEIGHT, out=k.s2)
    np.multiply(k.s2, k.x, out=k.s2)
    np.add(k.s1, k.s2, out=k.s1)
    np.multiply(k.s1, k.dy, out=k.d)


def _mish(k: Block) -> None:
    soft_plus(k.x, k.s2, k.s1)
    np.tanh(k.s2, out=k.s2)
    np.multiply(k.x, k.s2, out=k.y)


def _mish_x(k: Block) -> None:
    logistic(k.x, k.s1, k.s2, k.m1)
    np.multiply(k.s1, k.x, out=k.s1)
    soft_plus(k.x, k.s2, k.s3)
    np.tanh(k.s2, out=k.s2)
    np.multiply(k.s2, k.s2, out=k.s3)
    np.subtract(1.0, k.s3, out=k.s3)
    np.multiply(k.s1, k.s3, out=k.s1)
    np.add(k.s1, k.s2, out=k.s1)
    np.multiply(k.s1, k.dy, out=k.d)


ACTIVATIONS: dict[str, Row] = {
    "RELU": Row(_relu, {"x": _relu_x}, loops={"": _clip_loop, "x": _relu_gradient_loop}),
    "SIGMOID": Row(_sigmoid, {"x": _sigmoid_x}, floats=2),
    "TANH": Row(lambda k: np.tanh(k.x, out=k.y), {"x": _tanh_x}),
    "ELU": Row(
        lambda k: _bent(k, k.alpha, 1.0), {"x": lambda k: _bent_x(k, k.alpha, 1.0)}, floats=1
    ),
    "SWISH": Row(_swish, {"x": _swish_x}, floats=3),
    "CLIPPED_RELU": Row(_clipped_relu, {"x": _clipped_relu_x}, loops={"": _clip_loop}),
    "LEAKY_RELU": Row(_leaky_relu, {"x": _leaky_relu_x}, floats=1),
    "THRESHOLDED_RELU": Row(_thresholded_relu, {"x": _thresholded_relu_x}, floats=1),
    "SELU": Row(
        lambda k: _bent(k, _SELU_ALPHA, _SELU_SCALE),
        {"x": lambda k: _bent_x(k, _SELU_ALPHA, _SELU_SCALE)},
        floats=1,
    ),
    "SOFTPLUS": Row(_softplus, {"x": _softplus_x}, floats=2),
    "SOFTSIGN": Row(_softsign, {"x": _softsign_x}, floats=1),
    "HARD_SIGMOID": Row(_hard_sigmoid, {"x": _hard_sigmoid_x}, floats=1),
    "GELU": Row(_gelu, {"x": _gelu_x}, floats=3),
    "GELU_EXACT": Row(_gelu_exact, {"x": _gelu_exact_x}, floats=3),
    "MISH": Row(_mish, {"x": _mish_x}, floats=3),
}
"""Rows by mnemonic, part of `elementwise.ROWS`."""
