"""Batch normalisation over matrices [rows, features].

Sums are float32 in blocks of rows and float64 between blocks.
"""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Doubles, Floats

_BLOCK = 32


@compiled
def column_moments(x: Floats, mean: Doubles, apart: Doubles, part: Floats) -> None:
    """The mean of each column, and the sum of squares apart from it, in one pass.

    A block of rows is summed, then its squares around its own mean while it is in the cache;
    blocks are joined in float64 (Chan, Golub and LeVeque, 1979). ``part`` holds two rows of
    working memory.
    """
    rows, features = x.shape
    for j in range(features):
        mean[j] = 0.0
        apart[j] = 0.0
    for begin in range(0, rows, _BLOCK):
        end = min(rows, begin + _BLOCK)
        for j in range(features):
            part[0, j] = 0.0
            part[1, j] = 0.0
        for i in range(begin, end):
            for j in range(features):
                part[0, j] += x[i, j]
        count = np.float32(end - begin)
        for j in range(features):
            part[0, j] /= count
        for i in range(begin, end):
            for j in range(features):
                away = x[i, j] - part[0, j]
                part[1, j] += away * away
        share = (end - begin) / end
        for j in range(features):
            step = part[0, j] - mean[j]
            mean[j] += step * share
            apart[j] += part[1, j] + step * step * share * begin


@compiled
def gradient_sums(
    x: Floats, dy: Floats, mean: Floats, product: Doubles, plain: Doubles, part: Floats
) -> None:
    """product = Σ dy·(x - mean), plain = Σ dy; ``part`` holds two rows of working memory."""
    rows, features = x.shape
    for j in range(features):
        product[j] = 0.0
        plain[j] = 0.0
    for begin in range(0, rows, _BLOCK):
        for j in range(features):
            part[0, j] = 0.0
            part[1, j] = 0.0
        for i in range(begin, min(rows, begin + _BLOCK)):
            for j in range(features):
                slope = dy[i, j]
                part[0, j] += slope * (x[i, j] - mean[j])
                part[1, j] += slope
        for j in range(features):
            product[j] += part[0, j]
            plain[j] += part[1, j]


@compiled
def normalise(x: Floats, mean: Floats, scale: Floats, shift: Floats, y: Floats) -> None:
    """y = (x - mean)·scale + shift."""
    rows, features = x.shape
    for i in range(rows):
        for j in range(features):
            y[i, j] = (x[i, j] - mean[j]) * scale[j] + shift[j]


@compiled
def input_gradient(
    x: Floats, dy: Floats, mean: Floats, factors: tuple[Floats, Floats, Floats], dx: Floats
) -> None:
    """dx = outer·(dy - flat - (x - mean)·slope) for factors (outer, flat, slope)."""
    rows, features = x.shape
    outer, flat, slope = factors
    for i in range(rows):
        for j in range(features):
            rest = dy[i, j] - (x[i, j] - mean[j]) * slope[j] - flat[j]
            dx[i, j] = rest * outer[j]
