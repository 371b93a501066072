"""Every operation against float64 NumPy, and its gradients against differences of that answer."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from studio.engine.operations import OPERATIONS
from tests.engine.conformance.backends import opened
from tests.engine.operations.cases import arrays, elementwise, models, sampling
from tests.engine.operations.cases.case import Case
from tests.engine.operations.writing import run
from tests.tables import sampled

CASES = [*elementwise.CASES, *arrays.CASES, *models.CASES, *sampling.CASES]
DRAWS = {
    "random_uniform", "random_normal", "truncated_normal", "multinomial", "bernoulli", "dropout",
}  # fmt: skip


@pytest.fixture(scope="module", params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def backend(request):
    yield from opened(request.param)


def slopes_of(case: Case, answers: list[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(zlib.crc32(f"{case} slopes".encode()))
    return [rng.uniform(-1, 1, a.shape).astype(np.float32) for a in answers]


def differences(case: Case, operands: list[np.ndarray], slopes: list[np.ndarray], which: int):
    """Central differences of Σ slope·answer along each element of one operand."""
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in operands]
    found = np.zeros(wide[which].shape)
    width = 1e-6
    for place in np.ndindex(*wide[which].shape):
        sides = []
        for sign in (1, -1):
            moved = [x.copy() if i == which else x for i, x in enumerate(wide)]
            moved[which][place] += sign * width
            answers = case.answer(moved)
            sides.append(sum((s * a).sum() for s, a in zip(slopes, answers, strict=True)))
        found[place] = (sides[0] - sides[1]) / (2 * width)
    return found


def check(case: Case, found: np.ndarray, answer: np.ndarray) -> None:
    assert found.shape == answer.shape
    kinds = {"f": "f", "b": "b", "i": "i", "u": "i"}
    assert kinds[found.dtype.kind] == kinds[answer.dtype.kind]
    np.testing.assert_allclose(
        found.astype(np.float64), answer.astype(np.float64), case.tolerance, case.tolerance
    )


@pytest.mark.parametrize("case", sampled(CASES, lambda case: OPERATIONS[case.name].family))
def test_results_and_gradients(backend, case: Case):
    operands = case.arrays()
    answers = case.answer(operands)
    slopes = slopes_of(case, answers) if case.gradients else []
    results, gradients = run(
        backend, OPERATIONS[case.name], operands, case.options, slopes=slopes, batch=case.batch
    )
    assert len(results) == len(answers)
    for found, answer in zip(results, answers, strict=True):
        check(case, found, answer)
    for which, gradient in enumerate(gradients):
        if gradient is not None:
            wanted = differences(case, operands, slopes, which)
            size = max(1.0, np.abs(wanted).max(initial=0.0))
            np.testing.assert_allclose(gradient, wanted, 1e-4, 2e-5 * size)


def test_every_operation_has_a_case():
    assert set(OPERATIONS) - {case.name for case in CASES} - DRAWS == set()
