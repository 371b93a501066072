"""The gradient of 2x2 pooling in vectors: ties, NaN, and cells outside every square."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.cpu.machine.toolchain import has_compiler

pytestmark = pytest.mark.skipif(not has_compiler(), reason="nothing is compiled here")


def dealt_out(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Each slope at the first cell of its square, in row order, that is NaN or the maximum."""
    dx = np.zeros_like(x)
    for n, i, j, c in np.ndindex(*dy.shape):
        square = x[n, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, c].reshape(-1)
        dx[n, 2 * i + np.argmax(square) // 2, 2 * j + np.argmax(square) % 2, c] = dy[n, i, j, c]
    return dx


@pytest.mark.parametrize("sides", [(4, 6), (5, 7)], ids=str)
@pytest.mark.parametrize("channels", [16, 48])
def test_a_slope_goes_to_the_first_greatest_cell(sides: tuple[int, int], channels: int) -> None:
    from studio.engine.cpu.compiled.pooling import maxpool, maxpool_squares_gradient

    rng = np.random.default_rng(8)
    x = rng.integers(0, 3, (2, *sides, channels)).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = np.nan
    x[rng.random(x.shape) < 0.05] = np.inf
    shape = (2, sides[0] // 2, sides[1] // 2, channels)
    y, dy = np.zeros(shape, np.float32), rng.standard_normal(shape).astype(np.float32)
    maxpool(x, y, (2, 2), (2, 2))
    dx = np.zeros_like(x)
    maxpool_squares_gradient(x, y, dy, dx)
    # NumPy's argmax takes a NaN for the greatest, and the first of equals.
    np.testing.assert_array_equal(dx, dealt_out(x, dy))
