"""MATMUL and its gradients: batched matrix products."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Floats, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import in_turn
from studio.engine.cpu.products.products import product
from studio.engine.cpu.reductions.sums import sum_to
from studio.engine.isa.instruction import GradInstruction, Instruction


def _turned(array: Floats, flag: bool) -> Floats:
    return array.swapaxes(-1, -2) if flag else array


def build(ins: Instruction, views: Views) -> Run:
    """y = op(a)·op(b)."""
    a = _turned(views.data(ins.ref("a")), ins.value("ta"))
    b = _turned(views.data(ins.ref("b")), ins.value("tb"))
    y = views.data(ins.ref("y"))
    return product(views, a, b, y)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """With A = op(a), B = op(b): dA = dy·Bᵀ, dB = Aᵀ·dy, summed over broadcast dimensions."""
    a = _turned(views.data(ins.ref("a")), ins.value("ta"))
    b = _turned(views.data(ins.ref("b")), ins.value("tb"))
    dy = views.grad(ins.ref("y"))
    runs: list[Run] = []
    for name, left, right in (
        ("a", dy, b.swapaxes(-1, -2)),
        ("b", a.swapaxes(-1, -2), dy),
    ):
        accumulator = views.accumulator(ins, name)
        if accumulator is not None:
            runs.append(_product(views, accumulator, left, right, ins.value(f"t{name}")))
    return in_turn(runs)


def _product(
    views: Views, accumulator: GradAccumulator, left: Floats, right: Floats, turned: bool
) -> Run:
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*lead, left.shape[-2], right.shape[-1])
    target = _turned(accumulator.dense(), turned)
    if target.shape == shape:
        whole = product(views, left, right, target)

        def run() -> None:
            whole()
            accumulator.deliver()

        return run
    wide = views.scratch(shape)
    repeated = product(views, left, right, wide)

    def run_summed() -> None:
        repeated()
        sum_to(wide, target)
        accumulator.deliver()

    return run_summed
