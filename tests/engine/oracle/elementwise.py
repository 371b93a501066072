"""Element-wise instructions, from the formulas of their docstrings; NaN stays NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Values = dict[str, Any]
Array = npt.NDArray[np.float64]

_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _below_zero(x: Array) -> Array:
    """exp(x) - 1 where x is negative."""
    return np.expm1(np.minimum(x, 0))


def _thresholded(x: Array, a: Values) -> Array:
    below = a["slope"] * (x - a["threshold"])
    return np.where(x >= a["ceiling"], a["ceiling"], np.where(x >= a["threshold"], x, below))


UNARY: dict[str, Callable[[Array, Values], Array]] = {
    "SCALE": lambda x, a: a["alpha"] * x,
    "ADD_SCALAR": lambda x, a: x + a["beta"],
    "NEG": lambda x, a: -x,
    "ABS": lambda x, a: np.abs(x),
    "EXP": lambda x, a: np.exp(x),
    "LOG": lambda x, a: np.log(x),
    "SQRT": lambda x, a: np.sqrt(x),
    "RSQRT": lambda x, a: 1 / np.sqrt(x),
    "SQUARE": lambda x, a: x * x,
    "RECIPROCAL": lambda x, a: 1 / x,
    "SIGN": lambda x, a: np.sign(x),
    "FLOOR": lambda x, a: np.floor(x),
    "SIN": lambda x, a: np.sin(x),
    "COS": lambda x, a: np.cos(x),
    "CLIP": lambda x, a: np.minimum(np.maximum(x, a["low"]), a["high"]),
    "RELU": lambda x, a: np.maximum(x, 0),
    "SIGMOID": lambda x, a: _sigmoid(x),
    "TANH": lambda x, a: np.tanh(x),
    "ELU": lambda x, a: np.where(x > 0, x, a["alpha"] * _below_zero(x)),
    "SWISH": lambda x, a: x * _sigmoid(a["beta"] * x),
    "CLIPPED_RELU": lambda x, a: np.minimum(np.maximum(x, 0), a["ceiling"]),
    "LEAKY_RELU": lambda x, a: np.where(x > 0, x, a["alpha"] * x),
    "THRESHOLDED_RELU": _thresholded,
    "SELU": lambda x, a: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * _below_zero(x))
    ),
    "SOFTPLUS": lambda x, a: _softplus(x),
    "SOFTSIGN": lambda x, a: x / (1 + np.abs(x)),
    "HARD_SIGMOID": lambda x, a: np.minimum(np.maximum(x / 6 + 0.5, 0), 1),
    "GELU": lambda x, a: _gelu(x),
    "GELU_EXACT": lambda x, a: x / 2 * _erfc(-x / math.sqrt(2)),
    "MISH": lambda x, a: x * np.tanh(_softplus(x)),
    "COPY": lambda x, a: x,
    "TAN": lambda x, a: np.tan(x),
    "ASIN": lambda x, a: np.arcsin(x),
    "ACOS": lambda x, a: np.arccos(x),
    "ATAN": lambda x, a: np.arctan(x),
    "SINH": lambda x, a: np.sinh(x),
    "COSH": lambda x, a: np.cosh(x),
    "ASINH": lambda x, a: np.arcsinh(x),
    "ACOSH": lambda x, a: np.arccosh(x),
    "ATANH": lambda x, a: np.arctanh(x),
    "ERF": lambda x, a: 1 - _erfc(x),
    "LOG1P": lambda x, a: np.log1p(x),
    "EXPM1": lambda x, a: np.expm1(x),
    "CEIL": lambda x, a: np.ceil(x),
    "ROUND": lambda x, a: np.rint(x),
    "NOT": lambda x, a: np.logical_not(x),
    "IS_NAN": lambda x, a: np.isnan(x),
    "IS_INF": lambda x, a: np.isinf(x),
    "HARD_SWISH": lambda x, a: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "CELU": lambda x, a: np.maximum(x, 0) + a["alpha"] * _below_zero(x / a["alpha"]),
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a / b,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "POW": np.power,
    "EQUAL": lambda a, b: a == b,
    "GREATER": lambda a, b: a > b,
    "GREATER_EQUAL": lambda a, b: a >= b,
    "ATAN2": np.arctan2,
    "FLOOR_DIV": np.floor_divide,
    "MOD": np.mod,
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
}


def _unary(f: Callable[[Array, Values], Array]) -> Callable[[Values, Values], Values]:
    return lambda v, a: {"y": f(v["x"], a)}


def _binary(f: Callable[[Array, Array], Array]) -> Callable[[Values, Values], Values]:
    return lambda v, a: {"y": f(v["a"], v["b"])}


def _cast(v: Values, a: Values) -> Values:
    x = np.asarray(v["x"])
    if a["dtype"] == "bool":
        return {"y": x != 0}
    return {"y": np.trunc(x.astype(np.float64)) if "int" in a["dtype"] else x.astype(np.float64)}


REFERENCES: dict[str, Callable[[Values, Values], Values]] = {
    **{name: _unary(f) for name, f in UNARY.items()},
    **{name: _binary(f) for name, f in BINARY.items()},
    "ADD": lambda v, a: {"y": a["alpha"] * v["x1"] + a["beta"] * v["x2"]},
    "SELECT": lambda v, a: {"y": np.where(np.asarray(v["c"], bool), v["a"], v["b"])},
    "PRELU": lambda v, a: {"y": np.where(v["x"] > 0, v["x"], np.multiply(v["alpha"], v["x"]))},
    "CAST": _cast,
    "QUANTIZE": lambda v, a: {
        "y": np.nan_to_num(
            np.clip(
                np.rint(v["x"] / v["scale"]) + v["zero"],
                *((-128, 127) if a["dtype"] == "int8" else (0, 255)),
            )
        )
    },
    "DEQUANTIZE": lambda v, a: {"y": np.asarray(v["x"], np.float64) * v["scale"]},
    "NORMALIZE": lambda v, a: {"y": np.asarray(v["x"], np.float64) * v["scale"] + v["shift"]},
    "MOVING_AVERAGE": lambda v, a: {
        "average": np.asarray(v["average"]) * (1 - a["factor"]) + np.asarray(v["x"]) * a["factor"]
    },
    "CLIP_VALUE": lambda v, a: {"g": np.minimum(np.maximum(v["g"], -a["limit"]), a["limit"])},
    "CLIP_NORM": lambda v, a: {"g": v["g"] * a["limit"] / max(float(v["norm"]), a["limit"])},
}
