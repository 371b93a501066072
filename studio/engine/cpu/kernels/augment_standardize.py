"""AUGMENT_STANDARDIZE: every picture brought to one range, or to one mean and deviation."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.augmentation import Pictures
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = (x - start)/span·scale + low, with the picture's own start and span."""
    pictures = Pictures(ins, views)
    low, high, moments = ins.value("low"), ins.value("high"), ins.value("moments")
    scale = high if moments else high - low

    def run() -> None:
        for x, y in zip(pictures.x, pictures.y, strict=True):
            if moments:
                start = float(np.mean(x, dtype=np.float64))
                span = float(np.std(x, dtype=np.float64))
                flat = float(np.ptp(x)) == 0.0
            else:
                start, span = float(np.min(x)), float(np.ptp(x))
                flat = span == 0.0
            if flat:
                y.fill(low)
                continue
            np.subtract(x, start, out=y)
            np.multiply(y, scale / span, out=y)
            np.add(y, low, out=y)

    return run
