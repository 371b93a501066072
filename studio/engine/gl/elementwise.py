"""One row per element-wise instruction: its GLSL expression and that of each gradient.

Names in an expression are operands (``x``), the gradient of the result (``dy``) and attributes. A
gradient may use ``dy`` and the operands the instruction's twin saves. Functions come from
``lib/numerics.glsl``; GLSL's own min, max, clamp, tanh, pow, sign lose NaN and stay out of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """The expressions of one instruction.

    Attributes:
        forward: the result.
        gradients: by operand, what it adds to that operand's gradient.
        native: operands keep their own type (int for int32, uint8 and bool) instead of float.
    """

    forward: str
    gradients: Mapping[str, str] = field(default_factory=dict)
    native: bool = False


_LN = "logarithm"
_SELU_SCALE, _SELU_ALPHA = "1.0507009873554805", "1.6732632423543772"
_ROOT_2_PI, _CUBE = "0.7978845608028654", "0.044715"

ROWS: dict[str, Row] = {
    # arithmetic
    "ADD": Row("alpha * x1 + beta * x2", {"x1": "alpha * dy", "x2": "beta * dy"}),
    "SCALE": Row("alpha * x", {"x": "alpha * dy"}),
    "ADD_SCALAR": Row("x + beta", {"x": "dy"}),
    "MUL": Row("a * b", {"a": "dy * b", "b": "dy * a"}),
    "DIV": Row("a / b", {"a": "dy / b", "b": "-dy * a / (b * b)"}),
    "MAXIMUM": Row("larger(a, b)", {"a": "(a >= b ? dy : 0.0)", "b": "(a >= b ? 0.0 : dy)"}),
    "MINIMUM": Row("smaller(a, b)", {"a": "(a <= b ? dy : 0.0)", "b": "(a <= b ? 0.0 : dy)"}),
    "POW": Row(
        "power(a, b)",
        {
            "a": "(b == 0.0 ? 0.0 : dy * b * power(a, b - 1.0))",
            "b": f"(a == 0.0 ? 0.0 : dy * y * {_LN}(a))",
        },
    ),
    "EQUAL": Row("int(a == b)", native=True),
    "GREATER": Row("int(a > b)", native=True),
    "SELECT": Row(
        "(c != 0 ? a : b)",
        {"a": "(c != 0 ? dy : 0.0)", "b": "(c != 0 ? 0.0 : dy)"},
        native=True,
    ),
    # functions
    "NEG": Row("-x", {"x": "-dy"}),
    "ABS": Row("abs(x)", {"x": "dy * sign_of(x)"}),
    "EXP": Row("exp(x)", {"x": "dy * y"}),
    "LOG": Row(f"{_LN}(x)", {"x": "dy / x"}),
    "SQRT": Row("root(x)", {"x": "dy * 0.5 / y"}),
    "RSQRT": Row("inverse_root(x)", {"x": "dy * -0.5 * y * y * y"}),
    "SQUARE": Row("x * x", {"x": "dy * 2.0 * x"}),
    "RECIPROCAL": Row("1.0 / x", {"x": "-dy * y * y"}),
    "SIGN": Row("sign_of(x)"),
    "FLOOR": Row("floor(x)"),
    "SIN": Row("sin(x)", {"x": "dy * cos(x)"}),
    "COS": Row("cos(x)", {"x": "-dy * sin(x)"}),
    "CLIP": Row("within(x, low, high)", {"x": "(x >= low && x <= high ? dy : 0.0)"}),
    # activations
    "RELU": Row("relu(x)", {"x": "(y > 0.0 ? dy : 0.0)"}),
    "SIGMOID": Row("sigmoid(x)", {"x": "dy * y * (1.0 - y)"}),
    "TANH": Row("tangent_h(x)", {"x": "dy * (1.0 - y * y)"}),
    "ELU": Row(
        "(x > 0.0 ? x : alpha * exp_minus_1(x))", {"x": "(x > 0.0 ? dy : dy * alpha * exp(x))"}
    ),
    "SWISH": Row("x * sigmoid(beta * x)", {"x": "dy * swish_slope(x, beta)"}),
    "CLIPPED_RELU": Row("within(x, 0.0, ceiling)", {"x": "(x > 0.0 && x < ceiling ? dy : 0.0)"}),
    "LEAKY_RELU": Row("(x > 0.0 ? x : alpha * x)", {"x": "(x > 0.0 ? dy : alpha * dy)"}),
    "THRESHOLDED_RELU": Row(
        "(x >= ceiling ? ceiling : x >= threshold ? x : slope * (x - threshold))",
        {"x": "(x >= ceiling ? 0.0 : x >= threshold ? dy : slope * dy)"},
    ),
    "SELU": Row(
        f"{_SELU_SCALE} * (x > 0.0 ? x : {_SELU_ALPHA} * exp_minus_1(x))",
        {"x": f"dy * {_SELU_SCALE} * (x > 0.0 ? 1.0 : {_SELU_ALPHA} * exp(x))"},
    ),
    "SOFTPLUS": Row("softplus(x)", {"x": "dy * sigmoid(x)"}),
    "SOFTSIGN": Row("x / (1.0 + abs(x))", {"x": "dy / ((1.0 + abs(x)) * (1.0 + abs(x)))"}),
    "HARD_SIGMOID": Row(
        "within(x / 6.0 + 0.5, 0.0, 1.0)", {"x": "(x > -3.0 && x < 3.0 ? dy / 6.0 : 0.0)"}
    ),
    "GELU": Row(
        f"0.5 * x * (1.0 + tangent_h({_ROOT_2_PI} * (x + {_CUBE} * x * x * x)))",
        {"x": "dy * gelu_slope(x)"},
    ),
    "GELU_EXACT": Row("x * normal_share(x)", {"x": "dy * gelu_exact_slope(x)"}),
    "MISH": Row("x * tangent_h(softplus(x))", {"x": "dy * mish_slope(x)"}),
    # moves and data
    "COPY": Row("x", {"x": "dy"}, native=True),
    "BROADCAST": Row("x", {"x": "dy"}, native=True),
    "CAST": Row("x", native=True),
    "NORMALIZE": Row("x * scale + shift"),
    # gradients limited in place
    "CLIP_VALUE": Row("within(g, -limit, limit)"),
    "CLIP_NORM": Row("g * (limit / larger(norm, limit))"),
}
"""Rows by forward mnemonic; a twin uses the gradients of its forward instruction's row."""
