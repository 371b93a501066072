"""ACCURACY: share of entries predicted right."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = mean of the hits."""
    p, t, y = views.data(ins.ref("p")), views.any(ins.ref("t")), views.data(ins.ref("y"))
    kind, threshold = ins.value("kind"), ins.value("threshold")

    def run() -> None:
        if kind == "binary":
            hits = np.equal(np.greater(p, np.float32(threshold)), t)
        elif kind == "sparse":
            hits = np.equal(np.argmax(p, axis=-1), t)
        else:
            hits = np.equal(np.argmax(p, axis=-1), np.argmax(t, axis=-1))
        y.fill(np.count_nonzero(hits) / max(hits.size, 1))

    return run
