"""Operands every augmentation binds, and its draws."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.draws import sample_uniforms, samples_of
from studio.engine.cpu.memory.views import Floats, Views
from studio.engine.isa.instruction import Instruction


class Pictures:
    """Pictures going in and out of an augmentation.

    Attributes:
        x: what comes in [N,H,W,C].
        y: what goes out, same shape.
    """

    def __init__(self, ins: Instruction, views: Views) -> None:
        self.x = views.data(ins.ref("x"))
        self.y = views.data(ins.ref("y"))
        self._order = views.ints(ins.ref("order"))
        self._step = views.ints(ins.ref("step"))
        self._stream: int = ins.value("stream")

    def uniforms(self, count: int) -> Floats:
        """``count`` uniforms per sample of the batch, [N, count]."""
        samples = samples_of(self._step, self._order, len(self.x))
        return sample_uniforms(self._step, self._stream, samples, count)

    def uniforms_of(self, index: int, count: int) -> Floats:
        """``count`` uniforms of one sample of the batch."""
        sample = samples_of(self._step, self._order, len(self.x))[index : index + 1]
        found: Floats = sample_uniforms(self._step, self._stream, sample, count)[0]
        return found


def shifted(x: Floats, y: Floats, down: int, across: int, fill: float) -> None:
    """y[i,j] = x[i - down, j - across], ``fill`` where that is outside."""
    height, width = x.shape[:2]
    y.fill(fill)
    rows, cols = height - abs(down), width - abs(across)
    if rows > 0 and cols > 0:
        into = y[max(down, 0) :, max(across, 0) :][:rows, :cols]
        np.copyto(into, x[max(-down, 0) :, max(-across, 0) :][:rows, :cols])
