"""THRESHOLD_COUNTS: predictions between thresholds, by target."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.reductions.epoch_counts import RowWeights, add_counts
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """counts[class, target, thresholds below the prediction] += 1."""
    p, t = views.data(ins.ref("p")), views.any(ins.ref("t"))
    thresholds, counts = views.data(ins.ref("thresholds")), views.any(ins.ref("counts"))
    weights = RowWeights(ins, views, p.shape[:-1])
    classes, cells = p.shape[-1], len(thresholds) + 1
    only, top = ins.value("class_id"), ins.value("top_k")
    first = np.arange(classes) * 2 * cells if ins.value("by_class") else np.zeros(classes, int)

    def run() -> None:
        rows = p.reshape(-1, classes)
        above = np.searchsorted(thresholds, rows, side="left")
        above[np.isnan(rows)] = 0
        if top:
            above[_places(rows) >= top] = 0
        places = first + (t.reshape(-1, classes) != 0) * cells + above
        if only >= 0:
            places[:, np.arange(classes) != only] = -1
        add_counts(counts, places.reshape(-1), weights.each(classes))

    return run


def _places(rows: Anything) -> Anything:
    """Where each number stands in its row from the largest down, the first of equals first."""
    order = np.argsort(-rows, axis=-1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(rows.shape[-1])[np.newaxis], axis=-1)
    return places
