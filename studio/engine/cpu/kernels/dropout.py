"""DROPOUT and its gradient: the same words of the generator decide both times."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.cpu.draws import Words, first_element, step_words
from studio.engine.cpu.elementwise.steps import keep
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

_STRETCH = 1 << 15
Mask = npt.NDArray[np.bool_]


def build(ins: Instruction, views: Views) -> Run:
    """y = x/(1 - rate) where u >= rate, else 0."""
    return _masked(ins, views, views.data(ins.ref("x")), views.data(ins.ref("y")))


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = dy/(1 - rate) where u >= rate, else 0."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    run = _masked(ins, views, views.grad(ins.ref("y")), accumulator.into())

    def delivered() -> None:
        run()
        accumulator.deliver()

    return delivered


def _masked(ins: Instruction, views: Views, given: Floats, out: Floats) -> Run:
    rate = ins.value("rate")
    if rate == 0.0:
        return lambda: np.copyto(out, given)
    if not ins.ref("step").present:
        raise BackendError(
            "a draw needs the step block that keys it: the line has no step=",
            who=ins.mnemonic,
            origin=", ".join(ins.owners),
        )
    step, stream = views.ints(ins.ref("step")), ins.value("stream")
    scale = np.float32(1.0) / (np.float32(1.0) - np.float32(rate))
    # u = word·2⁻²⁴ exactly, so comparing words compares uniforms.
    least = np.uint32(ceil(rate * 2.0**24))
    spare = views.scratch(given.shape)
    begin = first_element(ins, views, "x")
    draw = _drawer(
        views, given.size, lambda start, n: step_words(step, stream, n, begin() + start), least
    )

    def run() -> None:
        np.multiply(given, scale, out=spare)
        keep(spare, draw().reshape(given.shape), out)

    return run


def _drawer(
    views: Views, size: int, words: Callable[[int, int], Words], least: np.uint32
) -> Callable[[], Mask]:
    mask = views.scratch_of((size,), np.bool_)

    def draw() -> Mask:
        for start in range(0, size, _STRETCH):
            count = min(_STRETCH, size - start)
            np.greater_equal(words(start, count), least, out=mask[start : start + count])
        return mask

    return draw
