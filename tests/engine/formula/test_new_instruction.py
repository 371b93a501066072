"""A new instruction is its class: it runs, is fused and learns wherever the others do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def answer(which: str) -> Any:
    child = subprocess.run(
        [sys.executable, "-m", "tests.engine.formula.new_instruction", which],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


@pytest.mark.gl
def test_it_stands_in_the_kernel_of_a_product() -> None:
    found = answer("fused")
    assert found["kernels"] == [True]
    assert found["apart"] < 1e-5


@pytest.mark.gl
def test_it_learns_with_a_new_update_alike_on_both_backends() -> None:
    on_cpu, on_gl = answer("cpu"), answer("gl")
    assert on_gl["losses"][-1] < on_gl["losses"][0] / 2
    np.testing.assert_allclose(on_gl["losses"], on_cpu["losses"], rtol=1e-3)
    for one, other in zip(on_cpu["weights"], on_gl["weights"], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
