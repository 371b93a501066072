"""Convolutions read the cells around a padded input instead of testing for its edge."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.run import executable
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl

HALO = ((0, 0), (1, 1), (1, 1), (0, 0))


def surrounded_by_ones(values: np.ndarray, descriptor: ShapeDescriptor) -> np.ndarray:
    """What is uploaded for a padded input, with ones where the halo's zeros belong."""
    cells = np.pad(values, HALO, constant_values=1)
    assert cells.size == descriptor.alloc_length()
    return cells


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("mnemonic", ["CONV2D", "DEPTHWISE_CONV2D"])
def test_what_lies_in_the_halo_reaches_the_result(
    backend: GlBackend, mnemonic: str, gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executable, "padded_to_device", surrounded_by_ones)
    x, w = np.zeros((2, 4, 5, 3), np.float32), np.ones((3, 3, 3, 2), np.float32)
    channels = 2 if mnemonic == "CONV2D" else 6
    line = OneLine(
        mnemonic,
        {"w": w, "b": None, "x": x, "y": (2, 4, 5, channels)},
        batched=("x", "y"),
        pads={"x": HALO},
        pad_h=1,
        pad_w=1,
    )
    found = run_line(backend, line, "y", gpu=gpu)["y"]
    outside = np.pad(np.zeros((4, 5)), 1, constant_values=1)
    cells = [[outside[i : i + 3, j : j + 3].sum() for j in range(5)] for i in range(4)]
    each = 3 if mnemonic == "CONV2D" else 1
    wanted = np.broadcast_to(each * np.array(cells)[None, :, :, None], found.shape)
    np.testing.assert_allclose(found, wanted)
