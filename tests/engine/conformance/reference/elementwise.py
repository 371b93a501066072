"""Element-wise instructions, from the formulas of their docstrings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Values = dict[str, Any]


def _each(f: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A scalar formula over arrays, broadcasting."""
    return np.vectorize(f, otypes=[np.float64])


def _nan_safe(f: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: math.nan if math.isnan(x) else f(x)


def _exp(x: float) -> float:
    return math.inf if x > 709 else math.exp(x)


def _sigmoid(x: float) -> float:
    return 1 / (1 + _exp(-x)) if x >= 0 else _exp(x) / (1 + _exp(x))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(_exp(-abs(x)))


def _gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _selu(x: float) -> float:
    return 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))


def _thresholded(x: float, a: Values) -> float:
    if x >= a["ceiling"]:
        return float(a["ceiling"])
    return x if x >= a["threshold"] else a["slope"] * (x - a["threshold"])


Scalar = Callable[[float, Values], float]

SCALARS: dict[str, Scalar] = {
    "SCALE": lambda x, a: a["alpha"] * x,
    "ADD_SCALAR": lambda x, a: x + a["beta"],
    "NEG": lambda x, a: -x,
    "ABS": lambda x, a: abs(x),
    "EXP": lambda x, a: _exp(x),
    "SQUARE": lambda x, a: x * x,
    "SIGN": lambda x, a: float((x > 0) - (x < 0)),
    "FLOOR": lambda x, a: float(math.floor(x)),
    "SIN": lambda x, a: math.sin(x),
    "COS": lambda x, a: math.cos(x),
    "CLIP": lambda x, a: min(max(x, a["low"]), a["high"]),
    "RELU": lambda x, a: max(0.0, x),
    "SIGMOID": lambda x, a: _sigmoid(x),
    "TANH": lambda x, a: math.tanh(x),
    "ELU": lambda x, a: x if x > 0 else a["alpha"] * math.expm1(x),
    "SWISH": lambda x, a: x * _sigmoid(a["beta"] * x),
    "CLIPPED_RELU": lambda x, a: min(max(0.0, x), a["ceiling"]),
    "LEAKY_RELU": lambda x, a: x if x > 0 else a["alpha"] * x,
    "THRESHOLDED_RELU": _thresholded,
    "SELU": lambda x, a: _selu(x),
    "SOFTPLUS": lambda x, a: _softplus(x),
    "SOFTSIGN": lambda x, a: x / (1 + abs(x)),
    "HARD_SIGMOID": lambda x, a: min(max(x / 6 + 0.5, 0.0), 1.0),
    "GELU": lambda x, a: _gelu(x),
    "GELU_EXACT": lambda x, a: x / 2 * math.erfc(-x / math.sqrt(2)),
    "MISH": lambda x, a: x * math.tanh(_softplus(x)),
    "COPY": lambda x, a: x,
}


def _unary(f: Scalar) -> Callable[[Values, Values], Values]:
    return lambda v, a: {"y": _each(_nan_safe(lambda x: f(x, a)))(v["x"])}


def _log(x: float) -> float:
    return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)


def _root(x: float) -> float:
    return math.sqrt(x) if x >= 0 else math.nan


def _cast(v: Values, a: Values) -> Values:
    x = np.asarray(v["x"])
    if a["dtype"] == "bool":
        return {"y": x != 0}
    if a["dtype"] in ("int32", "uint8"):
        return {"y": np.trunc(x.astype(np.float64))}
    return {"y": x.astype(np.float64)}


def _larger(p: float, q: float) -> float:
    return math.nan if math.isnan(p) or math.isnan(q) else max(p, q)


def _smaller(p: float, q: float) -> float:
    return math.nan if math.isnan(p) or math.isnan(q) else min(p, q)


def _quotient(p: float, q: float) -> float:
    if q != 0:
        return p / q
    if p == 0 or math.isnan(p) or math.isnan(q):
        return math.nan
    return math.copysign(math.inf, p) * math.copysign(1.0, q)


def _clip_norm(v: Values, a: Values) -> Values:
    return {"g": v["g"] * a["limit"] / max(float(v["norm"]), a["limit"])}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    **{name: _unary(f) for name, f in SCALARS.items()},
    "LOG": _unary(lambda x, a: _log(x)),
    "SQRT": _unary(lambda x, a: _root(x)),
    "RSQRT": _unary(lambda x, a: _quotient(1.0, _root(x))),
    "RECIPROCAL": _unary(lambda x, a: _quotient(1.0, x)),
    "ADD": lambda v, a: {"y": a["alpha"] * v["x1"] + a["beta"] * v["x2"]},
    "MUL": lambda v, a: {"y": v["a"] * v["b"]},
    "DIV": lambda v, a: {"y": _each(_quotient)(v["a"], v["b"])},
    "MAXIMUM": lambda v, a: {"y": _each(_larger)(v["a"], v["b"])},
    "MINIMUM": lambda v, a: {"y": _each(_smaller)(v["a"], v["b"])},
    "POW": lambda v, a: {"y": _each(math.pow)(v["a"], v["b"])},
    "EQUAL": lambda v, a: {"y": np.asarray(v["a"]) == v["b"]},
    "GREATER": lambda v, a: {"y": np.asarray(v["a"]) > v["b"]},
    "SELECT": lambda v, a: {"y": np.where(np.asarray(v["c"], bool), v["a"], v["b"])},
    "CAST": _cast,
    "NORMALIZE": lambda v, a: {"y": np.asarray(v["x"], np.float64) * v["scale"] + v["shift"]},
    "CLIP_VALUE": lambda v, a: {
        "g": _each(_nan_safe(lambda g: min(max(g, -a["limit"]), a["limit"])))(v["g"])
    },
    "CLIP_NORM": _clip_norm,
}
