"""Products of matrices with few rows, by tiles over panels of one operand.

A panel is a vector's width of columns, packed without gaps: all rows of the other operand pass over
it before the next one is packed.
"""

from __future__ import annotations

from studio.engine.cpu.compiled.tiles import LANES, TILE, copy_elements, sum_rows, turn_block
from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Floats


@compiled
def _pass_over(
    x: Floats, rows: int, depth: int, panel: Floats, bias: Floats, column: int, y: Floats,
    width: int,
) -> None:  # fmt: skip
    """One vector's width of columns of y = x · what the panel holds + bias; all flat."""
    for row in range(0, rows, TILE):
        # The last tile may overlap the one before it: it finds the same results.
        row = min(row, rows - TILE)
        sum_rows(
            x, row * depth, depth, 1, panel, 0, LANES, depth, bias, column, y,
            row * width + column, width,
        )  # fmt: skip


@compiled
def multiply_turned(
    x: Floats, w: Floats, bias: Floats, y: Floats, columns: tuple[int, int], panel: Floats
) -> None:
    """Columns of y = x·wᵀ + bias, for x [rows, depth] and w [width, depth]; as `multiply`."""
    rows, depth = x.shape
    width = y.shape[1]
    left, right, out = x.reshape(-1), w.reshape(-1), y.reshape(-1)
    for column in range(columns[0], columns[1], LANES):
        for k in range(0, depth, LANES):
            turn_block(right, column * depth + k, depth, panel, k * LANES, LANES)
        _pass_over(left, rows, depth, panel, bias, column, out, width)


@compiled
def multiply(
    x: Floats, w: Floats, bias: Floats, y: Floats, columns: tuple[int, int], panel: Floats
) -> None:
    """Columns of y = x·w + bias, for x [rows, depth] and w [depth, width].

    Args:
        x: at least `TILE` rows.
        w: depth a multiple of `LANES`.
        bias: [width].
        y: [rows, width].
        columns: the first and the one behind the last, multiples of `LANES`.
        panel: working memory for depth·`LANES` elements.
    """
    rows, depth = x.shape
    width = y.shape[1]
    left, right, out = x.reshape(-1), w.reshape(-1), y.reshape(-1)
    for column in range(columns[0], columns[1], LANES):
        for k in range(depth):
            copy_elements(panel, k * LANES, right, k * width + column, LANES)
        _pass_over(left, rows, depth, panel, bias, column, out, width)


@compiled
def multiply_across(
    dy: Floats, x: Floats, start: Floats, dw: Floats, columns: tuple[int, int], panel: Floats
) -> None:
    """Columns of dw = dyᵀ·x + start, for dy [depth, height] and x [depth, width]; as `multiply`."""
    depth, height = dy.shape
    width = x.shape[1]
    left, right, out = dy.reshape(-1), x.reshape(-1), dw.reshape(-1)
    for column in range(columns[0], columns[1], LANES):
        for k in range(depth):
            copy_elements(panel, k * LANES, right, k * width + column, LANES)
        for row in range(0, height, TILE):
            sum_rows(
                left, row, 1, height, panel, 0, LANES, depth, start, column, out,
                row * width + column, width,
            )  # fmt: skip
