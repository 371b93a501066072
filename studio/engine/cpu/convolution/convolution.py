"""The three products of a convolution: results, weight gradients and input gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from studio.engine.cpu.convolution.windows import Columns, Geometry, Stretch
from studio.engine.cpu.memory.views import Floats, GradAccumulator, Halo, Run, Views


class Lines:
    """Pictures seen as matrices [cells, channels], a stretch at a time.

    Args:
        views: gives working memory where the pictures have a halo, or a stretch is some rows of
            several pictures.
        pictures: [N,H,W,C].
        columns: whose stretches are meant.
    """

    def __init__(self, views: Views, pictures: Floats, columns: Columns) -> None:
        self._pictures = pictures
        self._room: Floats | None = None
        channels = pictures.shape[3]
        parts = (pictures[each.samples, each.rows] for each in columns.stretches)
        if not all(part.flags.c_contiguous for part in parts):
            longest = max(len(s.matrix) for s in columns.stretches)
            self._room = views.scratch((longest, channels))

    def part(self, stretch: Stretch) -> tuple[Floats, Floats]:
        """The matrix of a stretch, and its cells in the pictures; the same memory if dense."""
        cells = self._pictures[stretch.samples, stretch.rows]
        if self._room is None:
            return cells.reshape(len(stretch.matrix), cells.shape[3]), cells
        return self._room[: len(stretch.matrix)], cells

    @property
    def dense(self) -> bool:
        """Whether matrices lie in the pictures themselves."""
        return self._room is None


def build_product(
    views: Views, columns: Columns, weights: Floats, bias: Floats | None, target: Floats
) -> Run:
    """target = columns·weights + bias, for weights [cells of a window, out]."""
    lines = Lines(views, target, columns)
    steps: list[tuple[Run, Floats, Floats, Floats]] = []
    for stretch in columns.stretches:
        matrix, cells = lines.part(stretch)
        steps.append((stretch.load, stretch.matrix, matrix, cells))
    dense = lines.dense

    def run() -> None:
        columns.clear()
        for load, given, matrix, cells in steps:
            load()
            np.matmul(given, weights, out=matrix)
            if bias is not None:
                np.add(matrix, bias, out=matrix)
            if not dense:
                np.copyto(cells, matrix.reshape(cells.shape))

    return run


def build_weight_gradient(
    views: Views, columns: Columns, slope: Floats, accumulator: GradAccumulator
) -> Run:
    """columnsᵀ·dy, summed over all stretches."""
    lines = Lines(views, slope, columns)
    out_size = slope.shape[3]
    target = accumulator.dense().reshape(-1, out_size)
    more = views.scratch(target.shape) if len(columns.stretches) > 1 else target
    steps: list[tuple[Run, Floats, Floats, Floats]] = []
    for stretch in columns.stretches:
        matrix, cells = lines.part(stretch)
        steps.append((stretch.load, stretch.matrix.T, matrix, cells))
    dense = lines.dense

    def run() -> None:
        columns.clear()
        for i, (load, given, matrix, cells) in enumerate(steps):
            load()
            if not dense:
                np.copyto(matrix.reshape(cells.shape), cells)
            np.matmul(given, matrix, out=more if i else target)
            if i:
                np.add(target, more, out=target)
        accumulator.deliver()

    return run


def build_input_gradient(
    views: Views,
    geometry: Geometry,
    weights: Floats,
    slope: Halo,
    dy: Floats,
    accumulator: GradAccumulator,
) -> Run:
    """The gradient of the input of a convolution with weights [kh,kw,in,out].

    With stride 1 it is itself a convolution, of the padded dy with the turned filters; else the
    columns of the gradient are made and added up cell by cell.
    """
    if geometry.stride != (1, 1):
        return _scattered(views, geometry, weights, dy, accumulator)
    filters = _TurnedFilters(views, weights)
    columns = Columns(views, slope, turned(geometry, dy, accumulator))
    product = build_product(views, columns, filters.matrix, None, accumulator.into())

    def run() -> None:
        filters.load()
        product()
        accumulator.deliver()

    return run


def build_both_gradients(
    views: Views,
    geometry: Geometry,
    weights: Floats,
    slope: Halo,
    dy: Floats,
    x: Floats,
    accumulators: tuple[GradAccumulator, GradAccumulator],
) -> Run:
    """The gradients of weights and input of a convolution with stride 1 from the same columns.

    The columns of dy that give dx hold, for each cell of x, every dy it took part in: their product
    with x is dw, turned.
    """
    kh, kw, cin, cout = weights.shape
    dw, dx = accumulators
    filters = _TurnedFilters(views, weights)
    columns = Columns(views, slope, turned(geometry, dy, dx))
    inputs, results = Lines(views, x, columns), Lines(views, dx.into(), columns)
    total, more = (views.scratch((cin, kh * kw * cout)) for _ in range(2))
    found = total.reshape(cin, kh, kw, cout)[:, ::-1, ::-1].transpose(1, 2, 0, 3)
    steps = [(s, *inputs.part(s), *results.part(s)) for s in columns.stretches]

    def run() -> None:
        columns.clear()
        filters.load()
        for i, (stretch, given, cells, result, target) in enumerate(steps):
            stretch.load()
            if not inputs.dense:
                np.copyto(given.reshape(cells.shape), cells)
            np.matmul(given.T, stretch.matrix, out=more if i else total)
            if i:
                np.add(total, more, out=total)
            np.matmul(stretch.matrix, filters.matrix, out=result)
            if not results.dense:
                np.copyto(target, result.reshape(target.shape))
        np.copyto(dw.dense(), found)
        dw.deliver()
        dx.deliver()

    return run


def turned(geometry: Geometry, dy: Floats, dx: GradAccumulator) -> Geometry:
    """The windows over dy whose products with the turned filters give dx, for stride 1."""
    height, width = dx.target.shape[1:3]
    reach = geometry.reach
    begin = (reach[0] - geometry.begin[0], reach[1] - geometry.begin[1])
    return replace(
        geometry,
        begin=begin,
        end=(
            height + reach[0] - begin[0] - dy.shape[1],
            width + reach[1] - begin[1] - dy.shape[2],
        ),
        out=(height, width),
    )


class _TurnedFilters:
    """Weights [kh,kw,in,out] turned by half a turn, as a matrix [cells of a window of dy, in]."""

    def __init__(self, views: Views, weights: Floats) -> None:
        kh, kw, cin, cout = weights.shape
        self._filters = views.scratch((kh, kw, cout, cin))
        self._given = weights[::-1, ::-1].swapaxes(2, 3)
        self.matrix = self._filters.reshape(kh * kw * cout, cin)

    def load(self) -> None:
        """Take the weights as they are now."""
        np.copyto(self._filters, self._given)


def _scattered(
    views: Views, geometry: Geometry, weights: Floats, dy: Floats, accumulator: GradAccumulator
) -> Run:
    count, oh, ow, cout = dy.shape
    kh, kw, cin, _ = weights.shape
    depth = kh * kw * cin
    picture = (accumulator.target.shape[1], accumulator.target.shape[2])
    samples = max(1, min(count, (1 << 18) // max(oh * ow * depth, 1)))
    room = views.scratch((samples * oh * ow, depth))
    slope = views.scratch((samples * oh * ow, cout))
    whole = weights.reshape(depth, cout).T
    boxes = [(tap, geometry.tap_box(tap, picture)) for tap in geometry.taps()]
    steps: list[tuple[Floats, Floats, Floats, Floats, list[tuple[Floats, Floats]]]] = []
    for n in range(0, count, samples):
        given, target = dy[n : n + samples], accumulator.target[n : n + samples]
        lines = room[: len(given) * oh * ow]
        columns = lines.reshape(len(given), oh, ow, kh, kw, cin)
        pairs = [
            (target[:, box[1][0], box[1][1]], columns[:, box[0][0], box[0][1], r, s])
            for (r, s), box in boxes
            if box is not None
        ]
        steps.append((given, slope[: len(lines)], lines, target, pairs))

    def run() -> None:
        for given, matrix, lines, target, pairs in steps:
            np.copyto(matrix.reshape(given.shape), given)
            np.matmul(matrix, whole, out=lines)
            if accumulator.sets:
                target.fill(0.0)
            for cells, column in pairs:
                np.add(cells, column, out=cells)

    return run
