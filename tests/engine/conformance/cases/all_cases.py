"""Every case, by family."""

from __future__ import annotations

from tests.engine.conformance.cases import (
    draws,
    elementwise,
    indexing,
    losses,
    metrics,
    moves,
    pictures,
    products,
    updates,
)

CASES = [
    *elementwise.CASES,
    *products.CASES,
    *moves.CASES,
    *indexing.CASES,
    *losses.CASES,
    *metrics.CASES,
    *pictures.CASES,
    *draws.CASES,
    *updates.CASES,
]
