"""The programs that people are introduced with: each learns what it should, on every device."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.train.data.builtin import load_digits

pytestmark = pytest.mark.slow


def test_a_polynomial_is_fitted(device: str, rng: np.random.Generator) -> None:
    x = rng.uniform(-1, 1, 200).astype(np.float32)
    target = ops.tensor(-0.8 * x**3 - 0.2 * x**2 + 0.9 * x + 0.5)
    powers = ops.tensor(np.stack([x**3, x**2, x, np.ones_like(x)], axis=1))
    weights = ops.variable([0.0, 0.0, 0.0, 0.0], name="weights")

    def loss() -> Any:
        return ops.mean((ops.sum(powers * weights, axis=1) - target) ** 2)

    for _ in range(300):
        with ops.tidy():
            _, found = ops.variable_grads(loss)
            weights.assign(weights - 0.5 * found["weights"])
    np.testing.assert_allclose(weights.numpy(), [-0.8, -0.2, 0.9, 0.5], atol=0.02)


def test_a_gradient_of_ones_own_steers_the_descent(device: str) -> None:
    """Rounding has no slope; a rule that passes gradients straight through finds 3."""

    @ops.custom_grad
    def rounded(x: Any) -> Any:
        return ops.floor(x + 0.5), lambda dy: dy

    x = ops.variable(0.0, name="x")
    for _ in range(40):
        slope = ops.grad(lambda v: (rounded(v) - 3.0) ** 2)(x)
        x.assign(x - 0.1 * slope)
    assert round(x.item()) == 3


def test_digits_are_learned_in_a_loop_of_ones_own(device: str) -> None:
    data = load_digits()
    images = np.asarray(data.x, np.float32).reshape(len(data.x), -1)[:512] / 16
    classes = np.asarray(data.y, np.int32).reshape(-1)[:512]
    draws = np.random.default_rng(0)
    first = ops.variable(draws.normal(0, 0.1, (images.shape[1], 32)), name="first")
    bias = ops.variable(np.zeros(32), name="bias")
    last = ops.variable(np.zeros((32, 10)), name="last")

    def logits(x: Any) -> Any:
        return ops.relu(x @ first + bias) @ last

    def loss(x: Any, y: Any) -> Any:
        rows = logits(x)
        right = ops.sum(rows * ops.one_hot(y, depth=10), axis=1)
        return ops.mean(ops.logsumexp(rows, axis=1) - right)

    gc.collect()
    before = ops.memory().tensors
    for _ in range(12):
        for begin in range(0, 512, 128):
            with ops.tidy():
                x = ops.tensor(images[begin : begin + 128])
                y = ops.tensor(classes[begin : begin + 128])
                _, found = ops.variable_grads(partial(loss, x, y))
                for variable in (first, bias, last):
                    variable.assign(variable - 0.5 * found[variable.name])
    assert ops.memory().tensors == before
    found_classes = ops.argmax(logits(ops.tensor(images)), axis=1).numpy()
    assert np.mean(found_classes == classes) > 0.9
