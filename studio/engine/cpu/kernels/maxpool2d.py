"""MAXPOOL2D and its gradient: the larger of shifted pictures, tap by tap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from studio.engine.cpu.convolution.windows import ELEMENTS, Geometry, pool_geometry
from studio.engine.cpu.elementwise.steps import keep
from studio.engine.cpu.memory.views import Anything, Floats, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import GradInstruction, Instruction

FULL = 16
"""Channels of which any multiple fills vectors."""

Box: TypeAlias = tuple[tuple[slice, slice], tuple[slice, slice]]


def build(ins: Instruction, views: Views) -> Run:
    """y = max of the window; cells outside never win, NaN does."""
    x, y = views.data(ins.ref("x")), views.data(ins.ref("y"))
    geometry = pool_geometry(ins, views)
    boxes = [geometry.tap_box(tap, (x.shape[1], x.shape[2])) for tap in geometry.taps()]
    whole = (slice(0, geometry.out[0]), slice(0, geometry.out[1]))
    first_covers = boxes[0] is not None and boxes[0][0] == whole
    if views.config.compiled and _inside(geometry, x, y):
        from studio.engine.cpu.compiled.pooling import maxpool

        views.note_loop(maxpool)
        return lambda: maxpool(x, y, geometry.kernel, geometry.stride)
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


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dy goes to the first cell of the window, in row order, that is the maximum."""
    accumulator = views.accumulator(ins, "x")
    if accumulator is None:
        return nothing
    x, y, dy = views.data(ins.ref("x")), views.data(ins.ref("y")), views.grad(ins.ref("y"))
    geometry = pool_geometry(ins, views)
    boxes = [geometry.tap_box(tap, (x.shape[1], x.shape[2])) for tap in geometry.taps()]
    if views.config.compiled and _inside(geometry, x, y, dy, accumulator.target):
        return _compiled_gradient(views, geometry, (x, y, dy), accumulator)
    apart = all(s >= k for s, k in zip(geometry.stride, geometry.kernel, strict=True))
    tiled = geometry.stride == geometry.kernel and all(
        size == out * kernel
        for size, out, kernel in zip(x.shape[1:3], geometry.out, geometry.kernel, strict=True)
    )
    step = max(1, min(len(x), ELEMENTS // max(y[0].size, 1)))
    shape = (step, *y.shape[1:])
    masks = [views.scratch_of(shape, np.bool_) for _ in range(3)]
    share = views.scratch(shape)
    runs = []
    for n in range(0, len(x), step):
        cut = slice(n, n + step)
        part = _Part(
            y[cut],
            dy[cut],
            x[cut],
            accumulator.target[cut],
            tuple(m[: len(y[cut])] for m in masks),
            share,
        )
        part.choose(boxes, sets=accumulator.sets, tiled=tiled, direct=apart and accumulator.sets)
        runs.append(part.run)

    def run() -> None:
        for part_run in runs:
            part_run()

    return run


def _inside(geometry: Geometry, *arrays: Floats) -> bool:
    """Whether every window lies in the picture whole, and arrays have no gaps."""
    height, width = arrays[0].shape[1:3]
    rows = (geometry.out[0] - 1) * geometry.stride[0] + geometry.kernel[0]
    columns = (geometry.out[1] - 1) * geometry.stride[1] + geometry.kernel[1]
    fits = rows <= height and columns <= width and geometry.begin == (0, 0)
    return fits and geometry.dilation == (1, 1) and all(a.flags.c_contiguous for a in arrays)


def _compiled_gradient(
    views: Views,
    geometry: Geometry,
    given: tuple[Floats, Floats, Floats],
    accumulator: GradAccumulator,
) -> Run:
    from studio.engine.cpu.compiled.pooling import maxpool_gradient, maxpool_squares_gradient

    x, y, _ = given
    if accumulator.sets and geometry.kernel == geometry.stride == (2, 2) and x.shape[3] % FULL == 0:
        views.note_loop(maxpool_squares_gradient)
        covered = all(size % 2 == 0 for size in x.shape[1:3])

        def run_squares() -> None:
            if not covered:
                accumulator.target.fill(0.0)
            maxpool_squares_gradient(*given, accumulator.target)

        return run_squares
    views.note_loop(maxpool_gradient)
    found = views.scratch((y.shape[3],))

    def run() -> None:
        if accumulator.sets:
            accumulator.target.fill(0.0)
        maxpool_gradient(*given, accumulator.target, geometry.kernel, geometry.stride, found)

    return run


class _Part:
    """The gradient of some samples: dy is dealt out tap by tap to windows not served yet."""

    def __init__(
        self,
        y: Floats,
        dy: Floats,
        x: Floats,
        target: Floats,
        masks: tuple[Anything, ...],
        share: Floats,
    ) -> None:
        self._y, self._dy, self._x, self._target = y, dy, x, target
        self._left, self._match, self._lost = masks
        self._share = share[: len(y)]

    def choose(self, boxes: Sequence[Box | None], *, sets: bool, tiled: bool, direct: bool) -> None:
        """Cut the arrays for every tap.

        ``tiled``: every cell lies in exactly one window. ``direct``: the gradient of a cell comes
        from one window only and may be written where it belongs.
        """
        self._clears = sets and not (tiled and direct)
        self._tiled, self._direct = tiled, direct
        self._taps = []
        for box in boxes:
            if box is None:
                continue
            (rows, cols), (down, across) = box
            windows = (self._y, self._dy, self._left, self._match, self._lost, self._share)
            self._taps.append(
                tuple(a[:, rows, cols] for a in windows)
                + tuple(a[:, down, across] for a in (self._x, self._target))
            )

    def run(self) -> None:
        """Deal out."""
        hurt = bool(np.isnan(np.minimum.reduce(self._y, axis=None)))
        if self._clears:
            self._target.fill(0.0)
        self._left.fill(True)
        last = len(self._taps) - 1
        for number, (best, slope, left, match, lost, share, cells, out) in enumerate(self._taps):
            chosen = match
            if number == last and self._tiled:
                # A window not served by its other cells has its maximum in the last one.
                chosen = left
            else:
                np.equal(cells, best, out=match)
                if hurt:
                    np.isnan(cells, out=lost)
                    np.logical_or(match, lost, out=match)
                if number:
                    np.logical_and(match, left, out=match)
                np.logical_xor(left, match, out=left)
            if self._direct:
                keep(slope, chosen, out)
            else:
                keep(slope, chosen, share)
                np.add(out, share, out=out)
