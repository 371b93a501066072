"""Gradients that somebody has stay true while steps go on."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.ops import recording

STEPS = 6


@pytest.mark.parametrize("fused", [False, True])
def test_gradients_of_earlier_steps_stay_what_they_were(
    device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, fused: bool
) -> None:
    monkeypatch.setattr(recording.runner(), "fuses", fused)
    x, start = rng.normal(size=(5, 4)), rng.normal(size=(4, 3))
    weight = ops.variable(start)
    held = []
    for _ in range(STEPS):
        found = ops.grad(lambda w: ops.sum((ops.tensor(x) @ w) ** 2))(weight)
        weight.assign(weight - 0.01 * found)
        held.append(found)
    expected = start
    for found in held:
        slope = 2 * x.T @ (x @ expected)
        np.testing.assert_allclose(found.numpy(), slope, rtol=1e-4, atol=1e-4)
        expected = expected - 0.01 * slope
    np.testing.assert_allclose(weight.numpy(), expected, rtol=1e-4, atol=1e-4)
