"""Optimiser updates in one pass over parameter, gradient and slots, in float32 throughout.

A division or a root of doubles takes four times as long, and what is kept is float32 all the same.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from studio.engine.cpu.compiled.toolchain import compiled
from studio.engine.cpu.views import Floats


@compiled
def adam(
    w: Floats,
    g: Floats,
    m: Floats,
    v: Floats,
    decays: tuple[float, float],
    root: float,
    eps: float,
    rate: float,
) -> None:
    """m, v = running means of g and g²; w -= rate·m / (√v / root + eps)."""
    beta1, beta2 = np.float32(decays[0]), np.float32(decays[1])
    rest1, rest2 = np.float32(1.0 - decays[0]), np.float32(1.0 - decays[1])
    share, least, step = np.float32(1.0 / root), np.float32(eps), np.float32(rate)
    for i in range(w.size):
        slope = g[i]
        mean = beta1 * m[i] + rest1 * slope
        square = beta2 * v[i] + rest2 * (slope * slope)
        m[i] = mean
        v[i] = square
        w[i] -= step * mean / (sqrt(square) * share + least)


@compiled
def momentum(w: Floats, g: Floats, m: Floats, decay: float, rate: float, ahead: bool) -> None:
    """m = decay·m - rate·g; w += m, or with Nesterov's look ahead w += decay·m - rate·g."""
    kept, step = np.float32(decay), np.float32(rate)
    for i in range(w.size):
        push = step * g[i]
        speed = kept * m[i] - push
        m[i] = speed
        w[i] += kept * speed - push if ahead else speed
