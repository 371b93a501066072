"""Maximum pooling over windows that lie wholly inside the picture, and its gradient.

Squares of 2x2 cells side by side, the usual case, have a gradient of their own in vectors: what one
cell gets depends on the cells before it, which keeps the compiler from finding vectors itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.extending import intrinsic

from studio.engine.cpu.compiled.tiles import LANES, Arrays, index_constant, spread_constant
from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Floats


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


def _declare_deal(
    _context: Any, x: Any, y: Any, dy: Any, dx: Any, begin: Any, line: Any, step: Any, at: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = Arrays(context, builder, signature, args)
        best = arrays.vector(arrays.at(1, args[7]))
        left, nothing = arrays.vector(arrays.at(2, args[7])), spread_constant(0.0)
        for row in range(2):
            for column in range(2):
                down = builder.mul(args[5], index_constant(row))
                across = builder.mul(args[6], index_constant(column))
                place = builder.add(args[4], builder.add(down, across))
                cell = arrays.vector(arrays.at(0, place))
                equal = builder.fcmp_ordered("==", cell, best)
                hit = builder.or_(equal, builder.fcmp_unordered("uno", cell, cell))
                arrays.write(builder.select(hit, left, nothing), arrays.at(3, place))
                left = builder.select(hit, nothing, left)
        return context.get_dummy_value()

    return types.void(x, y, dy, dx, begin, line, step, at), generate


_deal_out: Callable[..., None] = cast(Any, intrinsic)(_declare_deal)


@compiled
def maxpool_squares_gradient(x: Floats, y: Floats, dy: Floats, dx: Floats) -> None:
    """dx = dy at the first cell of its square that is the maximum, 0 at the other cells of it.

    Channels are a multiple of `LANES`. Cells in no square are left as they are.
    """
    count, rows, columns, channels = y.shape
    height, width = x.shape[1], x.shape[2]
    given, best, slopes, found = x.reshape(-1), y.reshape(-1), dy.reshape(-1), dx.reshape(-1)
    line = width * channels
    for n in range(count):
        for i in range(rows):
            for j in range(columns):
                begin = (n * height + 2 * i) * line + 2 * j * channels
                at = ((n * rows + i) * columns + j) * channels
                for c in range(0, channels, LANES):
                    _deal_out(given, best, slopes, found, begin + c, line, channels, at + c)
