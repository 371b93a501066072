"""RANDOM_UNIFORM: a tensor of uniform random numbers."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.draws import first_element, step_words
from studio.engine.cpu.memory.views import Run, Views
from studio.engine.isa.instruction import Instruction


def build(ins: Instruction, views: Views) -> Run:
    """y = low + (high - low)·u."""
    step, y = views.ints(ins.ref("step")), views.data(ins.ref("y"))
    low, high = np.float32(ins.value("low")), np.float32(ins.value("high"))

    begin = first_element(ins, views, "y")

    def run() -> None:
        words = step_words(step, ins.value("stream"), y.size, begin())
        uniforms = words.astype(np.float32)
        uniforms *= np.float32(2.0**-24)
        uniforms *= high - low
        uniforms += low
        np.copyto(y, uniforms.reshape(y.shape))

    return run
