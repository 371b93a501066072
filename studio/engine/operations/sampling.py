"""Operations that look images up between their cells, at places that are computed."""

from __future__ import annotations

from math import cos, sin
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import Ref, shape_text
from studio.engine.isa.ops import arithmetic, image, index
from studio.engine.operations import types
from studio.engine.operations.images import size_of
from studio.engine.operations.lines import (
    Lines,
    cast,
    cut,
    plus,
    reshaped,
    scaled,
    shape_of,
    shifted,
    spread,
    times,
)
from studio.engine.operations.logic import where
from studio.engine.operations.moving import concatenate
from studio.engine.operations.table import operation

Method: TypeAlias = Literal["bilinear", "nearest"]
Outside: TypeAlias = Literal["zeros", "border", "reflect"]


@operation(symbol="⌗", onnx="GridSample")
def grid_sample(
    lines: Lines,
    x: Ref,
    grid: Ref,
    *,
    method: Method = "bilinear",
    outside: Outside = "zeros",
    coords: Literal["half_pixel", "align_corners", "pixels"] = "half_pixel",
) -> Ref:
    """Looks images up at the places of a grid.

    Args:
        x: images [N, height, width, channels].
        grid: places [N, rows, columns, 2], across then down.
        method: How cells are weighed.
        outside: What lies beyond the border.
        coords: Whether -1 and 1 are the edges or the outermost centres, or places count cells.
    """
    x, grid = types.floats(lines, x, grid)
    return _sampled(lines, x, grid, method, outside, coords)


def _sampled(
    lines: Lines, x: Ref, grid: Ref, method: str, outside: str, coords: str = "pixels"
) -> Ref:
    return lines.emit(
        image.SampleGrid, x=x, grid=grid, method=method, outside=outside, coords=coords
    )[0]


@operation(symbol="▱", keras="image.affine_transform", tfjs="image.transform")
def transform(
    lines: Lines,
    x: Ref,
    transforms: Ref,
    *,
    method: Method = "bilinear",
    outside: Outside = "zeros",
    fill: float = 0.0,
    height: int | None = None,
    width: int | None = None,
) -> Ref:
    """Moves, turns, stretches and tilts images.

    With the numbers a0, a1, a2, b0, b1, b2, c0, c1 the cell (u, v) of the result, u across, shows
    what was at (a0·u + a1·v + a2)/k, (b0·u + b1·v + b2)/k with k = c0·u + c1·v + 1.

    Args:
        x: images [N, height, width, channels].
        transforms: eight numbers for each image, or for all, [N, 8], [1, 8] or [8].
        method: How cells are weighed.
        outside: What lies beyond the border; ``fill`` with zeros.
        fill: Number beyond the border.
        height: Rows of the result; those of x unless given.
        width: Columns of the result; those of x unless given.
    """
    x, transforms = types.floats(lines, x, transforms)
    n, rows, columns, _ = size_of(lines, x)
    shape = shape_of(lines, transforms)
    count = shape[0] if len(shape) == 2 else 1
    if shape[-1:] != (8,) or len(shape) > 2 or count not in (1, n):
        raise ShapeError(f"expected eight numbers for each image or all, got {shape_text(shape)}")
    numbers = reshaped(lines, transforms, (count, 8))
    high, wide = rows if height is None else height, columns if width is None else width
    if min(high, wide) < 1:
        raise ParameterError(f"height and width must be at least 1: got {high} and {wide}")
    across = lines.constant(np.arange(wide, dtype=np.float32).reshape(1, 1, wide))
    down = lines.constant(np.arange(high, dtype=np.float32).reshape(1, high, 1))

    def weighed(first: int) -> Ref:
        u, v = (
            times(lines, reshaped(lines, cut(lines, numbers, 1, first + k, 1), (count, 1, 1)), each)
            for k, each in enumerate((across, down))
        )
        return plus(lines, u, v)

    below = shifted(lines, weighed(6), 1.0)
    places = []
    for first in (0, 3):
        constant = reshaped(lines, cut(lines, numbers, 1, first + 2, 1), (count, 1, 1))
        above = plus(lines, weighed(first), constant)
        found = lines.emit(arithmetic.Div, a=above, b=below)[0]
        places.append(reshaped(lines, found, (count, high, wide, 1)))
    grid = spread(lines, concatenate(lines, *places, axis=3), (n, high, wide, 2))
    return _filled(lines, x, grid, method, outside, fill)


def _filled(lines: Lines, x: Ref, grid: Ref, method: str, outside: str, fill: float) -> Ref:
    """Sampled by cells, with a number outside: what x has above it is sampled with zeros there."""
    if outside != "zeros":
        return _sampled(lines, x, grid, method, outside)
    return shifted(lines, _sampled(lines, shifted(lines, x, -fill), grid, method, outside), fill)


@operation(symbol="⟳", tfjs="image.rotateWithOffset")
def rotate(
    lines: Lines,
    x: Ref,
    *,
    radians: float,
    method: Method = "nearest",
    outside: Outside = "zeros",
    fill: float = 0.0,
    center_x: float = 0.5,
    center_y: float = 0.5,
) -> Ref:
    """Turns images about a point, against the clock.

    Args:
        x: images [N, height, width, channels].
        radians: The angle.
        method: How cells are weighed.
        outside: What lies beyond the border; ``fill`` with zeros.
        fill: Number beyond the border.
        center_x: The point, as a share of the columns.
        center_y: The point, as a share of the rows.
    """
    _, rows, columns, _ = size_of(lines, x)
    u, v, c, s = center_x * columns, center_y * rows, cos(radians), sin(radians)
    numbers = (c, -s, u - u * c + v * s, s, c, v - u * s - v * c, 0.0, 0.0)
    turned = lines.constant(np.array([numbers], np.float32))
    return transform(lines, x, turned, method=method, outside=outside, fill=fill)


@operation(symbol="x[p]", keras="image.map_coordinates")
def map_coordinates(
    lines: Lines,
    x: Ref,
    coordinates: Ref,
    *,
    method: Method = "bilinear",
    outside: Outside = "zeros",
    fill: float = 0.0,
) -> Ref:
    """Looks a matrix up at real places.

    Args:
        x: a matrix.
        coordinates: rows, then columns, [2, …].
        method: How cells are weighed.
        outside: What lies beyond the border; ``fill`` with zeros.
        fill: Number beyond the border.
    """
    x, coordinates = types.floats(lines, x, coordinates)
    size, shape = shape_of(lines, x), shape_of(lines, coordinates)
    if len(size) != 2 or shape[:1] != (2,) or min(size + shape) < 0:
        raise ShapeError(
            f"expected a matrix and coordinates [2,…], got {shape_text(size)} and "
            f"{shape_text(shape)}"
        )
    count = int(np.prod(shape[1:]))
    down, across = (
        reshaped(lines, cut(lines, coordinates, 0, k, 1), (1, 1, count, 1)) for k in (0, 1)
    )
    grid = concatenate(lines, across, down, axis=3)
    picture = reshaped(lines, x, (1, *size, 1))
    return reshaped(lines, _filled(lines, picture, grid, method, outside, fill), shape[1:])


@operation(symbol="✂⤢", tfjs="image.cropAndResize")
def crop_and_resize(
    lines: Lines,
    x: Ref,
    boxes: Ref,
    indices: Ref,
    *,
    height: int,
    width: int,
    method: Method = "bilinear",
    fill: float = 0.0,
) -> Ref:
    """Cuts boxes out of images and gives them one size.

    Args:
        x: images [N, rows, columns, channels].
        boxes: top, left, bottom, right of each box, [boxes, 4]; 0 and 1 are the outermost centres.
        indices: the image of each box, whole numbers [boxes].
        height: Rows of the result.
        width: Columns of the result.
        method: How cells are weighed.
        fill: Number where a box reaches beyond its image.
    """
    (x, boxes), (indices,) = types.floats(lines, x, boxes), types.whole(lines, indices)
    _, rows, columns, channels = size_of(lines, x)
    shape, chosen = shape_of(lines, boxes), shape_of(lines, indices)
    if len(shape) != 2 or shape[1] != 4 or chosen != shape[:1]:
        raise ShapeError(
            f"expected boxes [B,4] and indices [B], got {shape_text(shape)} and "
            f"{shape_text(chosen)}"
        )
    if min(height, width) < 1:
        raise ParameterError(f"height and width must be at least 1: got {height} and {width}")
    count = shape[0]
    places, inside = [], []
    for first, size, length in ((0, rows, height), (1, columns, width)):
        low, high = (cut(lines, boxes, 1, k, 1) for k in (first, first + 2))
        last, one = size - 1.0, length == 1
        begin = scaled(lines, plus(lines, low, high) if one else low, last * (0.5 if one else 1))
        step = scaled(lines, plus(lines, high, low, -1.0), last / max(length - 1, 1))
        along = lines.constant(np.arange(length, dtype=np.float32).reshape(1, length))
        found = plus(lines, begin, times(lines, step, along))
        top = lines.constant(np.array(last, np.float32))
        zero = lines.constant(np.array(0.0, np.float32))
        fits = [
            cast(lines, lines.emit(arithmetic.GreaterEqual, a=a, b=b)[0], DType.float32)
            for a, b in ((found, zero), (top, found))
        ]
        placed = (count, length, 1, 1) if first == 0 else (count, 1, length, 1)
        places.append(spread(lines, reshaped(lines, found, placed), (count, height, width, 1)))
        inside.append(reshaped(lines, times(lines, *fits), placed))
    grid = concatenate(lines, places[1], places[0], axis=3)
    pictures = lines.emit(index.Gather, x=x, i=indices, axis=0)[0]
    found = _sampled(lines, pictures, grid, method, "border")
    beyond = lines.constant(np.array(fill, np.float32))
    fits_both = spread(lines, times(lines, *inside), (count, height, width, channels))
    return where(lines, cast(lines, fits_both, DType.bool), found, beyond)
