"""Matrix products cut for the threads that share them, by BLAS or compiled tiles.

The longer side of the result is cut: every thread packs the other side whole, so that side should
be the short one.

BLAS packs both operands of a product, which costs a tenth to a fifth of it where the matrices are
no larger than a layer's; the loops of `compiled.dense` for matrices of full vectors pack one, a
vector's width at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np

from studio.engine.cpu.machine.threads import WORTH_FLOPS, cut_steps
from studio.engine.cpu.memory.views import Floats, Run, Views

FULL = 16
"""Rows and columns of which any multiple fills vectors."""

MOST_WEIGHTS = 1 << 20
"""Elements of the packed operand up to which the loops gain; more do not stay in a cache."""

LEAST_ROWS = 8
"""Rows that fill a tile."""

ROWS_WORTH_PACKING = 32
"""Rows from which packing without turning pays; BLAS turns more slowly."""

SAME_SETS = 1 << 10
"""Columns of dy of which multiples put a column into the same few sets of a cache: loops that read
down its columns are slower than BLAS then."""

ROWS_AT_ONCE, ELEMENTS_AT_ONCE = 256, 1 << 16
"""Rows, or elements of them if that is more rows, that every panel passes over before the next."""

_LANES = 16
"""Rows or columns are dealt out in groups of this many, as wide as a processor's vectors."""

Loop: TypeAlias = Callable[[Floats, Floats, Floats, Floats, tuple[int, int], Floats], None]


def turned_parts(views: Views, x: Floats, w: Floats, bias: Floats | None, y: Floats) -> list[Run]:
    """Runs that together make y = x·wᵀ + bias, for w [width, depth]."""
    if len(x) < LEAST_ROWS or not _fits(views, w, x, y):
        return _noted(views, _blas_parts(x, w.T, y, views.config.threads, bias), y)
    from studio.engine.cpu.compiled.dense import multiply_turned

    return _parts(views, multiply_turned, x, w, bias, y)


def plain_parts(
    views: Views, x: Floats, w: Floats, y: Floats, bias: Floats | None = None
) -> list[Run]:
    """Runs that together make y = x·w + bias, for w [depth, width]."""
    if len(x) < ROWS_WORTH_PACKING or not _fits(views, w, x, y):
        return _noted(views, _blas_parts(x, w, y, views.config.threads, bias), y)
    from studio.engine.cpu.compiled.dense import multiply

    return _parts(views, multiply, x, w, bias, y)


def across_parts(views: Views, dy: Floats, x: Floats, dw: Floats) -> list[Run]:
    """Runs that together make dw = dyᵀ·x."""
    rows, height = dy.shape
    if rows < ROWS_WORTH_PACKING or height % SAME_SETS == 0 or not _fits(views, dw, dy, x):
        return _noted(views, _blas_parts(dy.T, x, dw, views.config.threads), dw)
    from studio.engine.cpu.compiled.dense import multiply_across

    start = np.zeros(dw.shape[1], np.float32)
    cuts = _cuts(dw.shape[1], _threads(views, dw, rows))
    views.note_loop(multiply_across, len(cuts), "columns")
    return [partial(multiply_across, dy, x, start, dw, cut, _panel(views, rows)) for cut in cuts]


def matrix_parts(views: Views, left: Floats, right: Floats, out: Floats) -> list[Run]:
    """Runs that together make out = left·right, over the last two dimensions, however they lie."""
    if right.ndim == 2 and left.ndim > 2 and left.flags.c_contiguous and out.flags.c_contiguous:
        # The same matrix for all: their rows are those of one product.
        rows = prod(left.shape[:-1])
        left, out = left.reshape(rows, left.shape[-1]), out.reshape(rows, out.shape[-1])
    if left.ndim == right.ndim == 2 and left.size and right.size:
        if not out.flags.c_contiguous and out.T.flags.c_contiguous:
            return matrix_parts(views, right.T, left.T, out.T)
        if left.flags.c_contiguous and right.flags.c_contiguous:
            return plain_parts(views, left, right, out)
        if left.flags.c_contiguous and right.T.flags.c_contiguous:
            return turned_parts(views, left, right.T, None, out)
        if left.T.flags.c_contiguous and right.flags.c_contiguous:
            return across_parts(views, left.T, right, out)
    return _noted(views, _blas_parts(left, right, out, views.config.threads), out)


def _blas_parts(
    left: Floats, right: Floats, out: Floats, threads: int, add: Floats | None = None
) -> list[Run]:
    """Runs that together make out = left·right + add; one where sharing does not pay.

    Args:
        left: [..., rows, inner].
        right: [..., inner, columns].
        out: [..., rows, columns].
        threads: how many may share the work.
        add: [columns], added to every row.
    """
    rows, columns = out.shape[-2:]
    count = threads if 2 * out.size * left.shape[-1] >= WORTH_FLOPS else 1
    if columns >= rows:
        return [
            _part(left, right[..., cut], out[..., cut], add if add is None else add[cut])
            for cut in cut_steps(columns, count, _LANES)
        ]
    cuts = cut_steps(rows, count, _LANES)
    return [_part(left[..., cut, :], right, out[..., cut, :], add) for cut in cuts]


def _part(left: Floats, right: Floats, out: Floats, add: Floats | None) -> Run:
    if add is None:
        return lambda: np.matmul(left, right, out=out)

    def run() -> None:
        np.matmul(left, right, out=out)
        np.add(out, add, out=out)

    return run


def _noted(views: Views, parts: list[Run], result: Floats) -> list[Run]:
    rows, columns = result.shape[-2:]
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
