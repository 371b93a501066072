"""Element by element: arithmetic, functions, logic and activations."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tests.engine.operations.cases.case import Case

AB = ((3, 4), (4,))
WHOLE = np.array([[-7, 3, 0], [5, -2, 9]], np.int32)
OTHER = np.array([2, -3, 4], np.int32)
TRUE = np.array([[True, False, True], [False, False, True]])
STRANGE = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5, 2.5], np.float32)
same = partial(Case, gradients=False)

ARITHMETIC = [
    Case("add", AB),
    Case("add", AB, batch=True),
    same("add", (WHOLE, OTHER)),
    Case("add", (WHOLE, (2, 3)), ref=lambda a, b: a + b),
    same("add", (TRUE, TRUE), ref=lambda a, b: a.astype(int) + b),
    Case("subtract", ((4,), (3, 4))),
    same("subtract", (WHOLE, TRUE), ref=lambda a, b: a - b.astype(int)),
    Case("multiply", ((3, 1), (1, 4))),
    same("multiply", (WHOLE, OTHER)),
    Case("divide", AB, low=0.5, high=2.0),
    Case("divide", (WHOLE, OTHER), ref=lambda a, b: a / b, gradients=False),
    Case("divide_no_nan", AB, ref=np.divide, low=0.5, high=2.0),
    Case("divide_no_nan", ((2, 3), np.array([[0, 2, -3], [4, 0, 1]], np.float32)),
         ref=lambda a, b: np.where(b == 0, 0, a / np.where(b == 0, 1, b)), gradients=False),
    Case("add_all", ((3, 4), (4,), (3, 1)), ref=lambda a, b, c: a + b + c),
    Case("scale", ((3, 4),), {"factor": -1.5}, ref=lambda x: -1.5 * x),
    Case("add_scalar", ((3, 4),), {"number": 2.5}, ref=lambda x: x + 2.5),
    Case("weighted_sum", AB, {"alpha": 2.0, "beta": -0.5}, ref=lambda a, b: 2 * a - 0.5 * b),
    Case("maximum", AB),
    same("maximum", (WHOLE, OTHER)),
    Case("minimum", AB),
    Case("power", AB, low=0.5, high=2.0),
    Case("negative", ((3, 4),)),
    same("negative", (WHOLE,)),
    Case("squared_difference", AB, ref=lambda a, b: (a - b) ** 2),
    Case("hypot", AB, low=0.5),
    Case("interpolate", ((3, 4), (4,), (3, 1)), ref=lambda a, b, w: a + (b - a) * w),
    Case("mod", ((3, 4), (4,)), low=1.2, high=3.0),
    same("mod", (WHOLE, OTHER)),
    Case("floor_divide", ((3, 4), (4,)), low=0.6, high=7.0),
    same("floor_divide", (WHOLE, OTHER)),
]  # fmt: skip

POSITIVE = {"low": 0.3, "high": 3.0}
FUNCTIONS = [
    *(Case(name, ((3, 4),)) for name in (
        "exp", "square", "sin", "cos", "exp2", "deg2rad", "expm1", "sinc",
    )),
    *(Case(name, ((3, 4),), **POSITIVE) for name in (
        "log", "sqrt", "reciprocal", "log2", "log10", "log1p",
    )),
    *(Case(name, ((3, 4),), apart=0.31) for name in ("floor", "ceil", "round", "trunc", "sign")),
    Case("absolute", ((3, 4),), apart=0.31),
    same("absolute", (WHOLE,)),
    Case("rsqrt", ((3, 4),), ref=lambda x: 1 / np.sqrt(x), **POSITIVE),
    same("square", (WHOLE,)),
    same("sign", (WHOLE,)),
    Case("tan", ((3, 4),), low=-1.2, high=1.2),
    *(Case(name, ((3, 4),)) for name in ("sinh", "cosh", "arctan", "arcsinh")),
    *(Case(name, ((3, 4),), low=-0.9, high=0.9) for name in ("arcsin", "arccos", "arctanh")),
    Case("arccosh", ((3, 4),), low=1.2, high=4.0),
    Case("arctan2", AB),
    Case("erf", ((3, 4),), ref=np.vectorize(math.erf)),
    Case("polar_to_plane", AB, ref=lambda r, a: (r * np.cos(a), r * np.sin(a))),
    Case("clip", ((3, 4),), {"low": -0.6, "high": 0.7}, ref=lambda x: np.clip(x, -0.6, 0.7),
         apart=0.31),
    Case("cube", ((3, 4),), ref=lambda x: x**3),
    Case("rad2deg", ((3, 4),)),
    Case("fraction", ((3, 4),), ref=lambda x: x - np.floor(x)),
    Case("logit", ((3, 4),), ref=lambda x: np.log(x / (1 - x)), low=0.1, high=0.9),
    Case("complement", ((3, 4),), ref=lambda x: 1 - x),
    Case("logaddexp", AB),
    Case("logaddexp", AB, low=-80.0, high=80.0, gradients=False),
    same("sinc", (np.array([0.0, 1.0, -0.5], np.float32),)),
]  # fmt: skip

LOGIC = [
    *(same(name,
         (np.array([[1.0, np.nan, 2.0]], np.float32), np.array([1.0, 2.0, 3.0], np.float32)))
      for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")),
    *(same(name, (WHOLE, OTHER)) for name in (
        "equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
        "logical_and", "logical_or", "logical_xor",
    )),
    same("logical_and", (TRUE, TRUE[:1])),
    same("logical_not", (TRUE,)),
    same("logical_not", (WHOLE,)),
    *(same(name, (STRANGE,)) for name in ("isnan", "isinf", "isfinite")),
    same("nan_to_num", (STRANGE,), {"nan": 7.0}, ref=lambda x: np.nan_to_num(
        x, nan=7.0, posinf=np.finfo("f").max, neginf=np.finfo("f").min)),
    *(same(name, (WHOLE, OTHER)) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    same("bitwise_not", (WHOLE,)),
    same("bit_shift", (abs(WHOLE), abs(OTHER)), ref=np.left_shift),
    same("bit_shift", (abs(WHOLE), abs(OTHER)), {"direction": "right"}, ref=np.right_shift),
    Case("where", (TRUE, (2, 3), (3,))),
    Case("where", (TRUE, (3,), ()), ref=np.where),
    same("where", (TRUE, WHOLE, OTHER)),
    same("all", (TRUE,), {"axis": 0}),
    same("all", (WHOLE,), {"axis": 1, "keepdims": True}),
    same("all", (TRUE,)),
    same("any", (TRUE,), {"axis": 1}),
    same("any", (TRUE,)),
    same("isclose", (STRANGE, np.array([np.nan, np.inf, np.inf, 1e-9, -1.50001, 2.6], np.float32)),
         {"rtol": 1e-4}),
    Case("step", ((3, 4),), apart=0.31, ref=lambda x: (x > 0).astype(float)),
    same("step", (np.array([-1.0, 0.0, 3.0, np.nan], np.float32),), {"alpha": 0.25},
         ref=lambda x: np.where(np.isnan(x), x, np.where(x > 0, 1, 0.25))),
]  # fmt: skip


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(x, 0)


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def gelu(x, approximate):
    if approximate:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
BENT = {"apart": 0.31}  # Nothing is drawn where these have a bend.
ACTIVATIONS = [
    Case("relu", ((3, 4),), ref=lambda x: np.maximum(x, 0), **BENT),
    Case("relu", (WHOLE,), ref=lambda x: np.maximum(x, 0.0), gradients=False),
    Case("relu6", ((3, 4),), ref=lambda x: np.clip(x, 0, 6), low=-9.0, apart=1.61),
    Case("sigmoid", ((3, 4),), ref=sigmoid),
    Case("tanh", ((3, 4),)),
    Case("elu", ((3, 4),), ref=lambda x: np.where(x > 0, x, np.expm1(x))),
    Case("elu", ((3, 4),), {"alpha": 0.5}, ref=lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    Case("selu", ((3, 4),), ref=lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(x)), **BENT),
    Case("celu", ((3, 4),), {"alpha": 2.0}, ref=lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    Case("swish", ((3, 4),), ref=lambda x: x * sigmoid(x)),
    Case("leaky_relu", ((3, 4),), ref=lambda x: np.where(x > 0, x, 0.2 * x), **BENT),
    Case("prelu", ((3, 4), (4,)), ref=lambda x, a: np.where(x > 0, x, a * x), **BENT),
    Case("softplus", ((3, 4),), ref=softplus),
    Case("softsign", ((3, 4),), ref=lambda x: x / (1 + abs(x))),
    Case("hard_sigmoid", ((3, 4),), ref=lambda x: np.clip(x / 6 + 0.5, 0, 1), low=-6.0, apart=1.01),
    Case("hard_silu", ((3, 4),), ref=lambda x: x * np.clip(x / 6 + 0.5, 0, 1), low=-6.0,
         apart=1.01),
    Case("mish", ((3, 4),), ref=lambda x: x * np.tanh(softplus(x))),
    Case("gelu", ((3, 4),), ref=lambda x: gelu(x, True)),
    Case("gelu", ((3, 4),), {"approximate": False}, ref=lambda x: gelu(x, False)),
    Case("thresholded_relu", ((3, 4),), {"threshold": 0.5}, ref=lambda x: np.where(x > 0.5, x, 0),
         **BENT),
    Case("log_sigmoid", ((3, 4),), ref=lambda x: -softplus(-x)),
    Case("hard_tanh", ((3, 4),), ref=lambda x: np.clip(x, -1, 1), **BENT),
    Case("tanh_shrink", ((3, 4),), ref=lambda x: x - np.tanh(x)),
    Case("hard_shrink", ((3, 4),), ref=lambda x: np.where(abs(x) > 0.5, x, 0), **BENT),
    Case("soft_shrink", ((3, 4),), ref=lambda x: x - np.clip(x, -0.5, 0.5), **BENT),
    Case("squareplus", ((3, 4),), ref=lambda x: (x + np.sqrt(x * x + 4)) / 2),
    Case("glu", ((3, 4),), ref=lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    Case("glu", ((4, 3),), {"axis": 0}, ref=lambda x: x[:2] * sigmoid(x[2:])),
    Case("softmax", ((3, 4),), ref=softmax),
    Case("softmax", ((5,),), ref=softmax),
    Case("softmax", ((2, 3, 4),), {"axis": 1}, ref=lambda x: softmax(x, 1), batch=True),
    Case("log_softmax", ((3, 4),), ref=lambda x: np.log(softmax(x))),
    Case("log_softmax", ((3, 4),), {"axis": 0}, ref=lambda x: np.log(softmax(x, 0))),
]  # fmt: skip

CASES = [*ARITHMETIC, *FUNCTIONS, *LOGIC, *ACTIVATIONS]
