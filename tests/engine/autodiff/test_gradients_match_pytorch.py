"""Losses and gradients of whole networks against those recorded from PyTorch 2.13.0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.tensor import Role
from studio.engine.isa.ops.random import Dropout
from studio.engine.isa.program import Program
from tests.engine.autodiff.whole_programs import Values, computed_gradients, loss_value
from tests.engine.compiler.networks import NETWORKS

RECORDED = Path(__file__).parents[2] / "recorded" / "autodiff" / "gradients.npz"


def recorded(name: str, kind: str) -> Values:
    with np.load(RECORDED, allow_pickle=False) as file:
        head = f"{name}|{kind}|"
        return {key.removeprefix(head): file[key] for key in file.files if key.startswith(head)}


def without_dropout(program: Program) -> Program:
    return program.map_instructions(
        lambda ins: ins.replace(rate=0.0) if isinstance(ins, Dropout) else ins
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_loss_and_gradients_are_those_of_pytorch(name: str) -> None:
    program = without_dropout(NETWORKS[name]())
    values, wanted = recorded(name, "value"), recorded(name, "grad")
    for tensor in program.of_role(Role.STATE, Role.STEP, Role.METRIC):
        values[tensor.name] = np.zeros(tensor.shape)
    batch = 2 if name == "expression" else 3
    with np.load(RECORDED, allow_pickle=False) as file:
        assert loss_value(program, values, batch) == pytest.approx(float(file[f"{name}|loss"]))
    found = computed_gradients(program, values, batch)
    assert set(found) == set(wanted)
    for key, gradient in found.items():
        np.testing.assert_allclose(gradient, wanted[key], rtol=1e-5, atol=1e-9, err_msg=key)
