"""Operations against what Keras and TensorFlow.js answered, and how many have such a judge."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from studio.engine.operations import OPERATIONS
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.backends import opened
from tests.engine.operations.cases.case import Case
from tests.engine.operations.test_results import CASES, DRAWS
from tests.engine.operations.tfjs_table import told
from tests.engine.operations.writing import run
from tests.recorded.operations.answers import (
    FOLDER,
    LEFT_OUT,
    cases_of,
    given_sum,
    read_array,
    recorded,
    slopes,
)

LIBRARIES = ("keras", "tfjs")

STEPS = "its result is a truth value or a whole number"
NO_FLOATS = "it takes no floats that its result would follow"
# Operations whose gradients are compared with no differences.
WITHOUT_DIFFERENCES = {
    **told(
        STEPS,
        "accuracy all any argmax argmin argsort binarize bincount confusion_matrix "
        "count_nonzero equal greater greater_equal in_top_k isclose isfinite "
        "isinf isnan less less_equal logical_and logical_not logical_or logical_xor not_equal "
        "one_hot cast search_sorted",
    ),
    **told(
        NO_FLOATS,
        "arange bit_shift bitwise_and bitwise_not bitwise_or bitwise_xor eye full full_like "
        "hamming_window hann_window identity linspace logspace ones ones_like tri zeros "
        "zeros_like",
    ),
    **dict.fromkeys(DRAWS, "its numbers are drawn"),
    "crop_and_resize": "places of boxes have no gradient; `transform` compares the same lines",
    "max_pool_with_argmax": "its second result holds places; `max_pool2d` compares the same line",
    "top_k": "its second result holds places; `sort` compares the same lines",
    "nan_to_num": "differences of infinities are no numbers",
}


@cache
def answers(library: str) -> dict[str, dict[str, Any]]:
    return recorded(library)


@pytest.fixture(scope="module", params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from opened(request.param)


def parts_of(library: str, count: int = 8) -> list[list[Case]]:
    cases = cases_of(library)
    return [cases[i::count] for i in range(count)]


def near(found: np.ndarray, wanted: np.ndarray, tolerance: float, where: str) -> None:
    assert found.shape == wanted.shape, where
    finite = np.abs(wanted[np.isfinite(wanted)])
    size = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(
        found.astype(np.float64),
        wanted.astype(np.float64),
        tolerance,
        tolerance * size,
        err_msg=where,
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("library", LIBRARIES)
def test_results_and_gradients_are_those_recorded(
    backend: Backend, library: str, part: int
) -> None:
    for case in parts_of(library)[part]:
        stored = answers(library)[str(case)]
        where = f"{library}: {case}"
        assert stored["given"] == given_sum(case), f"{where} was recorded with other operands"
        wanted = [read_array(each) for each in stored["results"]]
        given = [slopes(y.shape).astype(np.float32) for y in wanted] if stored["gradients"] else []
        results, gradients = run(
            backend, OPERATIONS[case.name], case.arrays(), case.options, slopes=given,
            batch=case.batch,
        )  # fmt: skip
        assert len(results) == len(wanted), where
        for found, answer in zip(results, wanted, strict=True):
            near(found, answer, case.tolerance, where)
        for at, gradient in stored["gradients"].items():
            found_gradient = gradients[int(at)]
            assert found_gradient is not None, where
            near(found_gradient, read_array(gradient), case.tolerance, f"{where}, gradient {at}")


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_case_with_a_counterpart_is_recorded(library: str) -> None:
    assert set(answers(library)) == {str(case) for case in cases_of(library)}
    named = {str(case) for case in CASES} | set(OPERATIONS)
    assert set(LEFT_OUT[library]) <= named
    assert sum(path.stat().st_size for path in FOLDER.glob("*.json")) < 400_000


def test_over_200_operations_have_an_independent_judge() -> None:
    compared = {case.name for case in CASES}
    assert set(OPERATIONS) - compared == DRAWS
    assert len(compared) >= 200
    by_differences = {case.name for case in CASES if case.gradients}
    assert set(OPERATIONS) - by_differences == set(WITHOUT_DIFFERENCES)
    assert len(by_differences) >= 200
    elsewhere = {case.name for library in LIBRARIES for case in cases_of(library)}
    slopes_elsewhere = {
        case.name for library in LIBRARIES for case in cases_of(library)
        if answers(library)[str(case)]["gradients"]
    }  # fmt: skip
    assert len(elsewhere) >= 200
    assert len(slopes_elsewhere) >= 140


@pytest.mark.peers
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_library_still_answers_so(library: str) -> None:
    # In a process of its own: Keras is set to float64 there.
    module = f"tests.recorded.operations.record_{library}"
    text = subprocess.run(
        [sys.executable, "-m", module, "--print"], capture_output=True, text=True, timeout=900,
        check=True, cwd=FOLDER.parents[2],
    ).stdout  # fmt: skip
    found: dict[str, Any] = json.loads(text)
    stored = answers(library)
    assert set(found) == set(stored)
    for name, made in found.items():
        assert made["given"] == stored[name]["given"]
        pairs = [*zip(made["results"], stored[name]["results"], strict=True)]
        assert set(made["gradients"]) == set(stored[name]["gradients"])
        pairs += [(g, stored[name]["gradients"][i]) for i, g in made["gradients"].items()]
        for new, old in pairs:
            near(read_array(new), read_array(old), 1e-6, f"{library}: {name}")
