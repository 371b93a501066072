"""Cases of element-wise instructions: shapes of odd sizes, broadcasting, kinks left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from studio.engine.core.dtypes import DType
from tests.engine.conformance.case import (
    HALO,
    Case,
    Given,
    away,
    exactly,
    floats,
    integers,
    uniform,
)

SHAPE = (3, 5, 7)

# mnemonic: range of x, places where the derivative jumps, attributes
UNARY: dict[str, tuple[float, float, tuple[float, ...], dict[str, object]]] = {
    "SCALE": (-2, 2, (), {"alpha": -0.75}),
    "ADD_SCALAR": (-2, 2, (), {"beta": 1.5}),
    "NEG": (-2, 2, (), {}),
    "ABS": (-2, 2, (0.0,), {}),
    "EXP": (-3, 3, (), {}),
    "LOG": (0.1, 4, (), {}),
    "SQRT": (0.1, 4, (), {}),
    "RSQRT": (0.1, 4, (), {}),
    "SQUARE": (-2, 2, (), {}),
    "RECIPROCAL": (0.3, 3, (), {}),
    "SIGN": (-2, 2, (), {}),
    "FLOOR": (-4, 4, (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0), {}),
    "SIN": (-3, 3, (), {}),
    "COS": (-3, 3, (), {}),
    "CLIP": (-2, 2, (-0.5, 0.75), {"low": -0.5, "high": 0.75}),
    "RELU": (-2, 2, (0.0,), {}),
    "SIGMOID": (-6, 6, (), {}),
    "TANH": (-3, 3, (), {}),
    "ELU": (-2, 2, (0.0,), {"alpha": 0.7}),
    "SWISH": (-4, 4, (), {"beta": 1.3}),
    "CLIPPED_RELU": (-2, 2, (0.0, 1.25), {"ceiling": 1.25}),
    "LEAKY_RELU": (-2, 2, (0.0,), {"alpha": 0.3}),
    "THRESHOLDED_RELU": (-2, 2, (0.5, 1.5), {"slope": 0.2, "threshold": 0.5, "ceiling": 1.5}),
    "SELU": (-2, 2, (0.0,), {}),
    "SOFTPLUS": (-5, 5, (), {}),
    "SOFTSIGN": (-3, 3, (0.0,), {}),
    "HARD_SIGMOID": (-5, 5, (-3.0, 3.0), {}),
    "GELU": (-4, 4, (), {}),
    "GELU_EXACT": (-5, 5, (), {}),
    "MISH": (-4, 4, (), {}),
    "COPY": (-2, 2, (), {}),
    "TAN": (-1.4, 1.4, (), {}),
    "ASIN": (-0.9, 0.9, (), {}),
    "ACOS": (-0.9, 0.9, (), {}),
    "ATAN": (-5, 5, (), {}),
    "SINH": (-3, 3, (), {}),
    "COSH": (-3, 3, (), {}),
    "ASINH": (-5, 5, (), {}),
    "ACOSH": (1.2, 5, (), {}),
    "ATANH": (-0.9, 0.9, (), {}),
    "ERF": (-3, 3, (), {}),
    "LOG1P": (-0.9, 4, (), {}),
    "EXPM1": (-3, 3, (), {}),
    "CEIL": (-4, 4, (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0), {}),
    "ROUND": (-3.4, 3.4, (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5), {}),
    "HARD_SWISH": (-5, 5, (-3.0, 3.0), {}),
    "CELU": (-2, 2, (0.0,), {"alpha": 0.7}),
}


def _unary() -> list[Case]:
    found = []
    for mnemonic, (low, high, kinks, attrs) in UNARY.items():
        make = away(*kinks, low=low, high=high)
        for name, shape in (("cube", SHAPE), ("one", (1,)), ("long", (3, 17, 17))):
            found.append(Case(mnemonic, name, {"x": floats(*shape, make=make)}, attrs))
    padded = {"x": floats(2, 3, 5, 4, make=away(0.0), pad=HALO)}
    found += [
        Case("RELU", "halo-in", padded),
        Case("RELU", "halo-out", {"x": floats(2, 3, 5, 4, make=away(0.0))}, out_pad=HALO),
        Case("SIGMOID", "halo-both", padded, out_pad=HALO),
        Case("RELU", "scalar", {"x": floats()}),
        Case("THRESHOLDED_RELU", "default", {"x": floats(5, 3, make=away(0.0))}),
    ]
    return found


def _binary() -> list[Case]:
    pairs = {
        "same": ((3, 5, 7), (3, 5, 7)),
        "channel": ((3, 5, 7), (7,)),
        "column": ((3, 5, 7), (3, 5, 1)),
        "outer": ((3, 1, 7), (5, 1)),
        "scalar": ((3, 5), ()),
        "left": ((1,), (3, 17)),
    }
    found = []
    for name, (left, right) in pairs.items():
        for mnemonic in ("MUL", "ADD"):
            names = ("x1", "x2") if mnemonic == "ADD" else ("a", "b")
            attrs = {"alpha": 0.5, "beta": -2.0} if mnemonic == "ADD" else {}
            operands = {names[0]: floats(*left), names[1]: floats(*right)}
            found.append(Case(mnemonic, name, operands, attrs))
        found.append(
            Case("DIV", name, {"a": floats(*left), "b": floats(*right, make=uniform(0.5, 2))})
        )
        positive = {"a": floats(*left, make=uniform(0.3, 2)), "b": floats(*right)}
        found.append(Case("POW", name, positive, rtol=1e-4, reason="device pow is exp2 of log2"))
        for mnemonic in ("MAXIMUM", "MINIMUM"):
            odd = {"a": floats(*left, make=_even), "b": floats(*right, make=_odd)}
            found.append(Case(mnemonic, name, odd))
        small = {"x": floats(*left), "alpha": floats(*right, make=uniform(0.1, 0.5))}
        if name not in ("outer", "left"):
            found.append(Case("PRELU", name, {**small, "x": floats(*left, make=_odd)}))
        odd = {"a": floats(*left, make=_odd), "b": floats(*right, make=uniform(0.51, 0.57))}
        found.append(Case("FLOOR_DIV", name, odd))
        truths = {n: Given(s, _coin, DType.bool) for n, s in (("a", left), ("b", right))}
        found += [Case(mnemonic, name, truths) for mnemonic in ("AND", "OR", "XOR")]
    found += [
        Case("ADD", "plain", {"x1": floats(3, 5), "x2": floats(3, 5)}),
        Case("ADD", "twice", {"x1": floats(3, 5)}, {"alpha": 2.0}, same={"x2": "x1"}),
        Case("MUL", "twice", {"a": floats(3, 5)}, same={"b": "a"}),
        Case("MUL", "halo", {"a": floats(2, 3, 5, 4, pad=HALO), "b": floats(4)}, out_pad=HALO),
        Case("MUL", "stretches", {"a": floats(3, 30011), "b": floats(3, 30011)}),
        Case("ADD", "rows", {"x1": floats(5, 20011), "x2": floats(20011)}, {"beta": 0.5}),
        Case("EQUAL", "few", {"a": floats(3, 5, make=_few), "b": floats(5, make=_few)}),
        Case("GREATER", "few", {"a": floats(3, 5, make=_few), "b": floats(5, make=_few)}),
        Case("GREATER_EQUAL", "few", {"a": floats(3, 5, make=_few), "b": floats(5, make=_few)}),
        Case("ATAN2", "channel", {"a": floats(3, 5, make=_odd), "b": floats(5, make=_odd)}),
        Case("MOD", "few", {"a": floats(3, 5, make=_odd), "b": floats(5, make=uniform(0.7, 0.72))}),
        Case("IS_NAN", "odd", {"x": floats(3, 5, make=_odd_numbers)}),
        Case("IS_INF", "odd", {"x": floats(3, 5, make=_odd_numbers)}),
        Case("NOT", "some", {"x": Given((3, 17), _coin, DType.bool)}),
        Case(
            "SELECT",
            "mixed",
            {"c": Given((3, 5), _coin, DType.bool), "a": floats(3, 5), "b": floats(3, 5)},
        ),
    ]
    return found


def _few(rng, shape):
    return rng.integers(-1, 2, shape)


def _odd_numbers(rng, shape):
    return rng.choice([np.nan, np.inf, -np.inf, 0.0, 3e38], shape)


def _coin(rng, shape):
    return rng.integers(0, 2, shape)


def _even(rng, shape):
    return rng.integers(-20, 20, shape) * 0.1


def _odd(rng, shape):
    return rng.integers(-20, 20, shape) * 0.1 + 0.05


def _quantized() -> list[Case]:
    x = floats(3, 5, 2, make=lambda rng, shape: rng.integers(-400, 400, shape) * 0.125)
    odd = exactly(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1e30, -1e30, np.inf, -np.inf, np.nan, 63.5)
    one, zero = floats(make=exactly(0.25)), floats(make=exactly(3.0))
    ones, zeros = floats(1, 1, 2, make=exactly(0.25, 0.5)), floats(1, 1, 2, make=exactly(-9.0, 4.0))
    return [
        Case("QUANTIZE", "one", {"x": x, "scale": one, "zero": zero}),
        Case("QUANTIZE", "channels", {"x": x, "scale": ones, "zero": zeros}),
        Case("QUANTIZE", "bytes", {"x": x, "scale": ones, "zero": zeros}, {"dtype": "uint8"}),
        Case("QUANTIZE", "edges", {"x": floats(12, make=odd), "scale": floats(make=exactly(1.0)),
                                   "zero": floats(make=exactly(0.0))}),
        Case("QUANTIZE", "halo", {"x": floats(2, 3, 5, 4, pad=HALO), "scale": one, "zero": zero},
             out_pad=HALO),
    ]  # fmt: skip


def _other() -> list[Case]:
    bytes_ = Given((3, 5, 2), lambda rng, shape: rng.integers(0, 256, shape), DType.uint8)
    int8 = Given((3, 5, 2), lambda rng, shape: rng.integers(-128, 128, shape), DType.int8)
    few, one, wide = (replace(int8, shape=shape) for shape in ((5, 7), (1, 1), (2, 3, 5, 4)))
    half = Given((6, 3), lambda rng, shape: rng.normal(size=shape), DType.float16)
    found = [
        Case("CAST", "to-int", {"x": floats(3, 5)}, {"dtype": "int32"}),
        Case("CAST", "to-bool", {"x": floats(3, 5, make=_few)}, {"dtype": "bool"}),
        Case("CAST", "to-byte", {"x": floats(3, 5, make=uniform(0, 255))}, {"dtype": "uint8"}),
        Case("CAST", "from-byte", {"x": bytes_}, {"dtype": "float32"}),
        Case("CAST", "from-int", {"x": integers(3, 5, low=-9, high=9)}, {"dtype": "float32"}),
        Case(
            "CAST",
            "to-half",
            {"x": floats(3, 5)},
            {"dtype": "float16"},
            rtol=1e-3,
            reason="float16 has 11 bits",
        ),
        Case("CAST", "from-half", {"x": half}, {"dtype": "float32"}),
        Case("CAST", "from-int8", {"x": few}, {"dtype": "float32"}),
        *_quantized(),
        Case("DEQUANTIZE", "last", {"x": int8, "scale": floats(1, 1, 2)}),
        Case("DEQUANTIZE", "first", {"x": few, "scale": floats(5, 1)}),
        Case("DEQUANTIZE", "two", {"x": int8, "scale": floats(1, 5, 2)}),
        Case("DEQUANTIZE", "one", {"x": one, "scale": floats(1, 1)}),
        Case("DEQUANTIZE", "four", {"x": replace(int8, shape=(6, 8)), "scale": floats(1, 8)}),
        Case("DEQUANTIZE", "halo", {"x": wide, "scale": floats(1, 1, 1, 4)}, out_pad=HALO),
        Case("DEQUANTIZE", "half", {"x": half, "scale": floats(6, 1)}),
        Case("NORMALIZE", "bytes", {"x": bytes_, "scale": floats(2), "shift": floats(2)}),
        Case("NORMALIZE", "floats", {"x": floats(3, 5), "scale": floats(), "shift": floats(5)}),
        Case("MOVING_AVERAGE", "near", {"average": floats(17), "x": floats(17)}, {"factor": 0.25}),
        Case("CLIP_VALUE", "half", {"g": floats(3, 17)}, {"limit": 0.5}),
        Case("CLIP_NORM", "long", {"g": floats(3, 17), "norm": floats(make=uniform(3, 4))}),
        Case("CLIP_NORM", "short", {"g": floats(3, 17), "norm": floats(make=uniform(0.1, 0.2))}),
    ]
    return found


CASES = [*_unary(), *_binary(), *_other()]
