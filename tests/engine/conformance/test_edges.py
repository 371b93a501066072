"""Edges the manual states: NaN and infinities, ties, kinks, indices outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly, integers
from tests.engine.conformance.harness import gradients, results
from tests.engine.oracle.windows import first_max_gradient

NAN, INF = np.nan, np.inf


def given(*values: float, shape: tuple[int, ...] | None = None) -> Given:
    return Given(shape or (len(values),), exactly(*values))


def result(backend: Backend, mnemonic: str, operands: dict[str, Any], **attrs: Any) -> np.ndarray:
    return results(backend, Case(mnemonic, "edge", operands, attrs))["y"]


def gradient(
    backend: Backend, mnemonic: str, operands: dict[str, Any], dy: Any, name: str, **attrs: Any
) -> np.ndarray:
    case = Case(mnemonic, "edge", operands, attrs)
    before = {name: [np.zeros(operands[name].shape, np.float32)]}
    return gradients(backend, case, np.asarray(dy, np.float32), before, set_=(name,))[name][0]


@pytest.mark.parametrize("mnemonic", ["MAXIMUM", "MINIMUM"])
def test_the_larger_of_a_pair_is_nan_where_either_is(backend: Backend, mnemonic: str) -> None:
    y = result(backend, mnemonic, {"a": given(NAN, 1.0, 2.0), "b": given(1.0, NAN, 3.0)})
    assert np.isnan(y).tolist() == [True, True, False]


def test_quotients_by_zero_are_those_of_ieee_754(backend: Backend) -> None:
    y = result(backend, "DIV", {"a": given(1.0, -1.0, 0.0, 1.0), "b": given(0.0, 0.0, 0.0, INF)})
    np.testing.assert_array_equal(y, [INF, -INF, NAN, 0.0])


def test_functions_outside_their_domain(backend: Backend) -> None:
    x = {"x": given(0.0, -1.0, 4.0)}
    np.testing.assert_allclose(result(backend, "LOG", x), [-INF, NAN, np.log(4)], rtol=1e-6)
    np.testing.assert_allclose(result(backend, "SQRT", x), [0.0, NAN, 2.0])
    np.testing.assert_allclose(result(backend, "RSQRT", x), [INF, NAN, 0.5])


def test_powers_at_their_edges(backend: Backend) -> None:
    pair = {"a": given(0.0, 2.0, -2.0), "b": given(2.0, 0.0, 0.5)}
    np.testing.assert_allclose(result(backend, "POW", pair), [0.0, 1.0, NAN])
    slope = gradient(backend, "POW", {k: given(*v) for k, v in
                     {"a": (0.0, 2.0), "b": (2.0, 0.0)}.items()}, [1.0, 1.0], "b")  # fmt: skip
    np.testing.assert_allclose(slope, [0.0, np.log(2.0)], rtol=1e-6)


def test_comparisons_with_nan_are_false(backend: Backend) -> None:
    pair = {"a": given(NAN, NAN, 1.0), "b": given(NAN, 0.0, NAN)}
    assert not result(backend, "EQUAL", pair).any()
    assert not result(backend, "GREATER", pair).any()


def test_a_sigmoid_neither_overflows_nor_leaves_its_range(backend: Backend) -> None:
    y = result(backend, "SIGMOID", {"x": given(-1000.0, -40.0, 40.0, 1000.0, -INF, INF)})
    np.testing.assert_allclose(y, [0.0, 0.0, 1.0, 1.0, 0.0, 1.0], atol=1e-15)
    y = result(backend, "SOFTPLUS", {"x": given(-1000.0, 1000.0)})
    np.testing.assert_allclose(y, [0.0, 1000.0])


def test_the_exact_gelu_keeps_its_digits_down_the_tail(backend: Backend) -> None:
    x = np.linspace(-9, 9, 1801).astype(np.float32)
    y = result(backend, "GELU_EXACT", {"x": given(*x.tolist())})
    wanted = [v / 2 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]
    # The exponential of a rounded x²/2 is off by x²/2 roundings.
    np.testing.assert_allclose(y, wanted, rtol=4e-6, atol=1e-30)
    near = result(backend, "GELU_EXACT", {"x": given(-1e-6, 0.0, 1e-6)})
    np.testing.assert_allclose(near, [-5e-7, 0.0, 5e-7], rtol=2e-6)
    np.testing.assert_array_equal(result(backend, "GELU_EXACT", {"x": given(INF)}), [INF])


DERIVATIVES = {
    "RELU": ({}, [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
    "ABS": ({}, [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]),
    "LEAKY_RELU": ({"alpha": 0.25}, [-1.0, 0.0, 1.0], [0.25, 0.25, 1.0]),
    "CLIPPED_RELU": ({"ceiling": 2.0}, [0.0, 1.0, 2.0], [0.0, 1.0, 0.0]),
    "CLIP": ({"low": -1.0, "high": 1.0}, [-1.0, 1.0, 1.5], [1.0, 1.0, 0.0]),
    "HARD_SIGMOID": ({}, [-3.0, 0.0, 3.0], [0.0, 1 / 6, 0.0]),
    "ELU": ({"alpha": 0.5}, [0.0, 1.0, -30.0], [0.5, 1.0, 0.0]),
}


@pytest.mark.parametrize("mnemonic", DERIVATIVES)
def test_a_derivative_at_its_kink(backend: Backend, mnemonic: str) -> None:
    attrs, x, wanted = DERIVATIVES[mnemonic]
    found = gradient(backend, mnemonic, {"x": given(*x)}, [1.0] * 3, "x", **attrs)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_an_infinite_slope_is_masked_and_not_multiplied(backend: Backend) -> None:
    found = gradient(backend, "RELU", {"x": given(-1.0, 1.0)}, [INF, INF], "x")
    np.testing.assert_array_equal(found, [0.0, INF])


@pytest.mark.parametrize("mnemonic", ["MAXIMUM", "MINIMUM"])
def test_the_gradient_of_a_tie_goes_to_the_left(backend: Backend, mnemonic: str) -> None:
    pair = {"a": given(1.0, 2.0), "b": given(1.0, 2.0)}
    np.testing.assert_array_equal(gradient(backend, mnemonic, pair, [3.0, 4.0], "a"), [3.0, 4.0])
    np.testing.assert_array_equal(gradient(backend, mnemonic, pair, [3.0, 4.0], "b"), [0.0, 0.0])


@pytest.mark.parametrize("mnemonic", ["REDUCE_MAX", "REDUCE_MIN"])
def test_the_gradient_of_equal_extremes_goes_to_the_first(backend: Backend, mnemonic: str) -> None:
    x = given(*[2.0] * 12, shape=(3, 2, 2))
    found = gradient(backend, mnemonic, {"x": x}, [5.0, 7.0], "x", axes=(0, 2))
    wanted = np.zeros((3, 2, 2))
    wanted[0, 0, 0], wanted[0, 1, 0] = 5.0, 7.0
    np.testing.assert_array_equal(found, wanted)
    assert np.isnan(result(backend, mnemonic, {"x": given(1.0, NAN, 2.0)}))


@pytest.mark.parametrize(("stride", "height"), [(1, 5), (2, 5), (2, 4)])
def test_pooling_ties_go_to_the_first_cell(backend: Backend, stride: int, height: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 2, (2, height, 6, 3)).astype(np.float64)
    attrs = {"stride_h": stride, "stride_w": stride}
    x = Given(values.shape, lambda _, shape: values)
    dy = rng.uniform(1, 2, result(backend, "MAXPOOL2D", {"x": x}, **attrs).shape)
    found = gradient(backend, "MAXPOOL2D", {"x": x}, dy, "x", **attrs)
    whole = {"window_h": 2, "window_w": 2, "pad_h": 0, "pad_w": 0, "pad_end": ()} | attrs
    wanted = first_max_gradient({"x": values}, whole, dy.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_padding_never_wins_a_pool_and_nan_does(backend: Backend) -> None:
    x = given(-1.0, -2.0, NAN, -4.0, shape=(1, 2, 2, 1))
    y = result(backend, "MAXPOOL2D", {"x": x}, pad_h=1, pad_w=1)
    np.testing.assert_array_equal(y[0, :, :, 0], [[-1.0, -2.0], [NAN, -4.0]])
    y = result(backend, "MAXPOOL2D", {"x": x})
    assert np.isnan(y).all()


@pytest.mark.parametrize(("mnemonic", "sign"), [("ARGMAX", 1), ("ARGMIN", -1)])
def test_the_place_is_that_of_the_first_nan_or_the_first_of_equals(
    backend: Backend, mnemonic: str, sign: float
) -> None:
    values = sign * np.array([[1.0, 3.0, 3.0], [NAN, 5.0, NAN], [0.0, -0.0, -1.0]])
    x = given(*values.ravel(), shape=(3, 3))
    assert result(backend, mnemonic, {"x": x}).tolist() == [1, 0, 0]
    x = given(*values.T.ravel(), shape=(3, 3))
    assert result(backend, mnemonic, {"x": x}, axis=0).tolist() == [1, 0, 0]


def test_the_gradient_of_a_product_is_that_of_the_others(backend: Backend) -> None:
    x = given(2.0, 0.0, 3.0, 0.0, 0.0, 5.0, NAN, 1.0, 4.0, shape=(3, 3))
    found = gradient(backend, "REDUCE_PROD", {"x": x}, [1.0, 2.0, 1.0], "x", axes=(1,))
    np.testing.assert_array_equal(found[:2], [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(found[2], [4.0, NAN, NAN])
    y = result(backend, "REDUCE_PROD", {"x": given(-0.0, 2.0, INF, 0.0, shape=(2, 2))}, axes=(1,))
    np.testing.assert_array_equal(y, [0.0, NAN])
    assert np.signbit(y[0])


@pytest.mark.parametrize("bad", [NAN, INF])
def test_softmax_spreads_a_bad_number_over_its_row(backend: Backend, bad: float) -> None:
    y = result(backend, "SOFTMAX", {"x": given(1.0, bad, 2.0, 3.0, shape=(2, 2))}, step=2)
    assert np.isnan(y).tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize("source", ["probs", "logits", "softmax"])
def test_a_class_outside_makes_the_loss_nan(backend: Backend, source: str) -> None:
    p = given(0.2, 0.8, 0.5, 0.5, shape=(2, 2))
    operands = {"p": p, "t": integers(2, low=2, high=3)}
    assert np.isnan(result(backend, "LOSS_SPARSE_CE", operands, source=source))
    assert np.isnan(result(backend, "ROW_SPARSE_CE", operands, source=source)).all()


def test_probabilities_of_zero_give_a_finite_loss(backend: Backend) -> None:
    operands = {"p": given(0.0, 1.0, shape=(1, 2)), "t": given(1.0, 0.0, shape=(1, 2))}
    np.testing.assert_allclose(result(backend, "LOSS_CE", operands), -np.log(1e-7), rtol=1e-5)
    np.testing.assert_array_equal(gradient(backend, "LOSS_CE", operands, 1.0, "p")[0, 0], 0.0)


def test_a_row_outside_a_table_is_nan(backend: Backend) -> None:
    table = given(*range(6), shape=(3, 2))
    y = result(backend, "TAKE", {"table": table, "i": integers(2, low=3, high=9)})
    assert np.isnan(y).all()


def test_mean_absolute_error_is_flat_where_it_is_zero(backend: Backend) -> None:
    operands = {"p": given(1.0, 2.0, shape=(1, 2)), "t": given(1.0, 1.0, shape=(1, 2))}
    found = gradient(backend, "LOSS_MAE", operands, 1.0, "p")
    np.testing.assert_allclose(found, [[0.0, 0.5]])


def test_clipping_a_gradient_keeps_nan(backend: Backend) -> None:
    case = Case("CLIP_VALUE", "edge", {"g": given(NAN, 5.0, -5.0)}, {"limit": 2.0})
    np.testing.assert_array_equal(results(backend, case)["g"], [NAN, 2.0, -2.0])


def test_sums_over_many_elements_keep_their_digits(backend: Backend) -> None:
    x = Given((1 << 20,), lambda _, shape: np.full(shape, 0.1))
    exact = float(np.float32(0.1)) * (1 << 20)
    np.testing.assert_allclose(result(backend, "REDUCE_SUM", {"x": x}), exact, rtol=1e-6)


@pytest.mark.parametrize("rows", [1, 40001])
def test_bias_gradients_over_many_rows_keep_their_digits(backend: Backend, rows: int) -> None:
    operands = {
        "w": given(1.0, 2.0, 3.0, shape=(3, 1)),
        "b": given(0.0, 0.0, 0.0),
        "x": Given((rows, 1), lambda _, shape: np.ones(shape)),
    }
    dy = np.full((rows, 3), 0.1, np.float32)
    found = gradient(backend, "LINEAR", operands, dy, "b")
    np.testing.assert_allclose(found, np.full(3, float(np.float32(0.1)) * rows), rtol=1e-6)
