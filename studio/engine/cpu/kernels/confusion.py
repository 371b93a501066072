"""CONFUSION: classes of targets against predicted ones."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.epoch_counts import RowWeights, add_counts
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """counts[target, prediction] += 1."""
    p, t = views.data(ins.ref("p")), views.any(ins.ref("t"))
    counts, ignore = views.any(ins.ref("counts")), ins.value("ignore")
    weights = RowWeights(ins, views, p.shape[:-1])
    classes = p.shape[-1]

    def run() -> None:
        wanted = t if t.ndim < p.ndim else np.argmax(t, axis=-1)
        wanted = wanted.reshape(-1).astype(np.int64)
        places = wanted * classes + np.argmax(p, axis=-1).reshape(-1)
        places[(wanted < 0) | (wanted >= classes) | (wanted == ignore)] = -1
        add_counts(counts, places, weights.each())

    return run
