"""Operations that draw: moments and ranges, what repeats them, and that no two draws are alike."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import ops

pytestmark = pytest.mark.usefixtures("device")

COUNT = 4096
MOMENTS = {
    # name: options, mean, variance, lowest, highest
    "random_uniform": ({"low": -1.0, "high": 3.0}, 1.0, 16 / 12, -1.0, 3.0),
    "random_normal": ({"mean": 2.0, "deviation": 0.5}, 2.0, 0.25, -1.0, 5.0),
    # The variance of a normal distribution cut at ±2: 1 - 4 φ(2)/(2 Φ(2) - 1).
    "truncated_normal": ({"mean": 2.0, "deviation": 0.5}, 2.0, 0.25 * 0.77374, 1.0, 3.0),
}


def drawn(name: str, seed: int = 5) -> np.ndarray:
    ops.seed(seed)
    return getattr(ops, name)(shape=(COUNT,), **MOMENTS[name][0]).numpy()


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_and_range(name):
    _, mean, variance, low, high = MOMENTS[name]
    found = drawn(name).astype(np.float64)
    # Five standard errors of a mean, and of the variance of a normal distribution.
    assert abs(found.mean() - mean) < 5 * np.sqrt(variance / COUNT)
    assert abs(found.var() - variance) < 5 * variance * np.sqrt(2 / COUNT)
    assert low <= found.min() < found.max() <= high


@pytest.mark.parametrize("name", MOMENTS)
def test_a_seed_repeats_and_streams_differ(name):
    # The second time the lines are compiled as one kernel, which rounds in fewer places.
    np.testing.assert_allclose(drawn(name), drawn(name), rtol=1e-6)
    assert np.abs(drawn(name) - drawn(name, 6)).max() > 0.1
    ops.seed(5)
    one, two = (getattr(ops, name)(shape=(COUNT,)).numpy() for _ in range(2))
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(COUNT)


def test_truncated_numbers_are_quantiles_of_the_normal_distribution():
    from math import erf

    z = np.sort(drawn("truncated_normal").astype(np.float64) - 2) / 0.5
    shares = (np.array([erf(v / np.sqrt(2)) for v in z]) / erf(np.sqrt(2)) + 1) / 2
    # Kolmogorov and Smirnov: beyond 2/√n once in 1500 seeds.
    assert np.abs(shares - (np.arange(COUNT) + 0.5) / COUNT).max() < 2 / np.sqrt(COUNT)


def test_classes_are_drawn_by_their_logits():
    shares = np.array([[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]])
    ops.seed(2)
    with np.errstate(divide="ignore"):
        logits = ops.tensor(np.log(shares).astype(np.float32))
    found = ops.multinomial(logits, count=COUNT).numpy()
    assert found.dtype == np.int32
    counted = np.stack([np.bincount(row, minlength=3) for row in found]) / COUNT
    np.testing.assert_allclose(counted, shares, atol=2.5 / np.sqrt(COUNT))
    assert counted[1, 0] == 0


def test_shares_that_are_kept_and_dropped():
    ops.seed(3)
    hits = ops.bernoulli(ops.full(shape=(COUNT,), value=0.3)).numpy()
    assert set(np.unique(hits)) == {0.0, 1.0}
    assert abs(hits.mean() - 0.3) < 2.5 / np.sqrt(COUNT)
    kept = ops.dropout(ops.ones(shape=(COUNT,)), rate=0.25).numpy()
    np.testing.assert_allclose(np.unique(kept), [0.0, 4 / 3], rtol=1e-6)
    assert abs((kept == 0).mean() - 0.25) < 2.5 / np.sqrt(COUNT)


def test_each_call_drops_other_elements() -> None:
    x = ops.ones(shape=(COUNT,))
    ops.seed(11)
    kept = [ops.dropout(x, rate=0.5).numpy() > 0 for _ in range(4)]
    hits = [ops.bernoulli(ops.full(shape=(COUNT,), value=0.5)).numpy() > 0 for _ in range(4)]
    for at, one in enumerate((*kept, *hits)):
        for other in (*kept, *hits)[at + 1 :]:
            # Half of the elements agree by chance; five standard deviations around that.
            assert abs((one == other).mean() - 0.5) < 2.5 / np.sqrt(COUNT)
    ops.seed(11)
    np.testing.assert_array_equal(kept[0], ops.dropout(x, rate=0.5).numpy() > 0)
