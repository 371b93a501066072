"""Generated sets lie on their curves, are balanced, and repeat with the seed."""

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.train.data.builtin import circles, moons, spirals
from studio.engine.train.data.dataset import Dataset


@pytest.mark.parametrize("make", [spirals, moons, circles])
def test_sets_repeat_with_the_seed(make: object) -> None:
    first: Dataset = make(n=100, seed=3)
    again: Dataset = make(n=100, seed=3)
    other: Dataset = make(n=100, seed=4)
    assert first.sha256 == again.sha256 != other.sha256
    assert first.kind == "points"
    assert first.class_counts() == {"0": 50, "1": 50}


def test_points_of_a_spiral_lie_on_its_arm() -> None:
    data = spirals(n=90, classes=3, turns=1.5, noise=0.0, seed=1)
    for (x, y), arm in zip(data.x.astype(float).tolist(), data.y.tolist(), strict=True):
        radius = (x * x + y * y) ** 0.5
        assert 0.05 - 1e-6 <= radius <= 1 + 1e-6
        angle = 2 * np.pi * (1.5 * radius + arm / 3)
        assert x == pytest.approx(radius * np.cos(angle), abs=1e-5)
        assert y == pytest.approx(radius * np.sin(angle), abs=1e-5)


def test_points_of_moons_lie_on_half_circles() -> None:
    data = moons(n=101, noise=0.0, seed=1)
    for (x, y), moon in zip(data.x.astype(float).tolist(), data.y.tolist(), strict=True):
        centre = (0.0, 0.0) if moon == 0 else (1.0, 0.5)
        assert np.hypot(x - centre[0], y - centre[1]) == pytest.approx(1.0, abs=1e-6)
        assert (y >= -1e-6) if moon == 0 else (y <= 0.5 + 1e-6)
    assert data.class_counts() == {"0": 51, "1": 50}


def test_points_of_circles_have_their_radius() -> None:
    data = circles(n=99, classes=3, factor=0.4, noise=0.0, seed=1)
    np.testing.assert_allclose(np.hypot(*data.x.astype(float).T), 0.4**data.y, rtol=1e-6)


def test_noise_has_the_deviation_asked_for() -> None:
    clean, noisy = circles(n=20_000, noise=0.0), circles(n=20_000, noise=0.25)
    difference = noisy.x.astype(np.float64) - clean.x
    assert difference.std() == pytest.approx(0.25, rel=0.02)
    assert abs(difference.mean()) < 0.01


@pytest.mark.parametrize(
    "options",
    [
        {"n": 1},
        {"n": 0},
        {"n": 10**9},
        {"classes": 1},
        {"classes": 65},
        {"noise": -0.1},
        {"noise": float("nan")},
        {"turns": 0.0},
        {"turns": float("inf")},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_spirals_refuse_what_makes_no_set(options: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        spirals(**options)


@pytest.mark.parametrize("factor", [0.0, 1.0, -1.0, float("nan")])
def test_circles_refuse_a_factor_outside_its_range(factor: float) -> None:
    with pytest.raises(ParameterError, match="factor"):
        circles(factor=factor)
