"""The exponential average against a loop in float64, for constants, gaps and any division."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.session.plots.smoothing import Smoother, position_of, smooth, weight_at


def reference(values: np.ndarray, weight: float) -> np.ndarray:
    """Adam's corrected average, one value after another."""
    average, count, made = 0.0, 0, []
    for value in values.astype(np.float64):
        if not np.isfinite(value):
            made.append(np.nan)
            continue
        average = weight * average + (1.0 - weight) * value
        count += 1
        made.append(average / (1.0 - weight**count))
    return np.array(made)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.6, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("length", [1, 2, 127, 128, 129, 1000, 4096])
def test_smoothing_equals_the_loop(weight: float, length: int, rng: np.random.Generator) -> None:
    values = rng.normal(2.0, 5.0, length).astype(np.float32)
    np.testing.assert_allclose(smooth(values, weight), reference(values, weight), rtol=1e-9)


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=8),
    st.sampled_from([0.0, 0.6, 0.97]),
    st.integers(0, 2**31),
)
@pytest.mark.slow
def test_smoothing_does_not_depend_on_how_the_values_arrive(
    parts: list[int], weight: float, seed: int
) -> None:
    values = np.random.default_rng(seed).normal(size=sum(parts))
    smoother = Smoother(weight)
    made = [smoother.add(part) for part in np.split(values, np.cumsum(parts)[:-1])]
    np.testing.assert_allclose(np.concatenate(made), smooth(values, weight), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [0.1, 1e-30, -7.25, 3e7, 1 / 3])
@pytest.mark.parametrize("weight", [0.6, 0.95, 0.999])
def test_a_constant_stays_exactly_what_it_is(value: float, weight: float) -> None:
    values = np.full(100_000, value, np.float32)
    made = smooth(values, weight)
    assert made.max() - made.min() == 0.0
    assert made[0] == values[0]


def test_what_is_no_number_is_passed_over(rng: np.random.Generator) -> None:
    values = rng.normal(size=500)
    values[[0, 3, 128, 499]] = [np.nan, np.inf, -np.inf, np.nan]
    made = smooth(values, 0.8)
    np.testing.assert_allclose(made, reference(values, 0.8), rtol=1e-9)
    assert np.isnan(made[[0, 3, 128, 499]]).all()


def test_a_series_of_nothing_but_nan_gives_nan() -> None:
    assert np.isnan(smooth(np.full(10, np.nan), 0.6)).all()


@pytest.mark.parametrize("weight", [0.0, 0.6, 0.9, 0.99, 0.999])
def test_the_slider_leads_to_a_weight_and_back(weight: float) -> None:
    assert weight_at(position_of(weight)) == pytest.approx(weight, abs=1e-12)


def test_the_slider_divides_the_decades_equally() -> None:
    assert [weight_at(p / 3) for p in range(4)] == pytest.approx([0.0, 0.9, 0.99, 0.999])
