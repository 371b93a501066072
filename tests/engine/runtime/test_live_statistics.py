"""Statistics of tensors against NumPy in float64 and counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from studio.engine.runtime.live_statistics import BINS, statistics_of


def test_finite_numbers_give_numpy_s_answers(rng: np.random.Generator) -> None:
    array = rng.standard_normal((3, 50, 7)).astype(np.float32) * 4 + 1
    array[0, 0, :3] = (0.0, -0.0, 0.0)
    found = statistics_of(array)
    wide = array.astype(np.float64)
    assert (found.count, found.bad, found.zeros) == (array.size, 0, 3)
    assert (found.low, found.high) == (wide.min(), wide.max())
    assert found.mean == pytest.approx(wide.mean(), rel=1e-12)
    assert found.std == pytest.approx(wide.std(), rel=1e-6)
    counts, _ = np.histogram(wide, BINS, (wide.min(), wide.max()))
    assert sum(found.histogram) == array.size
    assert np.abs(np.cumsum(found.histogram) - np.cumsum(counts)).max() <= 1


def test_numbers_that_are_none_are_counted_and_left_out() -> None:
    array = np.array([1.0, np.nan, np.inf, -np.inf, np.nan, 3.0, 0.0], np.float32)
    found = statistics_of(array)
    assert (found.nan, found.plus_inf, found.minus_inf, found.zeros) == (2, 1, 1, 1)
    assert (found.low, found.high, found.finite, found.bad) == (0.0, 3.0, 3, 4)
    assert found.mean == pytest.approx(4 / 3)
    assert sum(found.histogram) == 3


@pytest.mark.parametrize("values", [[np.nan, np.inf], []])
def test_nothing_finite_has_no_range(values: list[float]) -> None:
    found = statistics_of(np.array(values, np.float32))
    assert all(math.isnan(x) for x in (found.low, found.high, found.mean, found.std))
    assert sum(found.histogram) == 0


def test_a_constant_lies_in_the_first_bin() -> None:
    found = statistics_of(np.full(9, 2.5, np.float32))
    assert (found.low, found.high, found.std) == (2.5, 2.5, 0.0)
    assert found.histogram == (9, *[0] * (BINS - 1))


def test_the_whole_range_of_float32_does_not_overflow() -> None:
    most = np.finfo(np.float32).max
    found = statistics_of(np.array([-most, 0.0, most], np.float32))
    assert (found.histogram[0], found.histogram[BINS // 2], found.histogram[-1]) == (1, 1, 1)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float16])
def test_every_storage_type_is_counted(dtype: type[np.generic]) -> None:
    array = np.array([0, 1, 1, 0, 1], dtype)
    found = statistics_of(array)
    assert (found.zeros, found.low, found.high) == (2, 0.0, 1.0)
    assert (found.histogram[0], found.histogram[-1]) == (2, 3)


def test_large_whole_numbers_are_not_rounded() -> None:
    found = statistics_of(np.array([16777217, -2147483648], np.int32))
    assert (found.low, found.high) == (-2147483648.0, 16777217.0)


def test_many_elements_are_taken_in_stretches(rng: np.random.Generator) -> None:
    array = rng.standard_normal(3_000_000).astype(np.float32)
    array[::1000] = np.nan
    found = statistics_of(array)
    wide = array[~np.isnan(array)].astype(np.float64)
    assert found.nan == 3000
    assert found.mean == pytest.approx(wide.mean(), abs=1e-9)
    assert found.std == pytest.approx(wide.std(), rel=1e-6)


def test_numbers_far_from_zero_keep_their_spread(rng: np.random.Generator) -> None:
    array = (rng.standard_normal(200_000) * 1e-2 + 5000).astype(np.float32)
    assert statistics_of(array).std == pytest.approx(array.astype(np.float64).std(), rel=1e-4)


@pytest.mark.parametrize("high", [1e20, 3e38])
def test_numbers_too_large_to_be_squared_have_a_spread(high: float) -> None:
    array = np.array([high, -high, 0.0, high], np.float32)
    found = statistics_of(array)
    assert found.std == pytest.approx(array.astype(np.float64).std(), rel=1e-6)
    assert sum(found.histogram) == 4


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_])
def test_bytes_are_counted_exactly(dtype: type[np.generic], rng: np.random.Generator) -> None:
    array = rng.integers(0, 2 if dtype is np.bool_ else 200, (300, 1000)).astype(dtype)
    found = statistics_of(array)
    wide = array.astype(np.float64)
    assert found.mean == pytest.approx(wide.mean(), rel=1e-12)
    assert found.std == pytest.approx(wide.std(), rel=1e-12)
    counts, _ = np.histogram(wide, BINS, (wide.min(), wide.max()))
    assert np.abs(np.cumsum(found.histogram) - np.cumsum(counts)).max() <= array.size * 0.02
