"""Updates of many parameters: those that lie alike in all their storages run as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studio.engine.core.tensor import Ref
from studio.engine.cpu.memory.scratch import ALIGNMENT
from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.plan.binding import bind, bind_arrays
from studio.engine.cpu.products.dense import in_turn
from studio.engine.isa.instruction import Instruction

_SHARED = ("step", "rates")


def bind_updates(parts: Sequence[Instruction], views: Views) -> Run:
    """One callable for the updates of a fused group, in order.

    Neighbours of the same instruction and attributes whose parameter, gradient and slots all lie
    behind each other run as one long stretch. The few bytes between two storages belong to nobody;
    what is computed there is never read.
    """
    runs: list[Run] = []
    waiting: list[Instruction] = []
    for ins in parts:
        if waiting and not _continues(waiting[-1], ins, views):
            runs.append(_bind_run(waiting, views))
            waiting = []
        waiting.append(ins)
    runs.append(_bind_run(waiting, views))
    return in_turn(runs)


def _elements(ins: Instruction) -> list[Ref]:
    return [ref for spec, ref in ins.named_operands() if spec.name not in _SHARED and ref.present]


def _continues(first: Instruction, second: Instruction, views: Views) -> bool:
    if type(first) is not type(second) or dict(first.attrs) != dict(second.attrs):
        return False
    if first.meaning is None or first.meaning.rule is None:
        return False
    if any(first.ref(name) != second.ref(name) for name in _SHARED):
        return False
    before, after = _elements(first), _elements(second)
    if len(before) != len(after):
        return False
    distances = set()
    for one, other in zip(before, after, strict=True):
        a, b = views.any(one), views.any(other)
        if not (a.flags.c_contiguous and b.flags.c_contiguous):
            return False
        distances.add(b.ctypes.data - a.ctypes.data)
        gap = b.ctypes.data - a.ctypes.data - a.nbytes
        if not 0 <= gap < ALIGNMENT or views.arena(one) is not views.arena(other):
            return False
    return len(distances) == 1


def _bind_run(parts: Sequence[Instruction], views: Views) -> Run:
    if len(parts) == 1:
        return bind(parts, views)
    first, last = parts[0], parts[-1]
    arrays: dict[str, Anything] = {}
    for spec, ref in first.named_operands():
        if spec.name in _SHARED:
            arrays[spec.name] = views.any(ref)
        elif ref.present:
            arrays[spec.name] = _joined(views, ref, last.ref(spec.name))
    return bind_arrays(first, arrays, arrays["w"].shape, views)


def _joined(views: Views, first: Ref, last: Ref) -> Anything:
    a, b = views.any(first), views.any(last)
    count = (b.ctypes.data + b.nbytes - a.ctypes.data) // a.itemsize
    return np.lib.stride_tricks.as_strided(a.reshape(-1), (count,), (a.itemsize,))
