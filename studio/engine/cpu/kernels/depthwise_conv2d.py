"""DEPTHWISE_CONV2D and its gradients: products of shifted pictures, tap by tap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from studio.engine.cpu.convolution.windows import ELEMENTS, Geometry
from studio.engine.cpu.machine.threads import cut_evenly, run_together
from studio.engine.cpu.memory.views import Floats, GradAccumulator, Run, Views
from studio.engine.cpu.products.dense import in_turn
from studio.engine.cpu.reductions.picture_sums import PictureSums
from studio.engine.isa.instruction import GradInstruction, Instruction

_Part: TypeAlias = tuple[Floats, list[tuple[Floats, Floats, Floats, Floats]]]


def _geometry(ins: Instruction, views: Views) -> Geometry:
    kh, kw = views.shape(ins.ref("w"))[:2]
    return Geometry.of(ins, (kh, kw), views.shape(ins.ref("y")))


def _input(ins: Instruction, views: Views) -> tuple[Floats, Geometry]:
    """The pictures with the halo they have, and the geometry counted from its first cell.

    Where the halo is as wide as the padding every tap then meets a cell for every window.
    """
    given, geometry = views.halo(ins.ref("x")), _geometry(ins, views)
    (above, below), (left, right) = given.pads[1:3]
    begin, end = geometry.begin, geometry.end
    return given.cells, replace(
        geometry, begin=(begin[0] - above, begin[1] - left), end=(end[0] - below, end[1] - right)
    )


class _Bands:
    """Bands of rows of windows that stay in the cache, and the cells every tap meets there."""

    def __init__(self, geometry: Geometry, picture: tuple[int, int], width: int) -> None:
        self._geometry = geometry
        rows = geometry.out[0]
        self.step = max(1, min(rows, ELEMENTS // max(width, 1)))
        self._boxes = [(tap, geometry.tap_box(tap, picture)) for tap in geometry.taps()]
        self.bands = [slice(i, min(i + self.step, rows)) for i in range(0, rows, self.step)]

    def cells(
        self, band: slice
    ) -> list[tuple[tuple[int, int], tuple[slice, slice], tuple[slice, slice]]]:
        """For each tap: windows of the band (counted inside it) and cells of the picture."""
        stride = self._geometry.stride[0]
        found = []
        for tap, box in self._boxes:
            if box is None:
                continue
            (rows, cols), (down, across) = box
            first, stop = max(rows.start, band.start), min(rows.stop, band.stop)
            if first >= stop:
                continue
            begin = down.start + (first - rows.start) * stride
            end = begin + (stop - first - 1) * stride + 1
            found.append(
                (
                    tap,
                    (slice(first - band.start, stop - band.start), cols),
                    (slice(begin, end, stride), across),
                )
            )
        return found


def _split(pictures: Floats, multiplier: int) -> Floats:
    """[H,W,C·M] as [H,W,C,M], also where there is a halo."""
    *lead, channels = pictures.shape
    shape = (*lead, channels // multiplier, multiplier)
    last = pictures.strides[-1]
    strides = (*pictures.strides[:-1], multiplier * last, last)
    return np.lib.stride_tricks.as_strided(pictures, shape, strides)


def build(ins: Instruction, views: Views) -> Run:
    """y = b + Σ over taps of x·w."""
    weights = views.data(ins.ref("w"))
    x, geometry = _input(ins, views)
    bias = views.data(ins.ref("b")) if ins.ref("b").present else None
    multiplier = weights.shape[3]
    y = _split(views.data(ins.ref("y")), multiplier)
    shift = _split(bias, multiplier) if bias is not None else None
    bands = _Bands(geometry, (x.shape[1], x.shape[2]), geometry.out[1] * y[0, 0, 0].size)
    if views.config.compiled and multiplier == 1 and x.flags.c_contiguous:
        return _compiled(views, geometry, x, weights[..., 0], views.data(ins.ref("y")), bias)
    places = [(n, band) for n in range(len(x)) for band in bands.bands]
    runs = []
    for share in cut_evenly(len(places), views.config.threads, max(x.size, y.size)):
        room = views.scratch((bands.step, *y.shape[2:]))
        parts: list[_Part] = []
        for n, band in places[share.start : share.stop]:
            result = y[n, band]
            taps = [
                (
                    result[w[0], w[1]],
                    x[n, c[0], c[1], :, None],
                    weights[tap],
                    room[: w[0].stop - w[0].start, : w[1].stop - w[1].start],
                )
                for tap, w, c in bands.cells(band)
            ]
            parts.append((result, taps))
        runs.append(partial(_run_taps, parts, shift))
    views.note("sums over taps", len(runs), "rows of pictures")
    return runs[0] if len(runs) == 1 else partial(run_together, runs)


def _compiled(
    views: Views, geometry: Geometry, x: Floats, weights: Floats, y: Floats, bias: Floats | None
) -> Run:
    """The same by compiled loops, shared between threads by rows of windows."""
    from studio.engine.cpu.compiled.depthwise import depthwise

    filters = views.scratch(weights.shape)
    steps = (*geometry.stride, *geometry.dilation)

    def work(first: int, result: Floats) -> None:
        np.copyto(result, 0.0 if bias is None else bias)
        depthwise(x, filters, result, steps, geometry.begin, first)

    cuts = cut_evenly(geometry.out[0], views.config.threads, x.size)
    views.note_loop(depthwise, len(cuts), "rows of pictures")
    parts = [partial(work, cut.start, y[:, cut.start : cut.stop]) for cut in cuts]

    def run() -> None:
        np.copyto(filters, weights)
        run_together(parts)

    return run


def _run_taps(parts: Sequence[_Part], shift: Floats | None) -> None:
    """Each part: the result of a band, and for every tap result, cells, filters and room."""
    for result, taps in parts:
        if shift is None:
            result.fill(0.0)
        else:
            np.copyto(result, shift)
        for sums, cells, filters, product in taps:
            np.multiply(cells, filters, out=product)
            np.add(sums, product, out=sums)


def build_grads(ins: GradInstruction, views: Views) -> Run:
    """dw = Σ x·dy per tap, db = Σ dy, dx = Σ over taps of dy·w."""
    runs: list[Run] = []
    dw, db, dx = (views.accumulator(ins, name) for name in ("w", "b", "x"))
    if dw is not None:
        runs.append(_weight_gradient(ins, views, dw))
    if db is not None:
        runs.append(PictureSums(views, views.grad(ins.ref("y")), db).run)
    if dx is not None:
        runs.append(_input_gradient(ins, views, dx))
    return in_turn(runs)


def _weight_gradient(ins: GradInstruction, views: Views, accumulator: GradAccumulator) -> Run:
    views.note("weight gradients over taps")
    x, geometry = _input(ins, views)
    target = accumulator.dense()
    kh, kw, channels, multiplier = target.shape
    dy = _split(views.grad(ins.ref("y")), multiplier)
    bands = _Bands(geometry, (x.shape[1], x.shape[2]), geometry.out[1] * channels * multiplier)
    room = views.scratch((bands.step * geometry.out[1] * channels * multiplier,))
    ones = np.ones((1, bands.step * geometry.out[1]), np.float32)
    line = views.scratch((1, channels * multiplier))
    totals = views.scratch_of((kh, kw, channels * multiplier), np.float64)
    parts = []
    for n in range(len(x)):
        for band in bands.bands:
            for tap, w, c in bands.cells(band):
                slope, cells = dy[n, band][w[0], w[1]], x[n, c[0], c[1], :, None]
                product = room[: slope.size].reshape(slope.shape)
                lines = product.reshape(-1, channels * multiplier)
                parts.append((cells, slope, product, lines, ones[:, : len(lines)], totals[tap]))

    def run() -> None:
        totals.fill(0.0)
        for cells, slope, product, lines, row, sums in parts:
            np.multiply(cells, slope, out=product)
            np.matmul(row, lines, out=line)
            np.add(sums, line[0], out=sums)
        np.copyto(target, totals.reshape(target.shape), casting="same_kind")
        accumulator.deliver()

    return run


def _input_gradient(ins: GradInstruction, views: Views, accumulator: GradAccumulator) -> Run:
    views.note("input gradients over taps")
    weights, dx = views.data(ins.ref("w")), accumulator.target
    channels, multiplier = weights.shape[2:]
    dy = _split(views.grad(ins.ref("y")), multiplier)
    geometry = _geometry(ins, views)
    bands = _Bands(geometry, (dx.shape[1], dx.shape[2]), geometry.out[1] * channels * multiplier)
    wide = views.scratch((bands.step * geometry.out[1] * channels * multiplier,))
    narrow = views.scratch((bands.step * geometry.out[1] * channels,))
    parts = []
    for n in range(len(dx)):
        for band in bands.bands:
            for tap, w, c in bands.cells(band):
                slope, cells = dy[n, band][w[0], w[1]], dx[n, c[0], c[1]]
                product = wide[: slope.size].reshape(slope.shape)
                total = narrow[: cells.size].reshape(cells.shape)
                if multiplier == 1:
                    total = product[..., 0]
                parts.append((slope, weights[tap], product, total, cells))

    def run() -> None:
        if accumulator.sets:
            dx.fill(0.0)
        for slope, filters, product, total, cells in parts:
            np.multiply(slope, filters, out=product)
            if multiplier != 1:
                np.add.reduce(product, axis=3, out=total)
            np.add(cells, total, out=cells)

    return run
