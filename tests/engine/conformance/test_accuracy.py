"""Functions keep their digits: near 0, near the ends of their domains, and far out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given, exactly
from tests.engine.conformance.harness import results
from tests.engine.oracle.formulas import FUNCTIONS


def ends(*places: float, span: float = 0.5, count: int = 400) -> np.ndarray:
    """Numbers that come near places from both sides, down to a distance of 1e-7."""
    rng = np.random.default_rng(5)
    near = span * 10.0 ** rng.uniform(-7, 0, count) * rng.choice([-1, 1], count)
    return np.concatenate([place + near for place in places])


def small(count: int = 400) -> np.ndarray:
    """Numbers of either sign from 1e-30 to 1."""
    rng = np.random.default_rng(6)
    return 10.0 ** rng.uniform(-30, 0, count) * rng.choice([-1, 1], count)


def large(low: float, high: float, count: int = 400) -> np.ndarray:
    """Numbers of either sign over decades."""
    rng = np.random.default_rng(7)
    return 10.0 ** rng.uniform(np.log10(low), np.log10(high), count) * rng.choice([-1, 1], count)


LINE = np.linspace(-8, 8, 801)
ANGLES = np.concatenate([LINE, small(), ends(np.pi, 1.5 * np.pi, 100 * np.pi), large(8, 3e38)])
POINTS: dict[str, tuple[str, np.ndarray]] = {
    "SIN": ("sin", ANGLES),
    "COS": ("cos", ANGLES),
    "TAN": ("tan", ANGLES),
    "ASIN": ("asin", np.concatenate([np.linspace(-1, 1, 401), small(), ends(-1, 1)])),
    "ACOS": ("acos", np.concatenate([np.linspace(-1, 1, 401), small(), ends(-1, 1)])),
    "ATAN": ("atan", np.concatenate([LINE, small(), large(1, 1e30)])),
    "SINH": ("sinh", np.concatenate([LINE, small(), large(8, 89.4)])),
    "COSH": ("cosh", np.concatenate([LINE, small(), large(8, 89.4)])),
    "ASINH": ("asinh", np.concatenate([LINE, small(), large(1, 3e38)])),
    "ACOSH": ("acosh", np.concatenate([LINE, ends(1), large(1, 3e38)])),
    "ATANH": ("atanh", np.concatenate([np.linspace(-1, 1, 401), small(), ends(-1, 1)])),
    "ERF": ("erf", np.concatenate([LINE, small(), ends(-1, 1), large(8, 3e38)])),
    "LOG1P": ("log1p", np.concatenate([LINE, small(), ends(-1), large(1, 3e38)])),
    "EXPM1": ("expm1", np.concatenate([LINE, small(), large(8, 88)])),
}
LARGEST_ERROR = 1e-5
"""What the manual lets a function be off, relatively."""


def worst(found: np.ndarray, wanted: np.ndarray) -> float:
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    held = np.isfinite(wanted) & (np.abs(wanted) < 3.4e38)
    np.testing.assert_array_equal(found[~held], wanted[~held])
    error = np.abs(found[held] - wanted[held])
    return float(np.max(error / np.maximum(np.abs(wanted[held]), 1e-37)))


@pytest.mark.parametrize("mnemonic", POINTS)
def test_a_function_keeps_its_digits(backend: Backend, mnemonic: str) -> None:
    name, points = POINTS[mnemonic]
    x = points.astype(np.float32)
    case = Case(mnemonic, "digits", {"x": Given(x.shape, exactly(x))})
    found = results(backend, case)["y"].astype(np.float64)
    function: Callable[..., np.ndarray] = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        wanted = function(x.astype(np.float64))
    assert worst(found, wanted) < LARGEST_ERROR


def test_an_angle_keeps_its_digits_in_every_direction(backend: Backend) -> None:
    rng = np.random.default_rng(8)
    a, b = (large(1e-15, 1e15, 2000) * rng.uniform(0.5, 2, 2000) for _ in range(2))
    a[:4], b[:4] = [0.0, -0.0, 0.0, -0.0], [0.0, 0.0, -0.0, -0.0]
    a[4:8], b[4:8] = np.inf, [np.inf, -np.inf, 1.0, -1.0]
    pair = {"a": a.astype(np.float32), "b": b.astype(np.float32)}
    given = {name: Given(x.shape, exactly(x)) for name, x in pair.items()}
    found = results(backend, Case("ATAN2", "digits", given))["y"].astype(np.float64)
    wanted = np.arctan2(pair["a"].astype(np.float64), pair["b"].astype(np.float64))
    assert worst(found, wanted) < LARGEST_ERROR
    np.testing.assert_array_equal(np.signbit(found[:4]), np.signbit(wanted[:4]))


@pytest.mark.parametrize("most", [10.0, 1e9, 3e38])
def test_a_remainder_is_exact_however_large_the_quotient(backend: Backend, most: float) -> None:
    rng = np.random.default_rng(9)
    a = (rng.uniform(-1, 1, 2000) * most).astype(np.float32)
    b = (10.0 ** rng.uniform(-9, 1, 2000) * rng.choice([-1, 1], 2000)).astype(np.float32)
    given = {"a": Given(a.shape, exactly(a)), "b": Given(b.shape, exactly(b))}
    found = results(backend, Case("MOD", "digits", given))["y"]
    exact = np.fmod(a.astype(np.float64), b.astype(np.float64))
    exact += np.where((exact != 0) & ((exact < 0) != (b < 0)), b.astype(np.float64), 0.0)
    np.testing.assert_allclose(found, exact, rtol=2e-7, atol=0)
