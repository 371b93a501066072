"""AUGMENT_FLIP: pictures mirrored at random."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.augmentation import Pictures
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """Left-right where u0 < 1/2, upside down where u1 < 1/2, as far as asked for."""
    pictures = Pictures(ins, views)
    horizontal, vertical = ins.value("horizontal"), ins.value("vertical")

    def run() -> None:
        draws = pictures.uniforms(2)
        for x, y, draw in zip(pictures.x, pictures.y, draws, strict=True):
            down = -1 if vertical and draw[1] < 0.5 else 1
            across = -1 if horizontal and draw[0] < 0.5 else 1
            np.copyto(y, x[::down, ::across])

    return run
