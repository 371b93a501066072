"""Uniform random numbers are equal to the bit on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly, step_block
from tests.engine.conformance.harness import results
from tests.engine.conformance.test_results import expected

STEPS = [0, 1, 70_000, 2**31 - 1]
STREAMS = [0, 5, 2**31 + 5, 2**32 - 1]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("stream", STREAMS)
def test_uniforms_are_those_of_the_generator_to_the_bit(
    backend: Backend, step: int, stream: int
) -> None:
    attrs = {"shape": (37, 29), "stream": stream}
    case = Case("RANDOM_UNIFORM", "bits", {"step": step_block(step=step)}, attrs)
    found = results(backend, case)["y"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected(case)["y"].astype(np.float32))
    # Every number is a multiple of 2^-24 below 1, so the comparison above rounded nothing.
    scaled = found.astype(np.float64) * 2.0**24
    np.testing.assert_array_equal(scaled, np.floor(scaled))
    assert 0 <= found.min() < 0.01 < 0.99 < found.max() < 1


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_the_same_elements_everywhere(backend: Backend, rate: float) -> None:
    ones = Given((41, 27), exactly(*[1.0] * (41 * 27)))
    case = Case("DROPOUT", "mask", {"x": ones, "step": step_block()}, {"rate": rate, "stream": 9})
    found = results(backend, case)["y"]
    np.testing.assert_array_equal(found != 0, expected(case)["y"] != 0)
