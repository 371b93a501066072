"""The benchmark of operations typed one by one measures the same work in TensorFlow.js as here."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import eager
from benchmarks.peers import tfjs_eager


def loss_of(arrays: tuple[np.ndarray, ...]) -> float:
    """The mean cross-entropy of the network before its first step, in float64."""
    h, classes, *parts = arrays
    for place in (0, 2, 4):
        h = h @ parts[place].astype(np.float64) + parts[place + 1]
        h = np.maximum(h, 0) if place < 4 else h
    top = h.max(1, keepdims=True)
    told = top[:, 0] + np.log(np.exp(h - top).sum(1))
    return float(np.mean(told - h[np.arange(len(h)), classes]))


@pytest.mark.peers
@pytest.mark.slow
def test_peers_take_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = eager.numbers()
    found = tfjs_eager.answers(arrays, additions=5, large=1 << 10, blocks=1)
    assert found["backend"] == "cpu"
    assert abs(found["first"] - loss_of(arrays)) < 1e-4
    monkeypatch.setattr(eager, "ADDITIONS", 5)
    monkeypatch.setattr(eager, "BLOCKS", 1)
    rows = eager.tfjs_rows()
    monkeypatch.setattr(eager, "LARGE", 1 << 10)
    rows |= eager.torch_rows("cpu") | eager.jax_rows("cpu")
    assert len(rows) == 8
    assert {name.partition(":")[0] for name in rows} == {
        tfjs_eager.NAME, "PyTorch (cpu)", "JAX (cpu)",
    }  # fmt: skip
    assert all(0 < best <= median for median, best in rows.values())
