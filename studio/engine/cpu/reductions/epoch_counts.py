"""Counts and sums that go on from step to step: whole numbers, or pairs of float32."""

from __future__ import annotations

from math import prod

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.cpu.memory.views import Anything, Doubles, Views
from studio.engine.isa.instruction import Instruction


def add_to_pair(pair: Anything, more: Doubles) -> None:
    """Add to a sum and what rounding took from it, [2, …]."""
    total = pair[0].astype(np.float64) + pair[1] + more
    pair[0] = total
    # Of an infinity nothing is left over.
    pair[1] = np.where(np.isfinite(pair[0]), total - pair[0], 0.0)


class RowWeights:
    """The weight of each row of an operand [N,…,K], or none.

    Args:
        ins: with an operand ``weights`` that may be absent.
        views: of its operands.
        rows: shape of the operand without its last dimension.
    """

    def __init__(self, ins: Instruction, views: Views, rows: Shape) -> None:
        ref = ins.ref("weights")
        self._weights = views.data(ref) if ref.present else None
        self._each = prod(rows[self._weights.ndim :]) if self._weights is not None else 1

    def each(self, repeats: int = 1) -> Doubles | None:
        """A weight for each row, repeated for its numbers; ``None`` where all count 1."""
        if self._weights is None:
            return None
        found: Doubles = self._weights.reshape(-1).astype(np.float64)
        return np.repeat(found, self._each * repeats)


def add_counts(counts: Anything, places: Anything, weights: Doubles | None) -> None:
    """Count the cells of flat ``places``; negative ones are left out."""
    kept = places >= 0
    if weights is None:
        found = np.bincount(places[kept], minlength=counts.size)
        counts += found.reshape(counts.shape).astype(np.int32)
        return
    sums: Doubles = np.zeros(counts[0].size)
    sums += np.bincount(places[kept], weights[kept], minlength=sums.size)
    add_to_pair(counts, sums.reshape(counts.shape[1:]))
