"""One row per element-wise instruction: its NumPy steps and those of each gradient."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.activations import ACTIVATIONS
from studio.engine.cpu.rows import Block, Row, keep
from studio.engine.cpu.updates import UPDATES


def _add(k: Block) -> None:
    if k.alpha == 1.0 and k.beta == 1.0:
        np.add(k.x1, k.x2, out=k.y)
        return
    np.multiply(k.x2, k.beta, out=k.s1)
    np.multiply(k.x1, k.alpha, out=k.y)
    np.add(k.y, k.s1, out=k.y)


def _div_b(k: Block) -> None:
    np.multiply(k.b, k.b, out=k.s1)
    np.multiply(k.dy, k.a, out=k.d)
    np.divide(k.d, k.s1, out=k.d)
    np.negative(k.d, out=k.d)


def _maximum_a(k: Block) -> None:
    np.greater_equal(k.a, k.b, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _maximum_b(k: Block) -> None:
    np.greater_equal(k.a, k.b, out=k.m1)
    np.logical_not(k.m1, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _minimum_a(k: Block) -> None:
    np.less_equal(k.a, k.b, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _minimum_b(k: Block) -> None:
    np.less_equal(k.a, k.b, out=k.m1)
    np.logical_not(k.m1, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _pow_a(k: Block) -> None:
    np.subtract(k.b, 1.0, out=k.s1)
    np.power(k.a, k.s1, out=k.s1)
    np.multiply(k.s1, k.b, out=k.s1)
    np.multiply(k.s1, k.dy, out=k.s1)
    np.not_equal(k.b, 0.0, out=k.m1)
    keep(k.s1, k.m1, k.d)


def _pow_b(k: Block) -> None:
    np.log(k.a, out=k.s1)
    np.multiply(k.s1, k.y, out=k.s1)
    np.multiply(k.s1, k.dy, out=k.s1)
    np.not_equal(k.a, 0.0, out=k.m1)
    keep(k.s1, k.m1, k.d)


def _select(k: Block) -> None:
    np.copyto(k.s1, k.b, casting="unsafe")
    np.copyto(k.s1, k.a, where=k.c, casting="unsafe")
    np.copyto(k.y, k.s1, casting="unsafe")


def _select_b(k: Block) -> None:
    np.logical_not(k.c, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _abs_x(k: Block) -> None:
    np.sign(k.x, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)


def _sqrt_x(k: Block) -> None:
    np.divide(k.dy, k.y, out=k.d)
    np.multiply(k.d, 0.5, out=k.d)


def _rsqrt(k: Block) -> None:
    np.sqrt(k.x, out=k.y)
    np.divide(1.0, k.y, out=k.y)


def _rsqrt_x(k: Block) -> None:
    np.multiply(k.y, k.y, out=k.d)
    np.multiply(k.d, k.y, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)
    np.multiply(k.d, -0.5, out=k.d)


def _square_x(k: Block) -> None:
    np.multiply(k.dy, k.x, out=k.d)
    np.multiply(k.d, 2.0, out=k.d)


def _reciprocal_x(k: Block) -> None:
    np.multiply(k.y, k.y, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)
    np.negative(k.d, out=k.d)


def _sin_x(k: Block) -> None:
    np.cos(k.x, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)


def _cos_x(k: Block) -> None:
    np.sin(k.x, out=k.d)
    np.multiply(k.d, k.dy, out=k.d)
    np.negative(k.d, out=k.d)


def _clip(k: Block) -> None:
    np.maximum(k.x, k.low, out=k.y)
    np.minimum(k.y, k.high, out=k.y)


def _clip_x(k: Block) -> None:
    np.greater_equal(k.x, k.low, out=k.m1)
    np.less_equal(k.x, k.high, out=k.m2)
    np.logical_and(k.m1, k.m2, out=k.m1)
    keep(k.dy, k.m1, k.d)


def _cast(k: Block) -> None:
    np.copyto(k.y, k.x, casting="unsafe")


def _normalize(k: Block) -> None:
    np.copyto(k.s1, k.x, casting="unsafe")
    np.multiply(k.s1, k.scale, out=k.s1)
    np.add(k.s1, k.shift, out=k.y)


def _clip_value(k: Block) -> None:
    np.maximum(k.g, -k.limit, out=k.g)
    np.minimum(k.g, k.limit, out=k.g)


def _clip_norm(k: Block) -> None:
    np.multiply(k.g, np.float32(k.limit) / np.maximum(k.norm, k.limit), out=k.g)


ROWS: dict[str, Row] = {
    # arithmetic
    "ADD": Row(
        _add,
        {
            "x1": lambda k: np.multiply(k.dy, k.alpha, out=k.d),
            "x2": lambda k: np.multiply(k.dy, k.beta, out=k.d),
        },
        floats=1,
    ),
    "SCALE": Row(
        lambda k: np.multiply(k.x, k.alpha, out=k.y),
        {"x": lambda k: np.multiply(k.dy, k.alpha, out=k.d)},
    ),
    "ADD_SCALAR": Row(
        lambda k: np.add(k.x, k.beta, out=k.y), {"x": lambda k: np.copyto(k.d, k.dy)}
    ),
    "MUL": Row(
        lambda k: np.multiply(k.a, k.b, out=k.y),
        {
            "a": lambda k: np.multiply(k.dy, k.b, out=k.d),
            "b": lambda k: np.multiply(k.dy, k.a, out=k.d),
        },
    ),
    "DIV": Row(
        lambda k: np.divide(k.a, k.b, out=k.y),
        {"a": lambda k: np.divide(k.dy, k.b, out=k.d), "b": _div_b},
        floats=1,
    ),
    "MAXIMUM": Row(lambda k: np.maximum(k.a, k.b, out=k.y), {"a": _maximum_a, "b": _maximum_b}),
    "MINIMUM": Row(lambda k: np.minimum(k.a, k.b, out=k.y), {"a": _minimum_a, "b": _minimum_b}),
    "POW": Row(lambda k: np.power(k.a, k.b, out=k.y), {"a": _pow_a, "b": _pow_b}, floats=1),
    "EQUAL": Row(lambda k: np.equal(k.a, k.b, out=k.y)),
    "GREATER": Row(lambda k: np.greater(k.a, k.b, out=k.y)),
    "SELECT": Row(_select, {"a": lambda k: keep(k.dy, k.c, k.d), "b": _select_b}, floats=1),
    # functions
    "NEG": Row(lambda k: np.negative(k.x, out=k.y), {"x": lambda k: np.negative(k.dy, out=k.d)}),
    "ABS": Row(lambda k: np.absolute(k.x, out=k.y), {"x": _abs_x}),
    "EXP": Row(lambda k: np.exp(k.x, out=k.y), {"x": lambda k: np.multiply(k.dy, k.y, out=k.d)}),
    "LOG": Row(lambda k: np.log(k.x, out=k.y), {"x": lambda k: np.divide(k.dy, k.x, out=k.d)}),
    "SQRT": Row(lambda k: np.sqrt(k.x, out=k.y), {"x": _sqrt_x}),
    "RSQRT": Row(_rsqrt, {"x": _rsqrt_x}),
    "SQUARE": Row(lambda k: np.multiply(k.x, k.x, out=k.y), {"x": _square_x}),
    "RECIPROCAL": Row(lambda k: np.divide(1.0, k.x, out=k.y), {"x": _reciprocal_x}),
    "SIGN": Row(lambda k: np.sign(k.x, out=k.y)),
    "FLOOR": Row(lambda k: np.floor(k.x, out=k.y)),
    "SIN": Row(lambda k: np.sin(k.x, out=k.y), {"x": _sin_x}),
    "COS": Row(lambda k: np.cos(k.x, out=k.y), {"x": _cos_x}),
    "CLIP": Row(_clip, {"x": _clip_x}),
    **ACTIVATIONS,
    # moves and data
    "COPY": Row(lambda k: np.copyto(k.y, k.x), {"x": lambda k: np.copyto(k.d, k.dy)}),
    "CAST": Row(_cast),
    "NORMALIZE": Row(_normalize, floats=1),
    # gradients limited in place
    "CLIP_VALUE": Row(_clip_value),
    "CLIP_NORM": Row(_clip_norm),
    **UPDATES,
}
"""Rows by forward mnemonic; a twin uses the gradients of its forward instruction's row."""
