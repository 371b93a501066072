"""ACCUMULATE: sums of columns over an epoch."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Run, Views
from studio.engine.cpu.reductions.epoch_counts import RowWeights, add_to_pair
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """sums[:, k] += sum of column k, sums[:, K] += sum of the weights."""
    x, sums = views.data(ins.ref("x")), views.data(ins.ref("sums"))
    weights, square = RowWeights(ins, views, x.shape[:-1]), ins.value("square")
    columns = x.shape[-1]

    def run() -> None:
        rows = x.reshape(-1, columns).astype(np.float64)
        terms = np.square(rows) if square else rows
        each = weights.each()
        more = np.empty(columns + 1)
        if each is None:
            more[:columns], more[columns] = terms.sum(axis=0), len(rows)
        else:
            more[:columns], more[columns] = each @ terms, each.sum()
        add_to_pair(sums, more)

    return run
