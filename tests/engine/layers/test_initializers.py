from __future__ import annotations

import re

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.core.philox import stream_of
from studio.engine.core.tensor import Tensor
from studio.engine.layers.initializers import initial_values, parse_initializer
from studio.engine.layers.regularizers import L1, L1L2, L2, parse_regularizer

SEED, STREAM = 7, stream_of("dense/kernel")


def values(text: str, shape: tuple[int, ...]) -> np.ndarray:
    return parse_initializer(text).values(shape, SEED, STREAM)


@pytest.mark.parametrize(
    ("text", "variance", "uniform"),
    [
        ("glorot_uniform", 2 / (200 + 300), True),
        ("glorot_normal", 2 / (200 + 300), False),
        ("he_uniform", 2 / 200, True),
        ("he_normal", 2 / 200, False),
        ("lecun_uniform", 1 / 200, True),
        ("lecun_normal", 1 / 200, False),
        ("variance_scaling(3,fan_out,uniform)", 3 / 300, True),
        ("variance_scaling(3,fan_out,untruncated_normal)", 3 / 300, False),
    ],
)
@pytest.mark.parametrize("conv", [False, True])
def test_scaled_kinds_have_the_variance_keras_states(
    text: str, variance: float, uniform: bool, conv: bool
) -> None:
    # A dense kernel is stored [out,in]; both have fans of 200 and 300.
    drawn = values(text, (2, 5, 20, 30) if conv else (300, 200)).astype(np.float64)
    assert drawn.mean() == pytest.approx(0.0, abs=4 * np.sqrt(variance / drawn.size))
    assert drawn.var() == pytest.approx(variance, rel=0.05)
    if uniform:
        assert np.abs(drawn).max() <= np.sqrt(3 * variance) * (1 + 1e-6)
        assert np.abs(drawn).max() > 0.99 * np.sqrt(3 * variance)
    elif "untruncated" not in text:
        assert np.abs(drawn).max() <= 2 * np.sqrt(variance) / 0.8796256 * (1 + 1e-6)


def test_plain_kinds() -> None:
    assert not values("zeros", (3, 2)).any()
    assert (values("ones", (3, 2)) == 1).all()
    assert (values("constant(0.25)", (4,)) == 0.25).all()
    np.testing.assert_array_equal(values("identity(2)", (2, 3)), 2 * np.eye(2, 3))
    drawn = values("random_uniform(-1,3)", (5000,))
    assert -1 <= drawn.min() < -0.99
    assert 2.99 < drawn.max() < 3
    drawn = values("random_normal(2,0.5)", (20000,))
    assert (drawn.mean(), drawn.std()) == (
        pytest.approx(2, abs=0.02), pytest.approx(0.5, rel=0.03),
    )  # fmt: skip
    drawn = values("truncated_normal(0,0.5)", (20000,))
    assert np.abs(drawn).max() <= 1.0
    assert drawn.std() == pytest.approx(0.5 * 0.8796, rel=0.03)


@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (3, 3, 4, 50), (3, 3, 8, 5)])
def test_orthogonal_has_orthonormal_rows_or_columns(shape: tuple[int, ...]) -> None:
    matrix = values("orthogonal(3)", shape).astype(np.float64).reshape(-1, shape[-1])
    small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    np.testing.assert_allclose(small @ small.T, 9 * np.eye(len(small)), atol=1e-5)


def test_dylann_rules() -> None:
    assert np.abs(values("dylann_linear", (50, 400))).max() == pytest.approx(1 / 20, rel=1e-3)
    assert np.abs(values("dylann_linear", (10000,))).max() == pytest.approx(1 / 100, rel=1e-3)
    assert values("dylann_conv", (3, 3, 16, 300)).std() == pytest.approx(2 / 12, rel=0.02)
    assert values("dylann_conv", (10000,)).std() == pytest.approx(2 / 100, rel=0.03)


def test_values_depend_on_seed_and_stream_only() -> None:
    tensor = Tensor(0, "a/kernel", (4, 3), init="glorot_uniform", stream=11)
    first = initial_values(tensor, 5)
    np.testing.assert_array_equal(first, initial_values(tensor.replace(id=9, name="b/k"), 5))
    assert (first != initial_values(tensor, 6)).any()
    assert (first != initial_values(tensor.replace(stream=12), 5)).any()
    assert not initial_values(tensor.replace(init=""), 5).any()


@pytest.mark.parametrize(
    "text",
    ["zeros", "constant(0.5)", "random_normal(0,0.1)", "orthogonal(2)", "he_normal",
     "variance_scaling(2,fan_in,truncated_normal)", "random_uniform(-1e-05,0.1)"],
)  # fmt: skip
def test_text_reads_back_as_the_same(text: str) -> None:
    assert parse_initializer(text).text == text
    assert parse_initializer(parse_initializer(text).text) == parse_initializer(text)


@pytest.mark.parametrize(
    "text",
    ["", "glorot", "zeros(1)", "constant(a)", "constant(nan)", "random_normal(0,-1)",
     "variance_scaling(0)", "variance_scaling(1,fan_up)", "orthogonal(1,2)", 3, None],
)  # fmt: skip
def test_wrong_text_is_refused(text: object) -> None:
    with pytest.raises(ParameterError):
        parse_initializer(text)


def test_penalties_read_back_and_wrong_ones_are_refused() -> None:
    for text, wanted in (
        ("l2(0.1)", L2(0.1)),
        ("l1", L1(0.01)),
        ("l1_l2(0.1, 0.2)", L1L2(0.1, 0.2)),
    ):
        assert parse_regularizer(text) == wanted
        assert parse_regularizer(wanted.text) == wanted
    for wrong, why in (
        ("l3(1)", "expected a regulariser, got 'l3"),
        (0.1, "expected a regulariser, got 0.1"),
        ("l2(-1)", "l2: expected a number of at least 0, got -1"),
        ("l1(a)", "l1: expected a number of at least 0, got 'a'"),
        ("l2(inf)", "l2: expected a number of at least 0, got inf"),
        ("l2(1,2)", "l2 takes 1 value, got 2"),
        ("l1_l2(1,2,3)", "l1_l2 takes 2 values, got 3"),
    ):
        with pytest.raises(ParameterError, match=re.escape(why)):
            parse_regularizer(wrong)


def test_a_tensor_no_memory_holds_is_named() -> None:
    wide = Tensor(0, "wide/kernel", (70_000, 2_000_000), init="glorot_uniform")
    with pytest.raises(ParameterError, match=r"\[wide/kernel\].*its values need 521\.5 GiB"):
        initial_values(wide, 0)
