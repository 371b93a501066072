"""Updates as their manual states them, in float64; the rate table holds one rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studio.engine.isa.instruction import Instruction

if TYPE_CHECKING:
    from tests.engine.compiler.interpreter import Interpreter


def update(machine: Interpreter, ins: Instruction) -> None:
    """Carry out one instruction of the update section."""
    if ins.mnemonic == "BEGIN_UPDATE":
        block = machine.get(ins.step)
        block[3] += 1
        machine.set(ins.step, block)
        if ins.now.present:
            machine.set(ins.now, block)
        return
    if ins.mnemonic == "GLOBAL_NORM":
        machine.set(ins.y, np.sqrt(sum((machine.get(g) ** 2).sum() for g in ins.gs)))
        return
    if ins.mnemonic == "CLIP_NORM":
        scale = ins.limit / max(float(machine.get(ins.norm)), ins.limit)
        machine.set(ins.g, machine.get(ins.g) * scale)
        return
    if ins.mnemonic == "CLIP_VALUE":
        machine.set(ins.g, np.clip(machine.get(ins.g), -ins.limit, ins.limit))
        return
    _apply(machine, ins)


def _apply(machine: Interpreter, ins: Instruction) -> None:
    w, g = machine.get(ins.w), machine.get(ins.g)
    block, rates = machine.get(ins.step), machine.get(ins.rates)
    rate = rates[int(block[0]) % len(rates)]
    w = w * (1 - ins.shrink) - rate * ins.decay * w
    if ins.mnemonic == "UPDATE_SGD":
        w = w - rate * g
    elif ins.mnemonic == "UPDATE_MOMENTUM":
        m = ins.momentum * machine.get(ins.m) - rate * g
        machine.set(ins.m, m)
        w = w + (ins.momentum * m - rate * g if ins.nesterov else m)
    elif ins.mnemonic == "UPDATE_ADAM":
        t = block[3]
        m = ins.beta1 * machine.get(ins.m) + (1 - ins.beta1) * g
        v = ins.beta2 * machine.get(ins.v) + (1 - ins.beta2) * g * g
        machine.set(ins.m, m)
        machine.set(ins.v, v)
        w = w - rate * np.sqrt(1 - ins.beta2**t) / (1 - ins.beta1**t) * m / (np.sqrt(v) + ins.eps)
    else:
        raise AssertionError(f"no rule for {ins.mnemonic}")
    machine.set(ins.w, w)
