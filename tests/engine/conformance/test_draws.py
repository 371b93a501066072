"""Uniform random numbers are equal to the bit on every backend."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
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


def test_normals_agree_within_a_millionth(backend: Backend) -> None:
    """Of a million or so the tails are there as well; moments are those of the distribution."""
    case = Case("RANDOM_NORMAL", "many", {"step": step_block()}, {"shape": (3, 1 << 16)})
    found = results(backend, case)["y"]
    wanted = expected(case)["y"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
    count = found.size
    assert abs(found.mean()) < 4 / count**0.5
    assert abs(found.std() - 1) < 4 / (2 * count) ** 0.5
    assert abs((found**3).mean()) < 4 * (15 / count) ** 0.5
    assert abs((np.abs(found) < 1).mean() - 0.682689) < 0.005
    assert 4 < np.abs(found).max() < 5.8


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_the_same_elements_everywhere(backend: Backend, rate: float) -> None:
    ones = Given((41, 27), exactly(*[1.0] * (41 * 27)))
    case = Case("DROPOUT", "mask", {"x": ones, "step": step_block()}, {"rate": rate, "stream": 9})
    found = results(backend, case)["y"]
    np.testing.assert_array_equal(found != 0, expected(case)["y"] != 0)


FIRST = (1, 2, 7)
"""Rows a worker's part begins at; with 27 elements each, at every word of a block."""


def beginning_at(row: int) -> Given:
    return Given((1,), exactly(row), DType.int32)


@pytest.mark.parametrize("mnemonic", ["RANDOM_UNIFORM", "RANDOM_NORMAL"])
@pytest.mark.parametrize("first", FIRST)
def test_a_part_of_the_rows_draws_what_the_whole_draws_there(
    backend: Backend, mnemonic: str, first: int
) -> None:
    def drawn(rows: int, **more: Given) -> np.ndarray:
        operands = {"step": step_block(step=5), **more}
        attrs = {"shape": (rows, 27), "stream": 9}
        return results(backend, Case(mnemonic, f"part {rows}", operands, attrs))["y"]

    whole = drawn(12)
    np.testing.assert_array_equal(drawn(4, first=beginning_at(first)), whole[first : first + 4])


@pytest.mark.parametrize("first", FIRST)
def test_a_part_of_the_rows_drops_what_the_whole_drops_there(backend: Backend, first: int) -> None:
    def dropped(rows: int, **more: Given) -> dict[str, np.ndarray]:
        ones = Given((rows, 27), exactly(*[1.0] * (rows * 27)))
        operands = {"x": ones, "step": step_block(step=5), **more}
        return results(backend, Case("DROPOUT", f"part {rows}", operands, {"stream": 9}))

    whole, part = dropped(12), dropped(4, first=beginning_at(first))
    assert part.keys() == whole.keys()
    for name in part:
        np.testing.assert_array_equal(part[name] != 0, whole[name][first : first + 4] != 0)
