"""ACCURACY: share of entries predicted right."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.hits import hits_of
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = mean of the hits."""
    hits, y = hits_of(ins, views), views.data(ins.ref("y"))

    def run() -> None:
        found = hits()
        y.fill(np.count_nonzero(found) / max(found.size, 1))

    return run
