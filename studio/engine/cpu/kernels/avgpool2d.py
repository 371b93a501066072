"""AVGPOOL2D and its gradient: sums of shifted pictures, tap by tap."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.convolution.windows import ELEMENTS, Geometry, pool_geometry
from studio.engine.cpu.memory.views import Floats, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import GradInstruction, Instruction


def _shares(ins: Instruction, geometry: Geometry, picture: tuple[int, int]) -> Floats:
    """1/cells of every window, [H',W',1]."""
    kh, kw = geometry.kernel
    counts = np.full((*geometry.out, 1), kh * kw, np.float32)
    if ins.value("exclude"):
        counts.fill(0.0)
        for tap in geometry.taps():
            box = geometry.tap_box(tap, picture)
            if box is not None:
                counts[box[0]] += 1.0
    return np.divide(np.float32(1.0), counts)


def build(ins: Instruction, views: Views) -> Run:
    """y = Σ window / cells."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    geometry = pool_geometry(ins, views)
    picture = (x.shape[1], x.shape[2])
    boxes = [geometry.tap_box(tap, picture) for tap in geometry.taps()]
    shares = _shares(ins, geometry, picture)
    step = max(1, ELEMENTS // max(y[0].size, 1))
    parts = []
    for n in range(0, len(x), step):
        given, result = x[n : n + step], y[n : n + step]
        pairs = [(result[:, b[0][0], b[0][1]], given[:, b[1][0], b[1][1]]) for b in boxes if b]
        parts.append((result, pairs))

    def run() -> None:
        for result, pairs in parts:
            result.fill(0.0)
            for sums, cells in pairs:
                np.add(sums, cells, out=sums)
            np.multiply(result, shares, out=result)

    return run


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """Every cell gets dy / cells of each window it lies in."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    dx, dy = accumulator.target, views.grad(ins.ref("y"))
    geometry = pool_geometry(ins, views)
    picture = (dx.shape[1], dx.shape[2])
    boxes = [geometry.tap_box(tap, picture) for tap in geometry.taps()]
    shares = _shares(ins, geometry, picture)
    step = max(1, min(len(dy), ELEMENTS // max(dy[0].size, 1)))
    room = views.scratch((step, *dy.shape[1:]))
    parts = []
    for n in range(0, len(dy), step):
        slope, target = dy[n : n + step], dx[n : n + step]
        share = room[: len(slope)]
        pairs = [(target[:, b[1][0], b[1][1]], share[:, b[0][0], b[0][1]]) for b in boxes if b]
        parts.append((slope, share, target, pairs))

    def run() -> None:
        for slope, share, target, pairs in parts:
            np.multiply(slope, shares, out=share)
            if accumulator.sets:
                target.fill(0.0)
            for cells, parts_of in pairs:
                np.add(cells, parts_of, out=cells)

    return run
