"""MATMUL and its gradients: batched matrix products."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest

import numpy as np

from studio.engine.cpu.machine.threads import run_together
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import in_turn
from studio.engine.cpu.products.panels import matrix_parts
from studio.engine.cpu.reductions.sums import sum_to
from studio.engine.isa.instruction import GradInstruction, Instruction


def _turned(array: Floats, flag: bool) -> Floats:
    return array.swapaxes(-1, -2) if flag else array


def build(ins: Instruction, views: Views) -> Run:
    """y = op(a)·op(b)."""
    a = _turned(views.data(ins.ref("a")), ins.value("ta"))
    b = _turned(views.data(ins.ref("b")), ins.value("tb"))
    parts = matrix_parts(views, a, b, views.data(ins.ref("y")))
    return parts[0] if len(parts) == 1 else partial(run_together, parts)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """With A = op(a), B = op(b): dA = dy·Bᵀ, dB = Aᵀ·dy, summed over broadcast dimensions.

    Both are made in one round of the threads.
    """
    a = _turned(views.data(ins.ref("a")), ins.value("ta"))
    b = _turned(views.data(ins.ref("b")), ins.value("tb"))
    dy = views.grad(ins.ref("y"))
    products: list[list[Run]] = []
    behind: list[Run] = []
    for name, left, right in (
        ("a", dy, b.swapaxes(-1, -2)),
        ("b", a.swapaxes(-1, -2), dy),
    ):
        accumulator = views.accumulator(ins, name)
        if accumulator is not None:
            target = _turned(accumulator.dense(), ins.value(f"t{name}"))
            wide = _unsummed(views, left, right, target)
            products.append(matrix_parts(views, left, right, wide))
            if wide is not target:
                behind.append(partial(sum_to, wide, target))
            behind.append(accumulator.deliver)
    rounds = [in_turn([part for part in parts if part]) for parts in zip_longest(*products)]

    def run() -> None:
        run_together(rounds)
        for deliver in behind:
            deliver()

    return run


def _unsummed(views: Views, left: Floats, right: Floats, target: Floats) -> Floats:
    """Where a product goes: to the target, unless that repeats in it."""
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*lead, left.shape[-2], right.shape[-1])
    return target if target.shape == shape else views.scratch(shape)
