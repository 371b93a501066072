"""GLOBAL_NORM: length of all gradients taken together, accumulated in float64."""

from __future__ import annotations

from math import sqrt

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.products.dense import DenseIn
from studio.engine.isa.instruction import Instruction

_STRETCH = 1 << 15


def build(ins: Instruction, views: Views) -> Run:
    """y = √(Σ g²)."""
    y = views.data(ins.ref("y"))
    found = [views.data(ref) for ref in ins.refs("gs")]
    flat = [DenseIn(views, g, (g.size,)) for g in found]
    pieces = [g.array[i : i + _STRETCH] for g in flat for i in range(0, g.array.size, _STRETCH)]
    room = views.scratch((_STRETCH,))

    def run() -> None:
        total = 0.0
        for gradient in flat:
            gradient.load()
        for piece in pieces:
            squares = np.multiply(piece, piece, out=room[: piece.size])
            total += float(np.add.reduce(squares, dtype=np.float64))
        y.fill(sqrt(total))

    return run
