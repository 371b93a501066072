"""AUGMENT_SHIFT: pictures moved by whole cells at random."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.augmentation import Pictures, shifted
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y[i,j] = x[i - dy, j - dx]."""
    pictures = Pictures(ins, views)
    rows, cols, fill = ins.value("rows"), ins.value("cols"), ins.value("fill")
    spans = np.array([2 * rows + 1, 2 * cols + 1], np.float32)

    def run() -> None:
        moves = np.floor(pictures.uniforms(2) * spans).astype(np.int64) - (rows, cols)
        for x, y, (down, across) in zip(pictures.x, pictures.y, moves, strict=True):
            shifted(x, y, int(down), int(across), fill)

    return run
