"""Products with matrices of full vectors by compiled tiles; see `compiled.dense`.

BLAS packs both operands of a product, which costs a tenth to a fifth of it where the matrices are
no larger than a layer's; these loops pack one, a vector's width at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from studio.engine.cpu.machine.threads import WORTH_FLOPS, cut_steps
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.products import product_parts

FULL = 16
"""Rows and columns of which any multiple fills vectors."""

MOST_WEIGHTS = 1 << 20
"""Elements of the packed operand up to which the loops gain; more do not stay in a cache."""

LEAST_ROWS = 8
"""Rows that fill a tile."""

ROWS_WORTH_PACKING = 32
"""Rows from which packing without turning pays; BLAS turns more slowly."""

MOST_HEIGHT = 512
"""Columns of dy up to which reading it down its columns does not run into the same cache sets."""

ROWS_AT_ONCE, ELEMENTS_AT_ONCE = 256, 1 << 16
"""Rows, or elements of them if that is more rows, that every panel passes over before the next."""

Loop: TypeAlias = Callable[[Floats, Floats, Floats, Floats, tuple[int, int], Floats], None]


def turned_parts(views: Views, x: Floats, w: Floats, bias: Floats | None, y: Floats) -> list[Run]:
    """Runs that together make y = x·wᵀ + bias, for w [width, depth]."""
    if len(x) < LEAST_ROWS or not _fits(views, w, x, y):
        return _noted(views, product_parts(x, w.T, y, views.config.threads, bias), y)
    from studio.engine.cpu.compiled.dense import multiply_turned

    return _parts(views, multiply_turned, x, w, bias, y)


def plain_parts(
    views: Views, x: Floats, w: Floats, y: Floats, bias: Floats | None = None
) -> list[Run]:
    """Runs that together make y = x·w + bias, for w [depth, width]."""
    if len(x) < ROWS_WORTH_PACKING or not _fits(views, w, x, y):
        return _noted(views, product_parts(x, w, y, views.config.threads, bias), y)
    from studio.engine.cpu.compiled.dense import multiply

    return _parts(views, multiply, x, w, bias, y)


def across_parts(views: Views, dy: Floats, x: Floats, dw: Floats) -> list[Run]:
    """Runs that together make dw = dyᵀ·x."""
    rows, height = dy.shape
    if rows < ROWS_WORTH_PACKING or height > MOST_HEIGHT or not _fits(views, dw, dy, x):
        return _noted(views, product_parts(dy.T, x, dw, views.config.threads), dw)
    from studio.engine.cpu.compiled.dense import multiply_across

    start = np.zeros(dw.shape[1], np.float32)
    cuts = _cuts(dw.shape[1], _threads(views, dw, rows))
    views.note_loop(multiply_across, len(cuts), "columns")
    return [partial(multiply_across, dy, x, start, dw, cut, _panel(views, rows)) for cut in cuts]


def _noted(views: Views, parts: list[Run], result: Floats) -> list[Run]:
    rows, columns = result.shape
    views.note("matmul", len(parts), "columns" if columns >= rows else "rows")
    return parts


def _fits(views: Views, weights: Floats, *others: Floats) -> bool:
    return (
        views.config.compiled
        and weights.size <= MOST_WEIGHTS
        and all(side % FULL == 0 for side in weights.shape)
        and all(array.flags.c_contiguous for array in (weights, *others))
    )


def _parts(
    views: Views, loop: Loop, x: Floats, w: Floats, bias: Floats | None, y: Floats
) -> list[Run]:
    (rows, depth), width = x.shape, y.shape[1]
    threads = _threads(views, y, depth)
    start = np.zeros(width, np.float32) if bias is None else bias
    by_columns = width >= rows
    cuts = _cuts(width if by_columns else rows, threads)
    views.note_loop(loop, len(cuts), "columns" if by_columns else "rows")
    if by_columns:
        return [partial(loop, x, w, start, y, cut, _panel(views, depth)) for cut in cuts]
    return [_in_blocks(loop, x[i:j], w, start, y[i:j], _panel(views, depth)) for i, j in cuts]


def _in_blocks(loop: Loop, x: Floats, w: Floats, start: Floats, y: Floats, panel: Floats) -> Run:
    """A run of all columns, for as many rows at a time as stay in the cache."""
    (rows, depth), width = x.shape, y.shape[1]
    count = max(1, rows // max(ROWS_AT_ONCE, ELEMENTS_AT_ONCE // depth))
    blocks = [(x[i:j], y[i:j]) for i, j in _cuts(rows, count)]

    def run() -> None:
        for given, found in blocks:
            loop(given, w, start, found, (0, width), panel)

    return run


def _threads(views: Views, result: Floats, depth: int) -> int:
    return views.config.threads if 2 * result.size * depth >= WORTH_FLOPS else 1


def _cuts(length: int, count: int) -> list[tuple[int, int]]:
    """First and stop of each thread's part of a side, no part shorter than `FULL`."""
    whole = cut_steps(max(length // FULL, 1), count, 1)
    found = [(cut.start * FULL, cut.stop * FULL) for cut in whole]
    found[-1] = (found[-1][0], length)
    return found


def _panel(views: Views, depth: int) -> Floats:
    return views.scratch((depth * FULL,))
