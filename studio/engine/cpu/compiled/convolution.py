"""Convolution without column matrices, by tiles that read the pictures themselves.

Where the cells of windows lie is read from tables of distances, so that one loop serves every
stride, padding and dilation.
"""

from __future__ import annotations

from typing import TypeAlias

from studio.engine.cpu.compiled.tiles import (
    LANES,
    TILE,
    Places,
    add_slopes,
    copy_elements,
    sum_windows,
)
from studio.engine.cpu.machine.toolchain import compiled
from studio.engine.cpu.memory.views import Floats

Box: TypeAlias = tuple[int, int, int, int, int, int]

BAND_ELEMENTS = 8192
"""Elements of dy that the tiles of a weight gradient share before their sums go to memory."""


@compiled
def place(pictures: Floats, begin: int, sides: tuple[int, int], room: Floats, box: Box) -> None:
    """Copy cells of a picture to where they lie in the padded one.

    Args:
        pictures: flat.
        begin: where the picture begins.
        sides: elements in a row of the picture, and in one of the room.
        room: flat; what lies outside the box is left as it is.
        box: first row and element of it in the room, the same in the picture, rows, elements.
    """
    down, across, top, left, rows, elements = box
    for i in range(rows):
        given = begin + (top + i) * sides[0] + left
        to = (down + i) * sides[1] + across
        copy_elements(room, to, pictures, given, elements)


@compiled
def convolve(
    x: Floats,
    padding: tuple[Floats, Box],
    w: Floats,
    start: Floats,
    y: Floats,
    tables: tuple[Places, Places, Places],
) -> None:
    """y = start + Σ over taps and channels of x·w, for some windows of every picture.

    Args:
        x: pictures [N,H,W,C].
        padding: room for a padded picture, and the box of `place`; no cells where x has them all.
        w: [taps·C, columns].
        start: [columns].
        y: [N, elements of a picture's results].
        tables: distances of the windows in x and in y, at least `TILE`; of the taps in a window.
    """
    room, box = padding
    reads, writes, taps = tables
    depth, columns = x.shape[3], w.shape[1]
    inside, outside, results, weights = (
        x.reshape(-1),
        room.reshape(-1),
        y.reshape(-1),
        w.reshape(-1),
    )
    size, sides = x[0].size, (x.shape[2] * depth, room.shape[1] * depth)
    for n in range(len(x)):
        source, begin = inside, n * size
        if room.size > 0:
            place(inside, begin, sides, outside, box)
            source, begin = outside, 0
        for column in range(0, columns, LANES):
            for first in range(0, len(reads), TILE):
                # The last tile may overlap the one before it: it finds the same results.
                first = min(first, len(reads) - TILE)
                sum_windows(
                    source, begin, reads, first, taps, len(taps), depth, weights, column, columns,
                    start, results, n * y.shape[1] + column, writes,
                )  # fmt: skip


@compiled
def add_weight_gradient(
    x: Floats,
    padding: tuple[Floats, Box],
    dy: Floats,
    dw: Floats,
    tables: tuple[Places, Places, Places],
) -> None:
    """dw += Σ over windows of x·dy.

    Args:
        x: pictures [N,H,W,C].
        padding: as for `convolve`.
        dy: [N, elements of a picture's results].
        dw: [rows, columns], rows a multiple of `TILE`.
        tables: distances of the windows in x and in dy; of the rows of dw in a window of x.
    """
    room, box = padding
    reads, places, rows = tables
    depth, columns = x.shape[3], dw.shape[1]
    band = max(TILE, BAND_ELEMENTS // columns)
    inside, outside, slopes, sums = x.reshape(-1), room.reshape(-1), dy.reshape(-1), dw.reshape(-1)
    size, sides = x[0].size, (x.shape[2] * depth, room.shape[1] * depth)
    for n in range(len(x)):
        source, begin = inside, n * size
        if room.size > 0:
            place(inside, begin, sides, outside, box)
            source, begin = outside, 0
        for first in range(0, len(reads), band):
            stop = min(len(reads), first + band)
            for row in range(0, len(rows), TILE):
                for column in range(0, columns, LANES):
                    add_slopes(
                        source, begin, rows, row, reads, slopes, n * dy.shape[1] + column, places,
                        first, stop, sums, row * columns + column, columns,
                    )  # fmt: skip
