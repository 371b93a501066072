"""Cuts matrices into runs of rows that stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence

from studio.engine.cpu.memory.views import Anything

ELEMENTS = 1 << 15
"""Elements of one matrix in a stretch."""


def row_stretches(matrices: Sequence[Anything], width: int) -> list[tuple[Anything, ...]]:
    """The same rows of every matrix, as many at a time as hold about ``ELEMENTS`` elements.

    Args:
        matrices: arrays with equally many rows.
        width: elements in a row of the widest.
    """
    rows = len(matrices[0])
    step = max(1, ELEMENTS // max(width, 1))
    return [tuple(m[i : i + step] for m in matrices) for i in range(0, rows, step)]
