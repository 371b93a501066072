"""The processor and OpenGL draw the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import ops
from tests.engine.ops.test_draws import MOMENTS, drawn


@pytest.mark.gl
@pytest.mark.parametrize("name", MOMENTS)
def test_both_devices_draw_the_same_numbers(name: str) -> None:
    found = {}
    try:
        for device in ("cpu", "gl"):
            ops.backend(device)
            found[device] = drawn(name)
    finally:
        ops.close()
    np.testing.assert_allclose(found["gl"], found["cpu"], rtol=2e-5, atol=1e-5)
