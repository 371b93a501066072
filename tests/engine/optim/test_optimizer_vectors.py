"""Published and derived step vectors of Dylann, deeplearn.js and TensorFlow.js."""

from __future__ import annotations

import pytest

from studio.engine.optim.optimizers import SGD, Adadelta, Adagrad, Adam, Adamax, RMSprop
from studio.engine.optim.schedules import InverseTimeDecay
from tests.engine.optim.stepping import pair_path, scalar_path

NEAR = 2e-6


def near(*values: float) -> object:
    return pytest.approx(list(values), rel=NEAR, abs=1e-6)


def test_dylann_shrinks_weights_before_each_step() -> None:
    shrink = {"shrink": 1e-4}
    assert scalar_path(SGD(0.1, **shrink), 1.0, [2, 2]) == near(0.7999, 0.59982001)
    momentum = SGD(0.1, momentum=0.9, form="average", **shrink)
    assert scalar_path(momentum, 1.0, [2, 2]) == near(0.9799, 0.94180201)
    rms = RMSprop(0.1, rho=0.9, epsilon=1e-8, epsilon_outside=True, **shrink)
    assert scalar_path(rms, 1.0, [2, 2]) == near(0.683672239, 0.454188141)


def test_dylann_adam_as_intended() -> None:
    adam = Adam(0.1, epsilon=1e-8, epsilon_at="hat")
    assert scalar_path(adam, 0.0, [2, -1, 3]) == near(-0.1, -0.126634, -0.190166)


def test_deeplearn_js_vectors() -> None:
    momentum = pair_path(SGD(0.1, momentum=0.5))
    assert momentum[0] == near(-0.2, -0.4)
    assert momentum[1] == near(-0.5, -1.0)
    rms = pair_path(RMSprop(0.1, rho=0.8, epsilon=1e-6, epsilon_outside=True))
    assert rms[0] == pytest.approx([-0.2236, -0.2236], abs=5e-5)
    assert rms[1] == pytest.approx([-0.39027, -0.39027], abs=5e-6)
    grad = pair_path(Adagrad(0.1, initial_accumulator_value=0.0, epsilon=1e-6,
                             epsilon_outside=True))  # fmt: skip
    assert grad[0] == near(-0.1, -0.1)
    assert grad[1] == pytest.approx([-0.1707, -0.1707], abs=5e-5)
    delta = pair_path(Adadelta(0.1, rho=0.8, epsilon=1e-6, previous_mean=True))
    assert delta[0] == near(-0.2, -0.4)
    assert delta[1] == pytest.approx([-0.4, -0.8], abs=1e-4)
    adamax = pair_path(Adamax(0.1, beta_1=0.8, beta_2=0.9, epsilon=1e-8))
    assert adamax == [near(-0.1, -0.1), near(-0.2, -0.2)]
    adam = pair_path(Adam(0.1, epsilon=1e-8, epsilon_at="hat"))
    assert adam == [near(-0.1, -0.1), near(-0.2, -0.2)]


def test_tensorflow_js_nesterov_and_decaying_adamax() -> None:
    nesterov = SGD(0.1, momentum=0.5, nesterov=True)
    assert scalar_path(nesterov, 0.0, [2, 2]) == near(-0.3, -0.65)
    decaying = InverseTimeDecay(0.1, decay_steps=1, decay_rate=0.5)
    adamax = Adamax(decaying, beta_1=0.8, beta_2=0.9, epsilon=1e-8)
    assert scalar_path(adamax, 0.0, [2, 2]) == near(-0.1, -0.1 - 0.1 / 1.5)
