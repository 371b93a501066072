"""Optimiser updates in one pass over parameter, gradient and slots."""

from __future__ import annotations

from math import sqrt

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
    """m, v = running means of g and g²; w -= rate·m / (√v / root + eps), in float64 inside."""
    beta1, beta2 = decays
    rest1, rest2 = 1.0 - beta1, 1.0 - beta2
    for i in range(w.size):
        slope = g[i]
        mean = beta1 * m[i] + rest1 * slope
        square = beta2 * v[i] + rest2 * (slope * slope)
        m[i] = mean
        v[i] = square
        w[i] -= rate * mean / (sqrt(square) / root + eps)


@compiled
def momentum(w: Floats, g: Floats, m: Floats, decay: float, rate: float, ahead: bool) -> None:
    """m = decay·m - rate·g; w += m, or with Nesterov's look ahead w += decay·m - rate·g."""
    for i in range(w.size):
        push = rate * g[i]
        speed = decay * m[i] - push
        m[i] = speed
        w[i] += decay * speed - push if ahead else speed
