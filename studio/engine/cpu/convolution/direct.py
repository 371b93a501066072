"""Convolutions by compiled loops that read the pictures themselves; see `compiled.convolution`.

The gradient of the input is, for cells that lie alike between windows (a phase), a convolution of
dy of its own with the taps that meet such cells; with stride 1 there is one phase.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.cpu.convolution.windows import Geometry
from studio.engine.cpu.memory.views import Floats, GradAccumulator, Halo, Run, Views

FULL_COLUMNS = 16
"""Columns of which any multiple fills vectors."""

LEAST_WINDOWS = 8
"""Windows of a picture from which a tile is full."""

MOST_WEIGHTS = 1 << 20
"""Weights up to which the loops gain: more do not stay in a second-level cache, and BLAS packs."""

MOST_WEIGHTS_OF_CELLS = 1 << 13
"""The same where windows are single cells, and BLAS has no columns to make either."""

Places: TypeAlias = npt.NDArray[np.int64]
Pair: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[int, int, int, int, int, int]

_NO_CELLS = np.zeros((0, 1, 1), np.float32)


def is_direct(views: Views, weights: Floats, columns: int, *pictures: Halo) -> bool:
    """Whether a product with so many columns, of windows over pictures, can be made here and pays.

    Args:
        views: of the pictures.
        weights: of the convolution, [kh,kw,in,out].
        columns: in or out, whichever the product ends in.
        pictures: what it reads and writes.
    """
    most = MOST_WEIGHTS_OF_CELLS if weights.shape[:2] == (1, 1) else MOST_WEIGHTS
    return (
        views.config.compiled
        and columns % FULL_COLUMNS == 0
        and weights.size <= most
        and lie_dense(*pictures)
    )


def lie_dense(*pictures: Halo) -> bool:
    """Whether pictures have no gaps and no halo."""
    return all(p.cells.flags.c_contiguous and not any(map(any, p.pads)) for p in pictures)


def fills_tiles(geometry: Geometry) -> bool:
    """Whether a picture has windows for a tile; single cells are left to BLAS as they lie."""
    return geometry.out[0] * geometry.out[1] >= LEAST_WINDOWS and not geometry.pointwise


def banded(geometry: Geometry, band: range) -> Geometry:
    """The geometry of some rows of windows."""
    top = geometry.begin[0] - band.start * geometry.stride[0]
    return replace(geometry, begin=(top, geometry.begin[1]), out=(len(band), geometry.out[1]))


class Pictures:
    """Dense pictures [N,H,W,C] as compiled loops read them: with cells round them, if need be.

    Args:
        views: gives working memory.
        cells: the pictures.
        first: row and column of the first cell that is read, counted from the picture's first.
        stop: row and column behind the last.
        always: whether there is a padded picture even where none is needed.

    Attributes:
        padding: room for a padded picture and the box it fills there, as the loops take them.
    """

    def __init__(
        self, views: Views, cells: Floats, first: Pair, stop: Pair, always: bool = False
    ) -> None:
        _, *sides, self._channels = cells.shape
        self._origin, self._width = (0, 0), sides[1]
        self.padding: tuple[Floats, Box] = (_NO_CELLS, (0, 0, 0, 0, 0, 0))
        if not always and min(first) >= 0 and stop[0] <= sides[0] and stop[1] <= sides[1]:
            return
        self._origin, self._width = first, stop[1] - first[1]
        begin = [max(0, low) for low in first]
        rows, columns = (
            max(0, min(high, side) - low)
            for low, high, side in zip(begin, stop, sides, strict=True)
        )
        room = views.scratch((stop[0] - first[0], self._width, self._channels))
        to = (begin[0] - first[0], begin[1] - first[1])
        deep = self._channels
        box = (to[0], to[1] * deep, begin[0], begin[1] * deep, rows, columns * deep)
        self.padding = (room, box)

    def clear(self) -> None:
        """Zero the cells outside: working memory is shared."""
        self.padding[0].fill(0.0)

    def windows(self, first: Pair, count: Pair, stride: Pair) -> Places:
        """Distances of windows from the beginning of a picture, row by row."""
        lines = (
            np.arange(n) * step + begin - origin
            for n, step, begin, origin in zip(count, stride, first, self._origin, strict=True)
        )
        return self.distances(*lines)

    def distances(self, rows: Places, columns: Places) -> Places:
        """Distances between cells so many rows and columns apart, for all pairs of these."""
        return _grid(rows, columns, self._width, self._channels)


def _grid(rows: Places, columns: Places, width: int, channels: int) -> Places:
    found = (rows[:, np.newaxis] * width + columns) * channels
    return np.ascontiguousarray(found.reshape(-1), dtype=np.int64)


class _Windows:
    """The windows of a convolution over dense pictures.

    Attributes:
        pictures: what they lie on.
        reads: distance of each window from the beginning of its picture.
        taps: distances of the cells of a window.
    """

    def __init__(self, views: Views, geometry: Geometry, cells: Floats) -> None:
        first = (-geometry.begin[0], -geometry.begin[1])
        spans = [
            (n - 1) * step + reach + 1
            for n, step, reach in zip(geometry.out, geometry.stride, geometry.reach, strict=True)
        ]
        stop = (first[0] + spans[0], first[1] + spans[1])
        self.pictures = Pictures(views, cells, first, stop)
        self.reads = self.pictures.windows(first, geometry.out, geometry.stride)
        rows, columns = (
            np.arange(n, dtype=np.int64) * step
            for n, step in zip(geometry.kernel, geometry.dilation, strict=True)
        )
        self.taps = self.pictures.distances(rows, columns)

    def writes(self, columns: int) -> Places:
        """Distance of each window's results from the beginning of a picture's."""
        return np.arange(len(self.reads), dtype=np.int64) * columns


def build_product(
    views: Views, geometry: Geometry, cells: Floats, weights: Floats, bias: Floats | None, y: Floats
) -> Run:
    """y = windows of the cells · weights + bias, for weights [kh,kw,in,out]."""
    from studio.engine.cpu.compiled.convolution import convolve

    columns = weights.shape[3]
    windows = _Windows(views, geometry, cells)
    pictures, tables = windows.pictures, (windows.reads, windows.writes(columns), windows.taps)
    start = np.zeros(columns, np.float32) if bias is None else bias
    matrix, results = weights.reshape(-1, columns), y.reshape(len(y), -1)

    def run() -> None:
        pictures.clear()
        convolve(cells, pictures.padding, matrix, start, results, tables)

    return run


def build_weight_gradient(
    views: Views, geometry: Geometry, cells: Floats, dy: Floats, accumulator: GradAccumulator
) -> Run:
    """dw = windows of the cells, transposed · dy."""
    from studio.engine.cpu.compiled.convolution import add_weight_gradient
    from studio.engine.cpu.compiled.tiles import TILE

    columns, channels = dy.shape[3], cells.shape[3]
    windows = _Windows(views, geometry, cells)
    rows = (windows.taps[:, np.newaxis] + np.arange(channels, dtype=np.int64)).reshape(-1)
    # The rows that pad the last tile compute values that are never read.
    more = -len(rows) % TILE
    target = accumulator.dense().reshape(-1, columns)
    sums = views.scratch((len(rows) + more, columns)) if more else target
    filled = np.concatenate([rows, np.zeros(more, np.int64)])
    pictures, tables = windows.pictures, (windows.reads, windows.writes(columns), filled)
    slopes = dy.reshape(len(dy), -1)

    def run() -> None:
        pictures.clear()
        sums.fill(0.0)
        add_weight_gradient(cells, pictures.padding, slopes, sums, tables)
        if more:
            np.copyto(target, sums[: len(target)])
        accumulator.deliver()

    return run


@dataclass(frozen=True)
class _Phase:
    """Cells of the input along one axis that lie alike between windows.

    Attributes:
        first: the first of them; they are a stride apart.
        count: how many.
        taps: places in the window that meet them.
        meets: for each of these, the window that meets the first cell; it may lie outside.
    """

    first: int
    count: int
    taps: slice
    meets: tuple[int, ...]


def _phases(geometry: Geometry, axis: int, size: int) -> list[_Phase]:
    stride, dilation = geometry.stride[axis], geometry.dilation[axis]
    found = []
    for first in range(min(stride, size)):
        place = first + geometry.begin[axis]
        taps = [t for t in range(geometry.kernel[axis]) if (place - t * dilation) % stride == 0]
        step = taps[1] - taps[0] if len(taps) > 1 else 1
        chosen = slice(taps[0], taps[-1] + 1, step) if taps else slice(0)
        meets = tuple((place - t * dilation) // stride for t in taps)
        found.append(_Phase(first, -(-(size - first) // stride), chosen, meets))
    return found


def fills_tiles_back(geometry: Geometry, picture: Pair) -> bool:
    """Whether pictures of these sides have cells for a tile in every phase."""
    least = [min(p.count for p in _phases(geometry, axis, picture[axis])) for axis in range(2)]
    return least[0] * least[1] >= LEAST_WINDOWS and not geometry.pointwise


def build_input_gradient(
    views: Views, geometry: Geometry, weights: Floats, dy: Floats, accumulator: GradAccumulator
) -> Run:
    """dx of a convolution with weights [kh,kw,in,out], phase by phase."""
    from studio.engine.cpu.compiled.convolution import convolve

    dx = accumulator.into()
    _, height, width, channels = dx.shape
    axes = [_phases(geometry, axis, size) for axis, size in enumerate((height, width))]
    lows = [min([m for p in found for m in p.meets], default=0) for found in axes]
    highs = [max([m + p.count for p in found for m in p.meets], default=0) for found in axes]
    pictures = Pictures(views, dy, (lows[0], lows[1]), (highs[0], highs[1]))
    start, results = np.zeros(channels, np.float32), dx.reshape(len(dx), -1)
    steps: list[tuple[Floats, Floats, Floats, tuple[Places, Places, Places]]] = []
    sparse = False
    for down, across in product(*axes):
        given = weights[down.taps, across.taps].swapaxes(2, 3)
        sparse = sparse or given.size == 0
        if given.size == 0:
            continue
        filters = views.scratch(given.shape)
        cells = [
            np.arange(p.count) * step + p.first
            for p, step in zip((down, across), geometry.stride, strict=True)
        ]
        tables = (
            pictures.windows((0, 0), (down.count, across.count), (1, 1)),
            _grid(cells[0], cells[1], width, channels),
            pictures.distances(np.array(down.meets), np.array(across.meets)),
        )
        steps.append((given, filters, filters.reshape(-1, channels), tables))

    def run() -> None:
        pictures.clear()
        if sparse:
            dx.fill(0.0)
        for given, filters, matrix, tables in steps:
            np.copyto(filters, given)
            convolve(dy, pictures.padding, matrix, start, results, tables)
        accumulator.deliver()

    return run
