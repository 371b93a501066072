"""Gradients of whole programs against central differences of their loss, in float64."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.isa.instruction import Instruction, all_instructions
from tests.engine.autodiff.cases import DEFINED_OTHERWISE, Case, all_cases, program_of
from tests.engine.autodiff.whole_programs import (
    computed_gradients,
    loss_value,
    measured_gradient,
    values_for,
)
from tests.engine.compiler.networks import NETWORKS

BATCH_ROWS = 2


@pytest.mark.parametrize(("cls", "case"), all_cases(), ids=lambda v: getattr(v, "mnemonic", ""))
def test_every_instruction_passes_on_the_right_gradient(
    cls: type[Instruction], case: Case, rng: np.random.Generator
) -> None:
    program = program_of(cls, case)
    values = values_for(program, rng, BATCH_ROWS, case.low, case.high)
    found = computed_gradients(program, values, BATCH_ROWS)
    assert found
    for name, gradient in found.items():
        assert gradient.shape == values[name].shape
        for index in np.ndindex(gradient.shape):
            wanted = measured_gradient(program, values, BATCH_ROWS, name, index)
            assert gradient[index] == pytest.approx(wanted, rel=1e-5, abs=1e-8), (name, index)


def test_every_class_with_a_gradient_has_a_case() -> None:
    covered = {cls.mnemonic for cls, _ in all_cases()} | DEFINED_OTHERWISE
    assert covered == {cls.mnemonic for cls in all_instructions() if cls.grad_class is not None}


@pytest.mark.slow
@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_the_gradient_of_their_loss(
    name: str, prune: bool, rng: np.random.Generator
) -> None:
    program = NETWORKS[name]()
    values = values_for(program, rng, BATCH_ROWS, -0.9, 0.9)
    assert np.isfinite(loss_value(program, values, BATCH_ROWS))
    for parameter, gradient in computed_gradients(program, values, BATCH_ROWS, prune=prune).items():
        flat = rng.choice(gradient.size, min(gradient.size, 6), replace=False)
        for index in zip(*np.unravel_index(flat, gradient.shape), strict=True):
            wanted = measured_gradient(program, values, BATCH_ROWS, parameter, index)
            assert gradient[index] == pytest.approx(wanted, rel=2e-5, abs=1e-8), parameter
