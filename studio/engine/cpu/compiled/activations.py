"""Rectifiers over flat arrays.

Results that lie where an operand does have loops of their own: the compiler may then be sure that
nothing overlaps, and takes many elements at once.
"""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.compiled.toolchain import compiled
from studio.engine.cpu.views import Floats

_ZERO = np.float32(0.0)


@compiled
def clip(x: Floats, y: Floats, low: float, high: float) -> None:
    """y = x between low and high; NaN stays."""
    bottom, top = np.float32(low), np.float32(high)
    for i in range(x.size):
        value = x[i]
        value = bottom if value <= bottom else value
        y[i] = top if value >= top else value


@compiled
def clip_in_place(y: Floats, low: float, high: float) -> None:
    """y between low and high; NaN stays."""
    bottom, top = np.float32(low), np.float32(high)
    for i in range(y.size):
        value = y[i]
        value = bottom if value <= bottom else value
        y[i] = top if value >= top else value


@compiled
def relu_gradient(y: Floats, dy: Floats, dx: Floats) -> None:
    """dx = dy where y > 0, else 0 whatever dy."""
    for i in range(y.size):
        slope = dy[i]
        dx[i] = slope if y[i] > _ZERO else _ZERO


@compiled
def relu_gradient_in_place(y: Floats, dx: Floats) -> None:
    """dx = 0 where y is not above 0."""
    for i in range(y.size):
        slope = dx[i]
        dx[i] = slope if y[i] > _ZERO else _ZERO
