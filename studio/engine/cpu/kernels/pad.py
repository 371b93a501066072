"""PAD and its gradient: a tensor surrounded by a constant, or by what lies inside.

In modes other than the constant one, the dimensions are padded one after another.
"""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.memory.views import Anything, Run, Views
from studio.engine.cpu.products.dense import add_or_set, nothing
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.move import Pad


def _inside(ins: Instruction, array: Anything) -> Anything:
    pads = ins.value("pads")
    pairs = zip(pads[::2], pads[1::2], array.shape, strict=True)
    return array[tuple(slice(before, size - after) for before, after, size in pairs)]


def build(ins: Instruction, views: Views) -> Run:
    """y = fill or copies of what lies inside, with x inside."""
    if isinstance(ins, Pad) and ins.mode != "constant":
        return _mirrored(ins, views)
    x, y = views.any(ins.ref("x")), views.any(ins.ref("y"))
    inside, fill = _inside(ins, y), ins.value("fill")

    def run() -> None:
        y.fill(fill)
        np.copyto(inside, x)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dx = the inside of dy, and what its copies have."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    forward = ins.forward.of_grad(ins)
    if isinstance(forward, Pad) and forward.mode != "constant":
        return _mirrored_grads(forward, ins, views)
    return add_or_set(accumulator.target, _inside(ins, views.grad(ins.ref("y"))), accumulator.sets)


def _mirrored(ins: Pad, views: Views) -> Run:
    x, y = views.any(ins.ref("x")), views.any(ins.ref("y"))
    places = ins.sources(x.shape)
    # The dimensions that grow least come first, so that little is copied twice.
    axes = sorted(
        (axis for axis in range(x.ndim) if y.shape[axis] > x.shape[axis]),
        key=lambda axis: y.shape[axis] / x.shape[axis],
    )
    steps: list[tuple[Anything, Anything, int, Anything]] = []
    current = x
    for axis in axes:
        shape = (*current.shape[:axis], y.shape[axis], *current.shape[axis + 1 :])
        grown = views.scratch_of(shape, y.dtype.type)
        steps.append((current, np.array(places[axis]), axis, grown))
        current = grown
    last = current

    def run() -> None:
        for given, chosen, axis, grown in steps:
            np.take(given, chosen, axis=axis, out=grown, mode="clip")
        np.copyto(y, last)

    return run


def _mirrored_grads(forward: Pad, ins: GradInstruction, views: Views) -> Run:
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    dy = views.grad(ins.ref("y"))
    shape = accumulator.target.shape
    places, pads = forward.sources(shape), ins.value("pads")
    spare = views.scratch(dy.shape)
    # Each cell outside is added to the one it shows, from the front, one dimension after another.
    moves: list[tuple[Anything, Anything]] = []
    current = spare
    for axis, (before, size) in enumerate(zip(pads[::2], shape, strict=True)):
        turned = np.moveaxis(current, axis, 0)
        inside = turned[before : before + size]
        moves += [
            (inside[shown], turned[place])
            for place, shown in enumerate(places[axis])
            if not before <= place < before + size
        ]
        current = np.moveaxis(inside, 0, axis)
    deliver = add_or_set(accumulator.target, current, accumulator.sets)

    def run() -> None:
        np.copyto(spare, dy)
        for target, source in moves:
            np.add(target, source, out=target)
        deliver()

    return run
