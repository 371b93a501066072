"""WEIGHTED_ACCURACY: share of the weight of entries predicted right."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.hits import hits_of
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = Σ w·hits / Σ w, or 0 where there is no weight."""
    hits, y = hits_of(ins, views), views.data(ins.ref("y"))
    weights = views.data(ins.ref("weights"))

    def run() -> None:
        each = np.mean(hits().reshape(weights.size, -1), axis=-1)
        whole = weights.sum(dtype=np.float64)
        y.fill(each @ weights.reshape(-1).astype(np.float64) / whole if whole else 0.0)

    return run
