from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.optim.optimizers import Adam, Optimizer
from studio.engine.optim.schedules import (
    Constant,
    CosineDecay,
    ExponentialDecay,
    PiecewiseConstantDecay,
    Schedule,
    StepDecay,
    WarmUp,
)
from tests.recorded.optim.cases import SCHEDULE_STEPS, SCHEDULES

RECORDED = Path(__file__).parents[2] / "recorded" / "optim" / "keras.npz"


@pytest.mark.parametrize("case", SCHEDULES)
def test_rates_are_those_of_keras(case: str) -> None:
    kind, config = SCHEDULES[case]
    schedule = Schedule.from_json({"type": kind, "config": config})
    found = [schedule.rate(step) for step in range(SCHEDULE_STEPS)]
    with np.load(RECORDED, allow_pickle=False) as file:
        np.testing.assert_allclose(found, file[f"schedule|{case}|rate"], rtol=2e-6, atol=1e-8)


def test_step_decay_drops_after_every_so_many_steps() -> None:
    schedule = StepDecay(0.8, 3, 0.5)
    assert [schedule.rate(s) for s in range(8)] == [0.8] * 3 + [0.4] * 3 + [0.2] * 2


def test_constant_stays() -> None:
    assert {Constant(0.3).rate(s) for s in (0, 1, 10_000)} == {0.3}


def test_warm_up_rises_to_what_follows_and_then_follows_it() -> None:
    after = ExponentialDecay(0.4, 2, 0.5)
    schedule = WarmUp(after, 4)
    assert [schedule.rate(s) for s in range(7)] == pytest.approx(
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.4 * 0.5**0.5, 0.2]
    )


def test_schedules_and_optimizers_go_to_json_and_back() -> None:
    rate = WarmUp(CosineDecay(0.1, 50, alpha=0.2), 5)
    optimizer = Adam(rate, clipnorm=1.0)
    document = optimizer.to_json()
    assert Optimizer.from_json(document) == optimizer
    assert document == {
        "type": "Adam",
        "config": {
            "learning_rate": {
                "type": "WarmUp",
                "config": {
                    "after": {
                        "type": "CosineDecay",
                        "config": {"initial_learning_rate": 0.1, "decay_steps": 50, "alpha": 0.2},
                    },
                    "warmup_steps": 5,
                },
            },
            "clipnorm": 1.0,
        },
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PiecewiseConstantDecay([5, 3], [1.0, 0.5, 0.1]), "ascending boundaries"),
        (lambda: PiecewiseConstantDecay([3], [1.0]), "one more value"),
        (lambda: Schedule.resolve("sawtooth"), "unknown schedule 'sawtooth'"),
        (lambda: Adam(-1.0), "at least 0"),
        (lambda: Adam(float("nan")), "at least 0"),
        (lambda: Adam(clipnorm=1.0, clipvalue=1.0), "at most one of"),
        (lambda: Adam(lr=0.1), "unknown option 'lr'"),
        (lambda: Adam(beta_1=1.5), r"\[Adam\] beta_1: expected a number from 0 to 1, got 1.5"),
        (lambda: Optimizer.resolve("lion"), "unknown optimizer 'lion'"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(make: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()  # type: ignore[operator]


def test_keras_defaults() -> None:
    wanted = {
        "SGD": 0.01, "RMSprop": 0.001, "Adam": 0.001, "AdamW": 0.001, "Adagrad": 0.001,
        "Adadelta": 0.001, "Adamax": 0.001,
    }  # fmt: skip
    assert {n: Optimizer.resolve(n).rate(0) for n in Optimizer.members} == wanted
    assert Optimizer.resolve("adamw").option_values["weight_decay"] == 0.004
