"""AUGMENT_NOISE: nearly normal noise added to pictures."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.augmentation import Pictures
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = x + deviation·(u0 + … + u11 - 6)."""
    pictures = Pictures(ins, views)
    deviation = np.float32(ins.value("deviation"))

    def run() -> None:
        for i, (x, y) in enumerate(zip(pictures.x, pictures.y, strict=True)):
            draws = pictures.uniforms_of(i, 12 * x.size).reshape(-1, 12)
            total = draws[:, 0].copy()
            for k in range(1, 12):
                total += draws[:, k]
            total -= np.float32(6.0)
            total *= deviation
            np.add(x, total.reshape(x.shape), out=y)

    return run
