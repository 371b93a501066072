"""Indices at their limits: outside, given often, many; and gradients that repeat to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import by_mnemonic
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, apart, exactly, floats
from tests.engine.conformance.harness import gradients, results
from tests.engine.conformance.test_results import expected

NAN, INF = np.nan, np.inf


def indices(values: Any) -> Given:
    array = np.asarray(values, np.int32)
    return Given(array.shape, lambda rng, shape: array, DType.int32)


def gradient_of(backend: Backend, case: Case, name: str, dy: np.ndarray) -> np.ndarray:
    given = case.operands[name]
    assert isinstance(given, Given)
    before = {name: [np.ones(given.shape, np.float32)]}
    return gradients(backend, case, dy.astype(np.float32), before, set_=(name,))[name][0]


GATHERED: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], int]] = {
    "rows": ("GATHER", (50, 3), (40, 20), {}, 50),
    "axis": ("GATHER", (3, 40, 2), (300,), {"axis": 1}, 40),
    "elements": ("GATHER_ELEMENTS", (30, 4), (200, 4), {}, 30),
    "tuples": ("GATHER_ND", (8, 9, 3), (500, 2), {}, 8),
    "batch": ("GATHER_ND", (4, 11, 3), (4, 90, 1), {"batch": 1}, 11),
    "many": ("GATHER", (5000, 2), (9000,), {}, 5000),
    "many-elements": ("GATHER_ELEMENTS", (3000, 2), (4000, 2), {}, 3000),
    "skewed": ("GATHER", (2000, 1), (9000,), {}, 2000),
}


def gathered(name: str) -> tuple[Case, np.ndarray, np.ndarray]:
    """A look-up with indices given many times and some outside, a slope, and its gradient."""
    mnemonic, shape, count, attrs, size = GATHERED[name]
    rng = np.random.default_rng(len(name))
    i = rng.integers(-size - 2, size + 2, count).astype(np.int32)
    if name == "skewed":
        i[rng.random(count) < 0.9] = 7
    case = Case(mnemonic, name, {"x": floats(*shape), "i": indices(i)}, attrs)
    # The reference of the value, asked which element is where, says where a slope goes.
    number = Given(shape, lambda r, s: np.arange(np.prod(s)).reshape(s))
    asked = Case(mnemonic, name, {"x": number, "i": indices(i)}, attrs)
    places = expected(asked)["y"]
    dy = rng.uniform(-1, 1, places.shape).astype(np.float32)
    wanted = np.zeros(int(np.prod(shape)))
    inside = ~np.isnan(places)
    np.add.at(wanted, places[inside].astype(np.int64), dy[inside].astype(np.float64))
    return case, dy, wanted.reshape(shape)


@pytest.mark.slow
@pytest.mark.parametrize("name", GATHERED)
def test_slopes_of_indices_given_often_add_up(backend: Backend, name: str) -> None:
    case, dy, wanted = gathered(name)
    found = gradient_of(backend, case, "x", dy)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min", "none"])
@pytest.mark.parametrize("mnemonic", ["SCATTER", "SCATTER_ND"])
def test_many_are_scattered_in_any_order(backend: Backend, mnemonic: str, reduction: str) -> None:
    rng = np.random.default_rng(7)
    i = rng.integers(-1010, 1010, (10000, 2 if mnemonic == "SCATTER" else 1))
    i[1000:3000] = 5
    operands = {
        "x": floats(1000, 2),
        "i": indices(i),
        "u": floats(10000, 2, make=lambda rng, shape: rng.uniform(0.99, 1.01, shape)),
    }
    case = Case(mnemonic, reduction, operands, {"reduction": reduction})
    found = results(backend, case)["y"]
    np.testing.assert_allclose(found, expected(case)["y"], rtol=3e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True], ids=["floats", "whole"])
@pytest.mark.parametrize(("shape", "axis", "k"), [((5, 6000), 1, 100), ((9000, 3), 0, 9000)])
def test_long_lines_are_ranked(
    backend: Backend, shape: tuple[int, int], axis: int, k: int, whole: bool
) -> None:
    """Whole numbers of few values have many ties; floats of a hundred numbers too."""
    x = Given(shape, lambda rng, s: rng.integers(-50, 50, s) / 7)
    if whole:
        x = Given(shape, lambda rng, s: rng.integers(-(2**31), 2**31, s), DType.int32)
    attrs = {"k": k, "axis": axis, "order": "smallest" if whole else "largest"}
    case = Case("TOPK", "long", {"x": x}, attrs)
    found, wanted = results(backend, case), expected(case)
    np.testing.assert_array_equal(found["i"], wanted["i"])
    np.testing.assert_array_equal(found["y"].astype(np.float32), wanted["y"].astype(np.float32))


@pytest.mark.slow
def test_the_gradient_of_many_found_goes_to_their_places(backend: Backend) -> None:
    x = floats(4, 70, 3, make=apart)
    case = Case("TOPK", "many", {"x": x}, {"k": 50, "axis": 1})
    rng = np.random.default_rng(4)
    dy = rng.uniform(-1, 1, (4, 50, 3)).astype(np.float32)
    wanted = np.zeros((4, 70, 3), np.float32)
    np.put_along_axis(wanted, expected(case)["i"], dy, 1)
    np.testing.assert_array_equal(gradient_of(backend, case, "x", dy), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("form", [{}, {"exclusive": True, "reverse": True}], ids=["plain", "both"])
def test_long_lines_run_on(backend: Backend, op: str, form: dict[str, Any]) -> None:
    near = (0.99, 1.01) if op == "prod" else (-1.0, 1.0)
    x = floats(2, 5000, 2, make=lambda rng, shape: rng.uniform(*near, shape))
    case = Case("CUMULATE", "long", {"x": x}, {"axis": 1, "op": op, **form})
    wanted = expected(case)["y"]
    np.testing.assert_allclose(results(backend, case)["y"], wanted, rtol=1e-4, atol=1e-5)
    if op != "prod":
        whole = Given((7000,), lambda rng, shape: rng.integers(-(2**31), 2**31, shape), DType.int32)
        of_whole = Case("CUMULATE", "whole", {"x": whole}, {"axis": 0, "op": op, **form})
        exact = expected(of_whole)["y"]
        ends = np.where(np.isinf(exact), np.copysign(2.0**31, exact) - (exact > 0), exact)
        wrapped = ends.astype(np.int64).astype(np.int32)
        np.testing.assert_array_equal(results(backend, of_whole)["y"], wrapped)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["sum", "prod", "max"])
def test_slopes_of_long_lines_run_back(backend: Backend, op: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0.995, 1.005, 3000).astype(np.float32)
    dy = rng.uniform(-1, 1, 3000).astype(np.float32)
    case = Case("CUMULATE", "long", {"x": Given((3000,), exactly(*x.tolist()))}, {"op": op})
    slopes = dy.astype(np.float64)
    if op == "sum":
        wanted = slopes[::-1].cumsum()[::-1]
    elif op == "prod":
        wanted = (slopes * x.astype(np.float64).cumprod())[::-1].cumsum()[::-1] / x
    else:
        wanted = np.zeros(3000)
        np.add.at(wanted, [int(x[: k + 1].argmax()) for k in range(3000)], slopes)
    np.testing.assert_allclose(gradient_of(backend, case, "x", dy), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows", "many", "skewed"])
def test_a_gradient_by_indices_has_the_same_bits_every_time(backend: Backend, name: str) -> None:
    case, dy, _ = gathered(name)
    first, second = (gradient_of(backend, case, "x", dy) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_whole_numbers_looked_up_outside_are_zero(backend: Backend) -> None:
    x = Given((3,), exactly(2**30 + 1, 5, -7), DType.int32)
    case = Case("GATHER", "outside", {"x": x, "i": indices([0, 3, -1, -4])})
    assert results(backend, case)["y"].tolist() == [2**30 + 1, 0, -7, 0]


def test_equal_extremes_give_their_slope_to_x_and_then_to_the_first(backend: Backend) -> None:
    operands = {
        "x": Given((3,), exactly(2, 5, NAN)),
        "i": indices([0, 0, 1, 1, 2]),
        "u": Given((5,), exactly(7, 7, 5, 4, NAN)),
    }
    case = Case("SCATTER", "ties", operands, {"reduction": "max"})
    dy = np.array([1, 2, 3])
    assert gradient_of(backend, case, "x", dy).tolist() == [0, 2, 3]
    assert gradient_of(backend, case, "u", dy).tolist() == [1, 0, 0, 0, 0]


def test_what_is_scattered_outside_is_left_out_and_gets_no_slope(backend: Backend) -> None:
    operands = {
        "x": Given((3,), exactly(1, 2, 3)),
        "i": indices([3, -4, -1, 1, 1]),
        "u": Given((5,), exactly(10, 20, 30, 40, 50)),
    }
    case = Case("SCATTER", "outside", operands)
    assert results(backend, case)["y"].tolist() == [1, 50, 30]
    assert gradient_of(backend, case, "u", np.array([1, 2, 3])).tolist() == [0, 0, 3, 0, 2]


@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_nan_is_ranked_above_all_and_zeros_are_equal(backend: Backend, order: str) -> None:
    x = Given((3, 4), exactly(1, NAN, -INF, NAN, 0.0, -0.0, -1.0, INF, -0.0, 0.0, NAN, 0.0))
    case = Case("TOPK", "edge", {"x": x}, {"k": 4, "order": order})
    wanted = {
        "largest": [[1, 3, 0, 2], [3, 0, 1, 2], [2, 0, 1, 3]],
        "smallest": [[2, 0, 1, 3], [2, 0, 1, 3], [0, 1, 3, 2]],
    }
    assert results(backend, case)["i"].tolist() == wanted[order]


def test_running_results_keep_nan_and_wrap_whole_numbers(backend: Backend) -> None:
    x = Given((4,), exactly(1, NAN, 2, -INF))
    for op in ("sum", "prod", "max", "min"):
        y = results(backend, Case("CUMULATE", "nan", {"x": x}, {"op": op}))["y"]
        assert np.isnan(y).tolist() == [False, True, True, True]
    whole = Given((3,), exactly(2**31 - 1, 1, 5), DType.int32)
    found = results(backend, Case("CUMULATE", "wraps", {"x": whole}))["y"]
    assert found.tolist() == [2**31 - 1, -(2**31), -(2**31) + 5]
    lowest = Case("CUMULATE", "first", {"x": whole}, {"op": "max", "exclusive": True})
    assert results(backend, lowest)["y"].tolist() == [-(2**31), 2**31 - 1, 2**31 - 1]


def emit(mnemonic: str, x: tuple[int, ...], i: tuple[int, ...], **fields: Any) -> None:
    builder = ProgramBuilder("refused", "infer")
    cls = by_mnemonic(mnemonic)
    assert cls is not None
    dtype = fields.pop("dtype", DType.int32)
    refs = {"x": builder.tensor("x", x, DType.float32, Role.INPUT)}
    if i:
        refs["i"] = builder.tensor("i", i, dtype, Role.INPUT)
    if "u" in fields:
        refs["u"] = builder.tensor("u", fields.pop("u"), DType.float32, Role.INPUT)
    builder.emit("forward", cls, **refs, **fields)


REFUSED: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any], str]] = {
    "float": ("GATHER", (3,), (2,), {"dtype": DType.float32}, "indices are int32: got float32"),
    "axis": ("GATHER", (3, 4), (2,), {"axis": 2}, "axis 2 is outside rank 2"),
    "batch": ("GATHER", (3, 4), (BATCH,), {"axis": 1}, r"dimension 0 of the result: got \[3,N\]"),
    "longer": ("GATHER_ELEMENTS", (3, 4), (2, 5), {}, r"got \[2,5\] for \[3,4\]"),
    "rank": ("GATHER_ELEMENTS", (3, 4), (2,), {}, "the rank of x"),
    "deep": ("GATHER_ND", (3, 4), (2, 3), {}, "1 to 2 dimensions of x"),
    "updates": ("SCATTER", (3, 4), (2, 4), {"u": (2, 3)}, r"expected updates of float32\[2,4\]"),
    "entries": ("SCATTER_ND", (3, 4), (2, 1), {"u": (2, 3)}, r"expected updates of float32\[2,4\]"),
    "many": ("TOPK", (3, 4), (), {"k": 5}, "k may be 1 to 4, the length of axis 1: got 5"),
    "whole": ("TOPK", (BATCH, 4), (), {"axis": 0}, "the batch dimension cannot be ranked"),
    "running": ("CUMULATE", (BATCH,), (), {}, "the batch dimension cannot be accumulated"),
    "turned": ("REVERSE", (3, 4), (), {"axes": (1, 0)}, "axes must be ascending"),
    "apart": ("GATHER_ND", (3, 4), (2, 1), {"batch": 1}, "behind 1 in common"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_indices_that_do_not_fit_are_refused(name: str) -> None:
    mnemonic, x, i, fields, said = REFUSED[name]
    with pytest.raises(ShapeError, match=said):
        emit(mnemonic, x, i, **fields)
