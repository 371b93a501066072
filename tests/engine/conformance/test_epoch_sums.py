"""Sums over many steps keep their digits, whole numbers stay exact, refusals have reasons."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly
from tests.engine.conformance.harness import Running, build, program_of

STEPS = 300


def after_steps(backend: Backend, case: Case, name: str, steps: int) -> np.ndarray:
    """What a line leaves in an operand that it updates step after step."""
    built = build(case)
    running = Running(backend, program_of(built), built)
    try:
        for _ in range(steps):
            running.run()
        return running.take(built.named[name][0])
    finally:
        running.close()


@pytest.mark.parametrize("square", [False, True])
def test_sums_over_many_steps_keep_their_digits(backend: Backend, square: bool) -> None:
    """Plain float32 sums of these are off by 1e-4 of themselves and more."""
    x = np.random.default_rng(1).uniform(2000, 2001, (64, 2)).astype(np.float32)
    given = {
        "x": Given(x.shape, exactly(x)),
        "sums": Given((2, 3), lambda _, shape: np.zeros(shape)),
    }
    found = after_steps(
        backend, Case("ACCUMULATE", "steps", given, {"square": square}), "sums", STEPS
    )
    exact = STEPS * (x.astype(np.float64) ** (2 if square else 1)).sum(axis=0)
    total = found.astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(total[:2], exact, rtol=1e-11)
    assert total[2] == STEPS * len(x)


def test_an_infinite_term_stays_infinite(backend: Backend) -> None:
    given = {
        "x": Given((2, 2), exactly(np.inf, 1.0, 1.0, np.nan)),
        "sums": Given((2, 3), lambda _, shape: np.zeros(shape)),
    }
    found = after_steps(backend, Case("ACCUMULATE", "bad", given), "sums", 2)
    assert found.sum(axis=0)[0] == np.inf
    assert np.isnan(found.sum(axis=0)[1])


def test_counts_beyond_the_whole_floats_are_exact(backend: Backend) -> None:
    start = np.array([[[1 << 24, 7], [(1 << 24) + 1, 0]]], np.int32)
    given = {
        "p": Given((3, 1), exactly(0.1, 0.9, 0.9)),
        "t": Given((3, 1), exactly(0, 1, 0)),
        "thresholds": Given((1,), exactly(0.5)),
        "counts": Given((1, 2, 2), exactly(start), DType.int32),
    }
    found = after_steps(backend, Case("THRESHOLD_COUNTS", "many", given), "counts", 5)
    np.testing.assert_array_equal(found, start + 5 * np.array([[[1, 1], [0, 1]]]))


def test_a_prediction_that_is_no_number_is_above_no_threshold(backend: Backend) -> None:
    given = {
        "p": Given((3, 1), exactly(np.nan, np.inf, -np.inf)),
        "t": Given((3, 1), exactly(1, 1, 1)),
        "thresholds": Given((2,), exactly(-1.0, 0.5)),
        "counts": Given((1, 2, 3), lambda _, shape: np.zeros(shape), DType.int32),
    }
    found = after_steps(backend, Case("THRESHOLD_COUNTS", "nan", given), "counts", 1)
    assert found.tolist() == [[[0, 0, 0], [2, 0, 1]]]


def zeros(*shape: int, dtype: DType = DType.int32) -> Given:
    return Given(shape, lambda _, s: np.zeros(s), dtype)


P, T = zeros(4, 3, dtype=DType.float32), zeros(4, 3, dtype=DType.float32)
BOUNDS = zeros(2, dtype=DType.float32)
REFUSED = [
    ("THRESHOLD_COUNTS", {"p": P, "t": T, "thresholds": BOUNDS, "counts": zeros(1, 2, 2)},
     {}, "counts must be"),
    ("THRESHOLD_COUNTS", {"p": P, "t": T, "thresholds": BOUNDS, "counts": zeros(1, 2, 3)},
     {"class_id": 3}, "no class 3"),
    ("THRESHOLD_COUNTS", {"p": P, "t": zeros(4), "thresholds": BOUNDS, "counts": zeros(1, 2, 3)},
     {}, "targets must be"),
    ("THRESHOLD_COUNTS",
     {"p": P, "t": T, "thresholds": BOUNDS, "counts": zeros(1, 2, 3), "weights": BOUNDS},
     {}, "weights must be"),
    ("CONFUSION", {"p": P, "t": zeros(4), "counts": zeros(2, 2)}, {}, "counts must be"),
    ("CONFUSION", {"p": P, "t": zeros(5), "counts": zeros(3, 3)}, {}, "targets must be"),
    ("ACCUMULATE", {"x": P, "sums": zeros(2, 3, dtype=DType.float32)}, {}, "sums must be"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("mnemonic", "operands", "attrs", "words"), REFUSED)
def test_what_does_not_fit_is_refused(
    mnemonic: str, operands: dict[str, Given], attrs: dict[str, int], words: str
) -> None:
    with pytest.raises(StudioError, match=words):
        build(Case(mnemonic, "refused", operands, attrs))
