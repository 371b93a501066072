"""int32 on every backend is that of NumPy, beyond 2^24 and at both ends of its range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import by_mnemonic
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly
from tests.engine.conformance.harness import build, program_of, results

BIG = 1 << 24
LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1
A = np.array(
    [0, 1, -1, BIG + 1, -BIG - 1, BIG + 3, HIGHEST, LOWEST, 12345678, -987654321, 3, LOWEST + 1],
    np.int32,
)
B = np.array(
    [5, 2, BIG + 3, BIG, 7, BIG + 1, 1, -1, 2, -2, HIGHEST, LOWEST],
    np.int32,
)  # fmt: skip
BY = np.array([0, 1, 5, 30, 31, 32, 33, 64, 1000, -1, LOWEST, HIGHEST], np.int32)
TABLE = A.reshape(3, 4)
CHOICE = np.arange(12) % 2 == 0


def given(values: np.ndarray) -> Given:
    dtype = DType.bool if values.dtype == bool else DType.int32
    return Given(values.shape, exactly(values), dtype)


Wanted = Callable[[], np.ndarray]
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any], Wanted]] = {
    "add": ("ADD", {"x1": A, "x2": B}, {}, lambda: A + B),
    "subtract": ("ADD", {"x1": A, "x2": B}, {"beta": -1.0}, lambda: A - B),
    "weighted": ("ADD", {"x1": A, "x2": B}, {"alpha": 3.0, "beta": -2.0}, lambda: 3 * A - 2 * B),
    "broadcast": ("ADD", {"x1": TABLE, "x2": B[:4]}, {}, lambda: TABLE + B[:4]),
    "column": ("MUL", {"a": TABLE, "b": B[:3, None]}, {}, lambda: TABLE * B[:3, None]),
    "multiply": ("MUL", {"a": A, "b": B}, {}, lambda: A * B),
    "larger": ("MAXIMUM", {"a": A, "b": B}, {}, lambda: np.maximum(A, B)),
    "smaller": ("MINIMUM", {"a": A, "b": B}, {}, lambda: np.minimum(A, B)),
    "scale": ("SCALE", {"x": A}, {"alpha": -3.0}, lambda: -3 * A),
    "nothing": ("SCALE", {"x": A}, {"alpha": 0.0}, lambda: 0 * A),
    "shift": ("ADD_SCALAR", {"x": A}, {"beta": 7.0}, lambda: A + 7),
    "negate": ("NEG", {"x": A}, {}, lambda: -A),
    "size": ("ABS", {"x": A}, {}, lambda: np.abs(A)),
    "sign": ("SIGN", {"x": A}, {}, lambda: np.sign(A)),
    "square": ("SQUARE", {"x": A}, {}, lambda: A * A),
    "clip": ("CLIP", {"x": A}, {"low": -5.0, "high": float(BIG)}, lambda: A.clip(-5, BIG)),
    "half-open": ("CLIP", {"x": A}, {"low": 0.0, "high": np.inf}, lambda: A.clip(0, HIGHEST)),
    "relu": ("RELU", {"x": A}, {}, lambda: np.maximum(A, 0)),
    "quotient": ("FLOOR_DIV", {"a": A, "b": B}, {}, lambda: A // B),
    "quotient-by-0": ("FLOOR_DIV", {"a": A, "b": 0 * B}, {}, lambda: 0 * A),
    "rest": ("MOD", {"a": A, "b": B}, {}, lambda: A % B),
    "rest-by-0": ("MOD", {"a": A, "b": 0 * B}, {}, lambda: 0 * A),
    "at-least": ("GREATER_EQUAL", {"a": A, "b": B}, {}, lambda: A >= B),
    "bits-of-both": ("BIT_AND", {"a": A, "b": B}, {}, lambda: A & B),
    "bits-of-either": ("BIT_OR", {"a": A, "b": B}, {}, lambda: A | B),
    "bits-of-one": ("BIT_XOR", {"a": TABLE, "b": B[:4]}, {}, lambda: TABLE ^ B[:4]),
    "bits-over": ("BIT_NOT", {"x": A}, {}, lambda: ~A),
    "left": ("BIT_SHIFT", {"a": A[:, None], "b": BY}, {}, lambda: A[:, None] << BY),
    "right": (
        "BIT_SHIFT", {"a": A[:, None], "b": BY}, {"direction": "right"}, lambda: A[:, None] >> BY,
    ),
    "equal": ("EQUAL", {"a": A, "b": A - np.int32(1)}, {}, lambda: np.zeros(12, bool)),
    "greater": ("GREATER", {"a": A, "b": B}, {}, lambda: A > B),
    "select": ("SELECT", {"c": CHOICE, "a": A, "b": B}, {}, lambda: np.where(CHOICE, A, B)),
    "to-float": ("CAST", {"x": A}, {"dtype": "float32"}, lambda: A.astype(np.float32)),
    "to-bool": ("CAST", {"x": A}, {"dtype": "bool"}, lambda: A != 0),
    "sum": ("REDUCE_SUM", {"x": A}, {}, lambda: A.sum(dtype=np.int32)),
    "row-sums": ("REDUCE_SUM", {"x": TABLE}, {"axes": (1,)}, lambda: TABLE.sum(1, np.int32)),
    "column-sums": (
        "REDUCE_SUM", {"x": TABLE}, {"axes": (0,), "keepdims": True},
        lambda: TABLE.sum(0, np.int32, keepdims=True),
    ),
    "row-maxima": ("REDUCE_MAX", {"x": TABLE}, {"axes": (1,)}, lambda: TABLE.max(1)),
    "minimum": ("REDUCE_MIN", {"x": TABLE}, {}, lambda: TABLE.min()),
    "place": (
        "ARGMAX", {"x": np.array([[BIG, BIG + 1, 0], [LOWEST, LOWEST, LOWEST]], np.int32)}, {},
        lambda: np.array([1, 0], np.int32),
    ),
    "product": ("REDUCE_PROD", {"x": TABLE}, {"axes": (0,)}, lambda: TABLE.prod(0, np.int32)),
    "lowest-place": (
        "ARGMIN", {"x": np.array([[BIG, BIG + 1], [BIG, BIG - 1]], np.int32)}, {"axis": 0},
        lambda: np.array([0, 1], np.int32),
    ),
    "take": ("TAKE", {"table": A, "i": np.array([3, 6, 7], np.int32)}, {}, lambda: A[[3, 6, 7]]),
    "transpose": ("TRANSPOSE", {"x": TABLE}, {"perm": (1, 0)}, lambda: TABLE.T),
}  # fmt: skip


def case(name: str) -> Case:
    mnemonic, operands, attrs, _ = CASES[name]
    return Case(mnemonic, name, {n: given(v) for n, v in operands.items()}, attrs)


@pytest.mark.parametrize("name", CASES)
def test_whole_numbers_are_those_of_numpy(backend: Backend, name: str) -> None:
    with np.errstate(all="ignore"):
        wanted = CASES[name][3]()
    found = results(backend, case(name))["y"]
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_a_long_sum_of_whole_numbers_is_exact(backend: Backend) -> None:
    x = np.random.default_rng(3).integers(LOWEST, HIGHEST, (3, 4099), np.int32)
    for axes in ((1,), (0,), ()):
        one = Case("REDUCE_SUM", "long", {"x": given(x)}, {"axes": axes})
        wanted = x.sum(axis=axes or None, dtype=np.int32)
        np.testing.assert_array_equal(results(backend, one)["y"], wanted)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ADD": ({"x1": A, "x2": B}, {"alpha": 0.5}),
    "ADD_SCALAR": ({"x": A}, {"beta": 0.5}),
    "ASIN": ({"x": A}, {}),
    "AND": ({"a": A, "b": B}, {}),
    "CLIP": ({"x": A}, {"low": -0.5}),
    "DIV": ({"a": A, "b": B}, {}),
    "EXP": ({"x": A}, {}),
    "FLOOR": ({"x": A}, {}),
    "LEAKY_RELU": ({"x": A}, {}),
    "POW": ({"a": A, "b": B}, {}),
    "REDUCE_MEAN": ({"x": TABLE}, {}),
    "SCALE": ({"x": A}, {"alpha": 1.5}),
}


@pytest.mark.parametrize("mnemonic", REFUSED)
def test_what_would_need_a_float_is_refused_by_name(mnemonic: str) -> None:
    """No backend may be the first to notice: one would refuse, another compute in floats."""
    operands, attrs = REFUSED[mnemonic]
    cls = by_mnemonic(mnemonic)
    assert cls is not None
    builder = ProgramBuilder("refused", "infer")
    refs = {n: builder.tensor(n, v.shape, DType.int32, Role.INPUT) for n, v in operands.items()}
    with pytest.raises(StudioError, match=rf"\[{mnemonic}\]") as caught:
        builder.emit("forward", cls, **refs, **attrs)
    assert "CAST" in caught.value.hint


def test_a_file_that_mixes_them_is_refused() -> None:
    one = Case("SCALE", "mixed", {"x": Given((3,), exactly(1, 2, 3), DType.int32)}, {"alpha": 2.0})
    built = build(one)
    verify(program_of(built))
    built.ins = built.ins.replace(alpha=0.5)
    with pytest.raises(StudioError, match=r"0\.5 meets whole numbers"):
        verify(program_of(built))
