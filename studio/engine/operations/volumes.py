"""Convolutions and pooling of volumes: depth, rows and columns, channels last.

The instructions of images go through all slices at once; what lies along the depth is joined behind
or in front of them.
"""

from __future__ import annotations

from typing import Any

from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import ABSENT, Ref, Shape, shape_text
from studio.engine.isa.ops import conv, move, pool
from studio.engine.operations import types
from studio.engine.operations.lines import Ints, Lines, cut, plus, reshaped, shape_of
from studio.engine.operations.table import operation
from studio.engine.operations.windows import MOST_CELLS, Padding, geometry


def _volumes(lines: Lines, x: Ref) -> Shape:
    shape = shape_of(lines, x)
    if len(shape) != 5:
        raise ShapeError(
            f"expected volumes [N, depth, height, width, channels], got {shape_text(shape)}"
        )
    return shape


def _three(name: str, given: Ints, least: int = 1) -> tuple[int, int, int]:
    """Numbers for depth, rows and columns."""
    if len(given) != 3 or min(given) < least:
        raise ParameterError(f"{name} must be 3 numbers of at least {least}: got {given}")
    deep, high, wide = given
    return deep, high, wide


@operation(symbol="conv3d", tfjs="conv3d")
def conv3d(
    lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT,
    *, strides: Ints = (1, 1, 1), padding: Padding = "valid", dilation: Ints = (1, 1, 1),
) -> Ref:  # fmt: skip
    """Convolution of volumes: the sum of those of images by each slice of the kernel.

    Args:
        x: volumes [N, depth, height, width, in].
        kernel: [slices, rows, columns, in, out].
        bias: added to each channel.
        strides: Steps between windows along depth, rows and columns.
        dilation: Distance between cells of the kernel along each.
    """
    x, kernel = types.floats(lines, x, kernel)
    _, depth, height, width, _ = _volumes(lines, x)
    window = shape_of(lines, kernel)
    if len(window) != 5 or not 1 <= window[0] <= MOST_CELLS:
        raise ShapeError(
            f"expected a kernel of 5 dimensions with 1 to {MOST_CELLS} slices, got "
            f"{shape_text(window)}"
        )
    steps, apart = _three("strides", strides), _three("dilation", dilation)
    along = geometry((depth, 1), (window[0], 1), (steps[0], 1), padding, (apart[0], 1))
    front, behind = along["pad_h"], along.get("pad_end", (along["pad_h"],))[0]
    if front or behind:
        x = lines.emit(move.Pad, x=x, pads=(0, 0, front, behind, 0, 0, 0, 0, 0, 0))[0]
    span = (window[0] - 1) * apart[0] + 1
    if depth + front + behind < span:
        raise ShapeError(f"a kernel of {span} slices does not fit into {depth + front + behind}")
    count = (depth + front + behind - span) // steps[0] + 1
    placed = geometry((height, width), window[1:3], steps[1:], padding, apart[1:])
    (bias,) = types.floats(lines, bias) if bias.present else (bias,)
    found = ABSENT
    for i in range(window[0]):
        slices = lines.emit(
            move.Slice, x=x, begin=(0, i * apart[0], 0, 0, 0), size=(-1, count, -1, -1, -1),
            steps=(1, steps[0], 1, 1, 1),
        )[0]  # fmt: skip
        weights = reshaped(lines, cut(lines, kernel, 0, i, 1), window[1:])
        part = lines.emit(
            conv.Conv2D, w=weights, b=ABSENT if i else bias, x=slices, dil_h=apart[1],
            dil_w=apart[2], **placed,
        )[0]  # fmt: skip
        found = plus(lines, found, part) if i else part
    return found


def _pooled(
    lines: Lines, cls: type[pool.Pool2D], x: Ref, size: Ints, strides: Ints, padding: Padding,
    **more: Any,
) -> Ref:  # fmt: skip
    """Windows of rows and columns first, then of slices of what they gave."""
    (x,) = types.floats(lines, x)
    _, depth, height, width, channels = _volumes(lines, x)
    deep, high, wide = _three("size", size)
    given = _three("strides", strides, least=0)
    steps = (given[0] or deep, given[1] or high, given[2] or wide)
    placed = geometry((height, width), (high, wide), steps[1:], padding)
    flat = lines.emit(cls, x=x, window_h=high, window_w=wide, **placed, **more)[0]
    n, _, rows, columns, _ = shape_of(lines, flat)
    tall = reshaped(lines, flat, (n, depth, rows * columns, channels))
    placed = geometry((depth, 1), (deep, 1), (steps[0], 1), padding)
    found = lines.emit(cls, x=tall, window_h=deep, window_w=1, **placed, **more)[0]
    return reshaped(lines, found, (n, shape_of(lines, found)[1], rows, columns, channels))


@operation(symbol="max3d", tfjs="maxPool3d")
def max_pool3d(
    lines: Lines, x: Ref,
    *, size: Ints = (2, 2, 2), strides: Ints = (0, 0, 0), padding: Padding = "valid",
) -> Ref:  # fmt: skip
    """Largest element of each window of volumes.

    Args:
        x: volumes [N, depth, height, width, channels].
        size: Slices, rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """
    return _pooled(lines, pool.MaxPool2D, x, size, strides, padding)


@operation(symbol="avg3d", tfjs="avgPool3d")
def average_pool3d(
    lines: Lines, x: Ref,
    *, size: Ints = (2, 2, 2), strides: Ints = (0, 0, 0), padding: Padding = "valid",
) -> Ref:  # fmt: skip
    """Mean of each window of volumes; cells of the padding do not count.

    Args:
        x: volumes [N, depth, height, width, channels].
        size: Slices, rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """
    return _pooled(lines, pool.AvgPool2D, x, size, strides, padding, exclude=True)
