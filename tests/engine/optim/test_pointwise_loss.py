"""A loss that is one class: which instructions compare two numbers is all that it states."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.core.options import number
from studio.engine.core.tensor import ABSENT, Ref, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops import arithmetic, function
from studio.engine.layers.dense import Dense
from studio.engine.layers.symbol import input_symbol
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.losses import Emit, Loss, PointwiseLoss
from studio.engine.optim.optimizers import SGD
from studio.engine.train.devices import open_backend
from studio.engine.train.model.model import Model
from studio.engine.train.network.measures import sample_losses

BACKENDS = ["cpu", pytest.param("gl", marks=pytest.mark.gl)]
RNG = np.random.default_rng(14)


class Huber(PointwiseLoss, abstract=True):
    """Squared near the target, linear farther away."""

    delta = number("Distance where it becomes linear.", 1.0, low=0.0)

    def terms(self, emit: Emit, p: Ref, t: Ref) -> Ref:
        """c·(|p - t| - c/2) with c = |p - t|, at most delta."""
        error = emit(arithmetic.Add, x1=p, x2=t, alpha=1.0, beta=-1.0)
        size = emit(function.Abs, x=error)
        near = emit(function.Clip, x=size, low=0.0, high=self.delta)
        rest = emit(arithmetic.Add, x1=size, x2=near, alpha=1.0, beta=-0.5)
        return emit(arithmetic.Mul, a=near, b=rest)


def terms(p: np.ndarray, t: np.ndarray, delta: float) -> np.ndarray:
    size = np.abs(p - t)
    return np.where(size <= delta, size**2 / 2, delta * (size - delta / 2))


def slopes(p: np.ndarray, t: np.ndarray, delta: float) -> np.ndarray:
    return np.clip(p - t, -delta, delta)


def value_and_gradient(
    loss: Loss, p: np.ndarray, t: np.ndarray, weights: np.ndarray | None, choice: str
) -> tuple[float, np.ndarray]:
    """Predictions are a parameter, so that one step of descent at rate 1 shows their gradient."""
    builder = ProgramBuilder("loss", "train")
    start = builder.tensor("p", p.shape, role=Role.PARAM, trainable=True)
    fed = [builder.tensor("t", t.shape, role=Role.TARGET)]
    if weights is not None:
        fed.append(builder.tensor("w", weights.shape, role=Role.TARGET))
    weight = ABSENT if weights is None else fed[1]
    total = loss.emit(builder, start, fed[0], weights=weight)
    program = emit_updates(differentiate(builder.finish(tuple(fed), (total,))), SGD(1.0))
    with open_backend(choice) as opened:
        session = opened.backend.open_session()
        executable = opened.backend.compile(program, session, 1)
        session.write("p", p.astype(np.float32))
        session.write("train/rates", np.ones(256, np.float32))
        for tensor, values in zip(program.inputs, (t, weights), strict=False):
            assert values is not None
            executable.feed(tensor, values.astype(np.float32))
        executable.run()
        value = float(executable.fetch(total).result())
        after = session.read("p").result().astype(np.float64)
        session.close()
    return value, p.astype(np.float32).astype(np.float64) - after


@pytest.mark.slow
@pytest.mark.parametrize("choice", BACKENDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", [(5, 1), (4, 3), (3, 2, 4)], ids=str)
def test_value_and_gradient_follow_from_the_terms(
    shape: tuple[int, ...], weighted: bool, choice: str
) -> None:
    p, t = RNG.normal(size=shape) * 2, RNG.normal(size=shape)
    weights = RNG.uniform(0, 3, shape[0]) if weighted else None
    value, gradient = value_and_gradient(Huber(delta=0.7), p, t, weights, choice)
    factors = np.ones(shape[0]) if weights is None else weights
    wide = factors.reshape(-1, *[1] * (len(shape) - 1))
    assert value == pytest.approx((wide * terms(p, t, 0.7)).mean(), rel=1e-5)
    wanted = wide * slopes(p, t, 0.7) / p.size
    np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("choice", BACKENDS)
@pytest.mark.parametrize("weights", ["none", "samples", "classes"])
def test_a_network_trains_with_it(weights: str, choice: str) -> None:
    """Gradient descent follows the same in float64, a short last batch included."""
    x = RNG.normal(size=(22, 3)).astype(np.float32)
    labels = RNG.integers(0, 2, 22).astype(np.int32)
    y: np.ndarray = RNG.normal(size=(22, 2)).astype(np.float32) * 2
    factors = np.ones(22, np.float32)
    given: dict[str, object] = {}
    if weights == "samples":
        factors = RNG.uniform(0.2, 2, 22).astype(np.float32)
        given["sample_weight"] = factors
    if weights == "classes":
        y, factors = np.eye(2)[labels], np.array([1.0, 3.0])[labels]
        given["class_weight"] = {0: 1.0, 1: 3.0}
    entry = input_symbol((3,))
    with Model(entry, Dense(2)(entry), backend=choice, seed=3) as model:
        model.compile(SGD(0.1), Huber(delta=0.5))
        kernel, bias = (each.astype(np.float64) for each in model.get_weights())
        targets = labels if weights == "classes" else y
        model.fit(x, targets, batch_size=8, epochs=3, shuffle=False, **given)  # type: ignore[arg-type]
        found = model.get_weights()
    for start in [0, 8, 16] * 3:
        rows = slice(start, start + 8)
        slope = slopes(x[rows] @ kernel + bias, y[rows], 0.5) * factors[rows, None] / y[rows].size
        kernel, bias = kernel - 0.1 * x[rows].T @ slope, bias - 0.1 * slope.sum(axis=0)
    np.testing.assert_allclose(found[0], kernel, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], bias, rtol=1e-4, atol=1e-5)


def test_losses_of_samples_are_those_of_its_instructions() -> None:
    p, t = RNG.normal(size=(300, 3)) * 2, RNG.normal(size=(300, 3))
    found = sample_losses(Huber(delta=0.7), p, t)
    np.testing.assert_allclose(found, terms(p, t, 0.7).mean(axis=1), rtol=1e-5, atol=1e-7)
