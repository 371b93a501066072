"""Gradients of functions beside finite differences, rules of the user's, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.core.errors import GradientError, ShapeError, StudioError

pytestmark = pytest.mark.slow

FUNCTIONS: list[Callable[..., Any]] = [
    lambda o, x, y: o.sum(x * y * y),
    lambda o, x, y: o.mean(o.exp(x) / y) * 3,
    lambda o, x, y: o.sum(o.matmul(x, o.transpose(y)) ** 2),
    lambda o, x, y: o.sum(o.sqrt(y) * x + x),
    lambda o, x, y: o.sum(o.reshape(x, (-1,)) * 2) + o.sum(y) * 0.5,
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_gradients_agree_with_finite_differences(
    device: str, number: int, rng: np.random.Generator
) -> None:
    x, y = rng.uniform(-1, 1, (3, 4)), rng.uniform(0.5, 1.5, (3, 4))

    def exact(x: Any, y: Any) -> float:
        return float(FUNCTIONS[number](np, x, y))

    def slopes(which: int) -> np.ndarray[Any, Any]:
        found = np.zeros((3, 4))
        for place in np.ndindex(3, 4):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [x.copy(), y.copy()]
                moved[which][place] += step
                ends.append(exact(*moved))
            found[place] = (ends[0] - ends[1]) / 2e-5
        return found

    for _ in range(2):
        value, found = ops.value_and_grads(lambda a, b: FUNCTIONS[number](ops, a, b))(x, y)
        assert value.item() == pytest.approx(exact(x, y), rel=1e-5)
        for which in range(2):
            np.testing.assert_allclose(found[which].numpy(), slopes(which), rtol=1e-3, atol=1e-4)


def test_the_same_tensor_twice_has_two_gradients(cpu: str) -> None:
    x = ops.tensor([1.0, 2.0])
    first, second = ops.grads(lambda a, b: ops.sum(a * a * b))(x, x)
    np.testing.assert_array_equal(first.numpy(), [2, 8])
    np.testing.assert_array_equal(second.numpy(), [1, 4])
    unused = ops.grads(lambda a, b: ops.sum(a))(x, x)[1]
    np.testing.assert_array_equal(unused.numpy(), [0, 0])


def test_what_was_computed_before_is_a_constant(cpu: str) -> None:
    x = ops.tensor([3.0])
    twice = x * 2
    assert ops.grad(lambda a: ops.sum(a * twice))(x).item() == 6


def test_a_result_of_several_numbers_takes_their_gradients(cpu: str) -> None:
    x = ops.tensor([1.0, 2.0])
    square = ops.grad(lambda a: a * a)
    np.testing.assert_array_equal(square(x).numpy(), [2, 4])
    np.testing.assert_array_equal(square(x, dy=[10.0, 100.0]).numpy(), [20, 400])
    with pytest.raises(ShapeError, match="dy must have the shape"):
        square(x, dy=[1.0])


def test_variables_learn(device: str) -> None:
    w, b = ops.variable([0.0, 0.0], name="w"), ops.variable(0.0, name="b")
    frozen = ops.variable(2.0, name="frozen", trainable=False)
    x = np.random.default_rng(0).normal(size=(32, 2)).astype(np.float32)
    target = x @ [1.5, -2.0] + 0.5

    def loss() -> Any:
        return ops.mean((ops.sum(x * w, axis=1) + b - target) ** 2) * frozen

    for _ in range(60):
        value, found = ops.variable_grads(loss)
        assert sorted(found) == ["b", "w"]
        for variable in (w, b):
            variable.assign(variable - 0.1 * found[variable.name])
    assert value.item() < 1e-4
    np.testing.assert_allclose(w.numpy(), [1.5, -2.0], atol=1e-2)
    assert b.item() == pytest.approx(0.5, abs=1e-2)


@pytest.mark.parametrize("device_times", [1, 3])
def test_a_rule_of_the_users_stands_in(device: str, device_times: int) -> None:
    calls = []

    @ops.custom_grad
    def clipped(x: Any, y: Any) -> Any:
        def rule(dy: Any) -> Any:
            calls.append(1)
            return ops.clip(dy, low=-1.0, high=1.0) * y, dy * 0

        return x * y * 100, rule

    x, y = ops.tensor([1.0, 2.0]), ops.tensor([3.0, 4.0])
    for _ in range(device_times):
        first, second = ops.grads(lambda a, b: ops.sum(clipped(a * 2, b) * 5))(x, y)
        np.testing.assert_array_equal(first.numpy(), [6, 8])
        np.testing.assert_array_equal(second.numpy(), [0, 0])
    np.testing.assert_array_equal(clipped(x, y).numpy(), [300, 800])
    assert len(calls) == device_times


def test_wrong_rules_are_refused(cpu: str) -> None:
    x = ops.tensor([1.0, 2.0])
    few = ops.custom_grad(lambda a, b: (a * b, lambda dy: dy))
    shape = ops.custom_grad(lambda a: (a * 2, lambda dy: ops.sum(dy)))
    neither = ops.custom_grad(lambda a: a * 2)
    for found, match in (
        (lambda: ops.grads(few)(x, x), "expected 2 gradients, got 1"),
        (lambda: ops.grad(shape)(x), r"must be float32\[2\]"),
        (lambda: neither(x), "value and a function"),
    ):
        with pytest.raises(GradientError, match=match):
            found()
    assert ops.grad(lambda a: ops.sum(a))(x).numpy().tolist() == [1, 1]


def test_numbers_can_be_read_inside(cpu: str) -> None:
    seen = []

    def loss(x: Any) -> Any:
        y = x * x
        seen.append(float(y))
        return y * 3 if y > 2 else y

    for _ in range(2):
        assert ops.grad(loss)(2.0).item() == 12
        assert ops.grad(loss)(1.0).item() == 2
    assert seen == [4, 1, 4, 1]


def test_what_has_no_gradient_is_refused_and_leaves_nothing_behind(cpu: str) -> None:
    x = ops.tensor([1.0, 2.0])
    for wrong, match in (
        (lambda: ops.grad(ops.grad(lambda a: a * a))(x), "second-order"),
        (lambda: ops.grad(lambda a: 3.0)(x), "must return one tensor"),
        (lambda: ops.grad(lambda a: ops.sum(a))(ops.tensor([1, 2])), "only float32"),
        (lambda: ops.grad(lambda a: a > 1)(x), "only float32"),
        (lambda: ops.variable_grads(lambda: ops.sum(x)), "no trainable variable"),
        (lambda: ops.grads(lambda: x)(), "no tensors"),
    ):
        with pytest.raises(GradientError, match=match):
            wrong()
    w = ops.variable(1.0)
    with pytest.raises(StudioError, match="inside a gradient"):
        ops.grad(lambda a: w.assign(a) * 2)(1.0)
    assert ops.grad(lambda a: a * a)(3.0).item() == 6


def test_steps_have_the_gradient_zero_and_breaks_tell_nothing_of_layers(cpu: str) -> None:
    x = ops.tensor([-1.4, 0.2, 2.7])
    for name in ("floor", "ceil", "round", "sign", "trunc", "step"):
        function = getattr(ops, name)
        found = ops.grad(lambda a, f=function: ops.sum(f(a) * a))(x).numpy()
        np.testing.assert_array_equal(found, function(x).numpy(), name)
        assert not ops.grad(lambda a, f=function: ops.sum(f(a)))(x).numpy().any(), name
    with pytest.raises(GradientError, match="tensors asked for") as caught:
        ops.grad(lambda a: ops.sum(ops.cast(ops.argmax(a), "float32") * a))(x).numpy()
    assert "layer" not in caught.value.hint
