"""Sliding windows over pictures: geometry, taps, and column matrices built piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from studio.engine.core.tensor import Shape
from studio.engine.cpu.memory.views import Floats, Halo, Run, Views
from studio.engine.cpu.products.dense import nothing
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import geometry_ends

COLUMN_ELEMENTS = 1 << 17
"""Elements of a column matrix made at once: 512 KiB, which leaves room in a second-level cache."""

ELEMENTS = 1 << 15
"""Elements of a pooling's or a depthwise convolution's result worked on at once."""


@dataclass(frozen=True)
class Geometry:
    """Size, stride, dilation and padding of a sliding window.

    Attributes:
        kernel: rows and columns of the window.
        stride: step between windows.
        dilation: distance between cells of a window.
        begin: zero cells above and left; may be negative, which leaves cells out.
        end: zero cells below and right; may be negative.
        out: rows and columns of windows.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    begin: tuple[int, int]
    end: tuple[int, int]
    out: tuple[int, int]

    @classmethod
    def of(cls, ins: Instruction, kernel: tuple[int, int], out: Shape) -> Geometry:
        """The geometry of a convolution or pooling whose result has shape ``out``."""
        dilation = (1, 1)
        if "dil_h" in ins.attrs:
            dilation = (ins.value("dil_h"), ins.value("dil_w"))
        return cls(
            kernel,
            (ins.value("stride_h"), ins.value("stride_w")),
            dilation,
            (ins.value("pad_h"), ins.value("pad_w")),
            geometry_ends(ins),
            (out[1], out[2]),
        )

    @property
    def reach(self) -> tuple[int, int]:
        """Cells from the first to the last of a window, on both axes."""
        (kh, kw), (dh, dw) = self.kernel, self.dilation
        return ((kh - 1) * dh, (kw - 1) * dw)

    @property
    def pointwise(self) -> bool:
        """Whether windows are single cells, one for each cell of the picture."""
        return (
            self.kernel == (1, 1)
            and self.stride == (1, 1)
            and self.begin == (0, 0)
            and self.end == (0, 0)
        )

    def taps(self) -> Iterator[tuple[int, int]]:
        """Places inside the window in row order."""
        for r in range(self.kernel[0]):
            for s in range(self.kernel[1]):
                yield r, s

    def tap_box(
        self, tap: tuple[int, int], picture: tuple[int, int]
    ) -> tuple[tuple[slice, slice], tuple[slice, slice]] | None:
        """Windows whose cell at ``tap`` is inside the picture, and these cells.

        Returns slices of windows and slices of the picture (rows, columns), ``None`` if no window
        has that cell inside.
        """
        windows, cells = [], []
        for axis in range(2):
            shift = tap[axis] * self.dilation[axis] - self.begin[axis]
            stride = self.stride[axis]
            first = max(0, -(shift // stride))
            stop = min(self.out[axis], (picture[axis] - 1 - shift) // stride + 1)
            if stop <= first:
                return None
            windows.append(slice(first, stop))
            begin = first * stride + shift
            cells.append(slice(begin, begin + (stop - first - 1) * stride + 1, stride))
        return (windows[0], windows[1]), (cells[0], cells[1])


@dataclass(frozen=True)
class Stretch:
    """Some windows of the batch.

    Attributes:
        samples: which pictures.
        rows: which rows of windows in each.
        load: writes their cells into ``matrix``.
        matrix: [windows, cells of a window], row per window.
    """

    samples: slice
    rows: slice
    load: Run
    matrix: Floats


class PaddedPictures:
    """Pictures with the zero border a geometry wants, a few samples at a time.

    If the tensor's own halo is wide enough, it is the border; else the pictures of a stretch are
    copied into working memory with one.
    """

    def __init__(self, views: Views, source: Halo, geometry: Geometry, samples: int) -> None:
        self._source = source
        self._need = (
            (0, 0),
            (geometry.begin[0], geometry.end[0]),
            (geometry.begin[1], geometry.end[1]),
            (0, 0),
        )
        self.room: Floats | None = None
        enough = all(
            have[0] >= need[0] and have[1] >= need[1]
            for have, need in zip(source.pads, self._need, strict=True)
        )
        if not enough:
            inner = self._inner()
            shape = [n + b + e for n, (b, e) in zip(inner.shape, self._need, strict=True)]
            self.room = views.scratch((min(samples, shape[0]), *shape[1:]))

    def _inner(self) -> Floats:
        cells = self._source.cells
        return cells[
            tuple(slice(b, n - e) for n, (b, e) in zip(cells.shape, self._source.pads, strict=True))
        ]

    def clear(self) -> None:
        """Zero the border before the first stretch of a run: working memory is shared."""
        if self.room is not None:
            self.room.fill(0.0)

    def take(self, samples: slice) -> tuple[Floats, Run]:
        """The padded pictures of some samples, and what brings them there."""
        if self.room is None:
            cuts = [
                slice(have[0] - need[0], size - (have[1] - need[1]))
                for size, have, need in zip(
                    self._source.cells.shape, self._source.pads, self._need, strict=True
                )
            ]
            return self._source.cells[(samples, *cuts[1:])], nothing
        inner = self._inner()[samples]
        room = self.room[: len(inner)]
        target, given = [slice(None)], [slice(None)]
        for size, (before, after) in zip(inner.shape[1:], self._need[1:], strict=True):
            target.append(
                slice(max(before, 0), max(before, 0) + size + min(before, 0) + min(after, 0))
            )
            given.append(slice(-min(before, 0), size + min(after, 0)))
        box, picture = room[tuple(target)], inner[tuple(given)]
        return room, lambda: np.copyto(box, picture)


class Columns:
    """The column matrix (im2col) of a batch of pictures, made a stretch at a time.

    Args:
        views: gives working memory.
        source: the pictures.
        geometry: of the windows.
        band: rows of windows meant; all by default.

    Attributes:
        stretches: together all windows of the band, in order.
    """

    def __init__(
        self, views: Views, source: Halo, geometry: Geometry, band: range | None = None
    ) -> None:
        count, channels = source.cells.shape[0], source.cells.shape[3]
        (kh, kw), (oh, ow) = geometry.kernel, geometry.out
        depth = kh * kw * channels
        dense = source.cells.flags.c_contiguous and not any(map(any, source.pads))
        begin, end = (0, oh) if band is None else (band.start, band.stop)
        self._pictures: PaddedPictures | None = None
        if geometry.pointwise and dense and (end - begin == oh or count == 1):
            matrix = source.cells[:, begin:end].reshape(count * (end - begin) * ow, channels)
            self.stretches = [Stretch(slice(0, count), slice(begin, end), nothing, matrix)]
            return
        self._geometry = geometry
        per_sample = oh * ow * depth
        samples = max(1, min(count, COLUMN_ELEMENTS // max(per_sample, 1)))
        rows = end - begin
        if samples == 1:
            rows = max(1, min(rows, COLUMN_ELEMENTS // max(ow * depth, 1)))
        self._pictures = PaddedPictures(views, source, geometry, samples)
        self._room = views.scratch((samples * rows * ow * depth,))
        self._deep = kw * channels < 16
        self.stretches = []
        for n in range(0, count, samples):
            part = slice(n, min(n + samples, count))
            pictures, load = self._pictures.take(part)
            for r in range(begin, end, rows):
                lines = slice(r, min(r + rows, end))
                self.stretches.append(
                    self._stretch(part, lines, pictures, load if r == begin else nothing)
                )

    def _stretch(self, samples: slice, rows: slice, pictures: Floats, load: Run) -> Stretch:
        (kh, kw), (_, ow) = self._geometry.kernel, self._geometry.out
        (sh, sw), (dh, dw) = self._geometry.stride, self._geometry.dilation
        count, height, channels = len(pictures), rows.stop - rows.start, pictures.shape[3]
        step_n, step_h, step_w, step_c = pictures.strides
        windows = np.lib.stride_tricks.as_strided(
            pictures[:, rows.start * sh :],
            (count, height, ow, kh, kw, channels),
            (step_n, sh * step_h, sw * step_w, dh * step_h, dw * step_w, step_c),
            writeable=False,
        )
        lines, depth = count * height * ow, kh * kw * channels
        room = self._room[: lines * depth]
        if self._deep:
            # Short windows copy faster cell by cell: then the inner loop runs along the picture.
            matrix = room.reshape(depth, lines).T
            target = room.reshape(kh, kw, channels, count, height, ow).transpose(3, 4, 5, 0, 1, 2)
        else:
            matrix = room.reshape(lines, depth)
            target = room.reshape(windows.shape)

        def fill() -> None:
            load()
            np.copyto(target, windows)

        return Stretch(samples, rows, fill, matrix)

    def clear(self) -> None:
        """Begin a run."""
        if self._pictures is not None:
            self._pictures.clear()


def pool_geometry(ins: Instruction, views: Views) -> Geometry:
    """The window of a pooling instruction or its gradient."""
    window = (ins.value("window_h"), ins.value("window_w"))
    return Geometry.of(ins, window, views.shape(ins.ref("y")))
