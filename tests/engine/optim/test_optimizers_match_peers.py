"""Twenty steps of every optimiser on the CPU backend against Keras 3.15.1 and PyTorch 2.13.0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.optim.optimizers import Optimizer
from tests.engine.optim.stepping import Array, steps
from tests.recorded.optim.cases import (
    KERAS_OPTIMIZERS,
    SHAPES,
    TORCH_OPTIMIZERS,
    gradients,
    parameters,
)

RECORDED = Path(__file__).parents[2] / "recorded" / "optim"


def recorded(peer: str, case: str) -> dict[str, Array]:
    with np.load(RECORDED / f"{peer}.npz", allow_pickle=False) as file:
        return {name: file[f"optimizer|{case}|{name}"] for name in SHAPES}


def compare(optimizer: Optimizer, wanted: dict[str, Array]) -> None:
    path = steps(optimizer, parameters(), gradients())
    for name, values in wanted.items():
        found = np.stack([step[name] for step in path])
        np.testing.assert_allclose(found, values, rtol=3e-5, atol=3e-6, err_msg=name)
        assert np.abs(values[-1] - values[0]).max() > 1e-4


@pytest.mark.parametrize("case", KERAS_OPTIMIZERS)
def test_twenty_steps_are_those_of_keras(case: str) -> None:
    kind, config = KERAS_OPTIMIZERS[case]
    compare(Optimizer.from_json({"type": kind, "config": config}), recorded("keras", case))


@pytest.mark.parametrize("case", TORCH_OPTIMIZERS)
def test_twenty_steps_are_those_of_pytorch(case: str) -> None:
    _, _, kind, config = TORCH_OPTIMIZERS[case]
    compare(Optimizer.from_json({"type": kind, "config": config}), recorded("torch", case))


def test_every_optimizer_is_compared_with_keras() -> None:
    assert {kind for kind, _ in KERAS_OPTIMIZERS.values()} == set(Optimizer.members)


@pytest.mark.peers
@pytest.mark.parametrize("peer", ["keras", "torch"])
def test_recorded_answers_are_what_the_peer_says_now(peer: str) -> None:
    record = pytest.importorskip(f"tests.recorded.optim.record_{peer}")
    with np.load(RECORDED / f"{peer}.npz", allow_pickle=False) as file:
        for key, value in record.record_all().items():
            np.testing.assert_allclose(file[key], value, rtol=1e-9, atol=1e-12, err_msg=key)
