"""MAXPOOL2D and its gradient: the larger of shifted pictures, tap by tap."""

from __future__ import annotations

import numpy as np

from studio.engine.cpu.dense import nothing
from studio.engine.cpu.pooling import ELEMENTS, pool_geometry
from studio.engine.cpu.rows import keep
from studio.engine.cpu.views import Run, Views
from studio.engine.isa.instruction import Instruction, Twin


def build(ins: Instruction, views: Views) -> Run:
    """y = max of the window; cells outside never win, NaN does."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    geometry = pool_geometry(ins, views)
    boxes = [geometry.tap_box(tap, (x.shape[1], x.shape[2])) for tap in geometry.taps()]
    whole = (slice(0, geometry.out[0]), slice(0, geometry.out[1]))
    first_covers = boxes[0] is not None and boxes[0][0] == whole
    step = max(1, ELEMENTS // max(y[0].size, 1))
    parts = []
    for n in range(0, len(x), step):
        given, result = x[n : n + step], y[n : n + step]
        pairs = [(result[:, b[0][0], b[0][1]], given[:, b[1][0], b[1][1]]) for b in boxes if b]
        parts.append((result, pairs))

    def run() -> None:
        for result, pairs in parts:
            if first_covers:
                np.copyto(*pairs[0])
            else:
                result.fill(-np.inf)
            for best, cells in pairs[first_covers:]:
                np.maximum(best, cells, out=best)

    return run


def build_grads(ins: Twin, views: Views) -> Run:
    """dy goes to the first cell of the window, in row order, that is the maximum."""
    sink = views.sink(ins, "x")
    if sink is None:
        return nothing
    x, y, dy = views.data(ins.ref("x")), views.data(ins.ref("y")), views.grad(ins.ref("y"))
    geometry = pool_geometry(ins, views)
    boxes = [geometry.tap_box(tap, (x.shape[1], x.shape[2])) for tap in geometry.taps()]
    apart = all(s >= k for s, k in zip(geometry.stride, geometry.kernel, strict=True))
    step = max(1, min(len(x), ELEMENTS // max(y[0].size, 1)))
    shape = (step, *y.shape[1:])
    masks = [views.scratch_of(shape, np.bool_) for _ in range(3)]
    share = views.scratch(shape)
    parts = []
    for n in range(0, len(x), step):
        cut = slice(n, n + step)
        left, match, lost = (m[: len(y[cut])] for m in masks)
        taps = []
        for box in boxes:
            if box is None:
                continue
            (rows, cols), (down, across) = box
            inside = (slice(None), rows, cols)
            taps.append(
                tuple(a[inside] for a in (y[cut], dy[cut], left, match, lost, share))
                + tuple(a[:, down, across] for a in (x[cut], sink.target[cut]))
            )
        parts.append((y[cut], left, sink.target[cut], taps))

    def run() -> None:
        for result, open_, target, taps in parts:
            hurt = bool(np.isnan(np.minimum.reduce(result, axis=None)))
            open_.fill(True)
            if sink.sets:
                target.fill(0.0)
            for best, slope, left, match, lost, spare, cells, out in taps:
                np.equal(cells, best, out=match)
                if hurt:
                    np.isnan(cells, out=lost)
                    np.logical_or(match, lost, out=match)
                np.logical_and(match, left, out=match)
                np.logical_xor(left, match, out=left)
                if apart and sink.sets:
                    keep(slope, match, out)
                else:
                    keep(slope, match, spare)
                    np.add(out, spare, out=out)

    return run
