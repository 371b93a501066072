"""Maximum pooling over windows that lie wholly inside the picture, and its gradient."""

from __future__ import annotations

from studio.engine.cpu.compiled.toolchain import compiled
from studio.engine.cpu.views import Floats


@compiled
def maxpool(x: Floats, y: Floats, window: tuple[int, int], stride: tuple[int, int]) -> None:
    """y = the largest cell of each window [N,H,W,C]; NaN counts as largest."""
    count, rows, columns, channels = y.shape
    for n in range(count):
        for i in range(rows):
            for j in range(columns):
                top, left = i * stride[0], j * stride[1]
                for c in range(channels):
                    y[n, i, j, c] = x[n, top, left, c]
                for r in range(window[0]):
                    for s in range(window[1]):
                        for c in range(channels):
                            cell, best = x[n, top + r, left + s, c], y[n, i, j, c]
                            y[n, i, j, c] = best if best >= cell or best != best else cell


@compiled
def maxpool_gradient(
    x: Floats,
    y: Floats,
    dy: Floats,
    dx: Floats,
    window: tuple[int, int],
    stride: tuple[int, int],
    found: Floats,
) -> None:
    """dx += dy at the first cell of the window that is its maximum; ``found`` holds a row [C]."""
    count, rows, columns, channels = y.shape
    for n in range(count):
        for i in range(rows):
            for j in range(columns):
                for c in range(channels):
                    found[c] = 0.0
                for r in range(window[0]):
                    for s in range(window[1]):
                        a, b = i * stride[0] + r, j * stride[1] + s
                        for c in range(channels):
                            cell = x[n, a, b, c]
                            hit = cell == y[n, i, j, c] or cell != cell
                            share = 1.0 - found[c] if hit else 0.0
                            dx[n, a, b, c] += share * dy[n, i, j, c] if share != 0.0 else 0.0
                            found[c] += share
