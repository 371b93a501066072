"""Every layer's outputs, loss, gradients and statistics against recordings of Keras 3.15.1."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from studio.engine.layers.catalog import all_layers
from tests.engine.layers.keras_cases import run_case
from tests.recorded.layers.cases import CASES, Array

RECORDED = Path(__file__).parents[2] / "recorded" / "layers" / "keras.npz"


@cache
def recorded() -> dict[str, dict[str, Array]]:
    found: dict[str, dict[str, Array]] = {}
    with np.load(RECORDED, allow_pickle=False) as file:
        for key in file.files:
            case, _, name = key.partition("|")
            found.setdefault(case, {})[name] = file[key]
    return found


@pytest.mark.parametrize("case", CASES)
def test_case_gives_what_keras_gives(case: str) -> None:
    found, wanted = run_case(case), recorded()[case]
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        # Keras computes batch normalisation in float32 whatever its policy.
        slack = 2e-7 * max(10.0, float(np.abs(value).max()))
        np.testing.assert_allclose(found[name], value, rtol=2e-6, atol=slack, err_msg=name)


def test_every_layer_has_a_case() -> None:
    used = {node.get("type") for document in CASES.values() for node in document["nodes"]}
    without = {cls.__name__ for cls in all_layers()} - used
    # Dropout is tested by its draws, what Keras does not have by a functional network, and Operator
    # against the table of operations.
    assert without == {"Dropout", "Operator", "TiedDense"}


@pytest.mark.peers
def test_recorded_answers_are_what_keras_says_now() -> None:
    record = pytest.importorskip("tests.recorded.layers.record_keras")
    for key, value in record.record_all().items():
        case, _, name = key.partition("|")
        np.testing.assert_allclose(recorded()[case][name], value, rtol=1e-6, atol=5e-6)
