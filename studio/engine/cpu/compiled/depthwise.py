"""Depthwise convolution of some rows of windows, for a multiplier of one."""

from __future__ import annotations

from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Floats


@compiled
def depthwise(
    x: Floats,
    w: Floats,
    y: Floats,
    steps: tuple[int, int, int, int],
    begin: tuple[int, int],
    first: int,
) -> None:
    """y = Σ over taps of x·w, added to what y holds.

    Args:
        x: pictures [N,H,W,C], with whatever halo they have.
        w: filters [rows, columns, C].
        y: windows [N, rows, columns, C] of the band that begins at window row ``first``.
        steps: stride and dilation: rows, columns, rows, columns.
        begin: padding above and left of x, negative where its halo is wider.
        first: row of the first window.
    """
    count, height, width, channels = x.shape
    taps_down, taps_across = w.shape[0], w.shape[1]
    stride_h, stride_w, dilation_h, dilation_w = steps
    inner = (taps_across - 1) * dilation_w
    for n in range(count):
        for i in range(y.shape[1]):
            top = (first + i) * stride_h - begin[0]
            for j in range(y.shape[2]):
                left = j * stride_w - begin[1]
                whole = taps_across == 3 and left >= 0 and left + inner < width
                for r in range(taps_down):
                    row = top + r * dilation_h
                    if row < 0 or row >= height:
                        continue
                    if whole:
                        # Three taps at once: the result is loaded and stored once for them.
                        for c in range(channels):
                            y[n, i, j, c] += (
                                x[n, row, left, c] * w[r, 0, c]
                                + x[n, row, left + dilation_w, c] * w[r, 1, c]
                                + x[n, row, left + inner, c] * w[r, 2, c]
                            )
                        continue
                    for s in range(taps_across):
                        column = left + s * dilation_w
                        if 0 <= column < width:
                            for c in range(channels):
                                y[n, i, j, c] += x[n, row, column, c] * w[r, s, c]
