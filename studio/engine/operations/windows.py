"""Convolutions and pooling: channels last, kernels as Keras has them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import ABSENT, Ref, Shape, shape_text
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import arithmetic, conv, move, order, pool, reduce
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Lines,
    cut,
    permuted,
    plus,
    require_small,
    reshaped,
    scalar,
    shape_of,
    times,
)
from studio.engine.operations.moving import stack
from studio.engine.operations.products import matmul
from studio.engine.operations.table import operation

Padding: TypeAlias = Literal["valid", "same"]
"""Whether windows stay inside, or the result keeps its size, divided by the stride."""

Sizes: TypeAlias = tuple[int, int]
"""Rows, then columns."""


def geometry(
    size: Sizes, window: Sizes, strides: Sizes, padding: Padding, dilation: Sizes = (1, 1)
) -> dict[str, Any]:
    """Attributes of a windowed instruction; the odd cell of ``same`` goes behind."""
    if min(*strides, *dilation) < 1:
        raise ParameterError(f"strides and dilation are at least 1: got {strides} and {dilation}")
    front, behind = [0, 0], [0, 0]
    if padding == "same":
        for i, (length, cells) in enumerate(zip(size, window, strict=True)):
            span = (cells - 1) * dilation[i] + 1
            total = max((-(-length // strides[i]) - 1) * strides[i] + span - length, 0)
            front[i], behind[i] = total // 2, total - total // 2
    found: dict[str, Any] = {
        "stride_h": strides[0],
        "stride_w": strides[1],
        "pad_h": front[0],
        "pad_w": front[1],
    }
    if front != behind:
        found["pad_end"] = tuple(behind)
    return found


MOST_CELLS = 1024
"""Most cells of a window that are taken one by one; each is some lines of its own."""


def _images(lines: Lines, x: Ref) -> Shape:
    shape = shape_of(lines, x)
    if len(shape) != 4:
        raise ShapeError(f"expected images [N, height, width, channels], got {shape_text(shape)}")
    return shape


def _convolved(
    lines: Lines, cls: type[Instruction], x: Ref, kernel: Ref, bias: Ref, options: dict[str, Any]
) -> Ref:
    x, kernel = types.floats(lines, x, kernel)
    _, height, width, _ = _images(lines, x)
    window = shape_of(lines, kernel)
    if len(window) != 4:
        raise ShapeError(f"expected a kernel of 4 dimensions, got {shape_text(window)}")
    dilation = options["dilation"]
    placed = geometry((height, width), window[:2], options["strides"], options["padding"], dilation)
    if bias.present:
        (bias,) = types.floats(lines, bias)
    return lines.emit(cls, w=kernel, b=bias, x=x, dil_h=dilation[0], dil_w=dilation[1], **placed)[0]


@operation(symbol="conv", keras="conv", onnx="Conv", tfjs="conv2d")
def conv2d(
    lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT,
    *, strides: Sizes = (1, 1), padding: Padding = "valid", dilation: Sizes = (1, 1),
) -> Ref:  # fmt: skip
    """Convolution of images with kernels [rows, columns, in, out].

    Args:
        x: images [N, height, width, in].
        kernel: [rows, columns, in, out].
        bias: added to each channel.
        dilation: Distance between cells of the kernel.
    """
    options = {"strides": strides, "padding": padding, "dilation": dilation}
    return _convolved(lines, conv.Conv2D, x, kernel, bias, options)


@operation(symbol="conv↑", keras="conv_transpose", tfjs="conv2dTranspose")
def conv2d_transpose(
    lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT,
    *, strides: Sizes = (1, 1), padding: Padding = "valid", dilation: Sizes = (1, 1),
    size: Sizes = (0, 0),
) -> Ref:  # fmt: skip
    """Every cell spreads a kernel over the result: the gradient of a convolution by its images.

    Args:
        x: images [N, height, width, in].
        kernel: [rows, columns, out, in].
        bias: added to each channel.
        strides: Steps between the places that neighbouring cells spread to.
        padding: Which convolution of the result would give the size of x.
        dilation: Distance between cells of the kernel.
        size: Rows and columns of the result; 0 is the stride for each cell, and with valid room
            for the whole kernel.
    """
    x, kernel = types.floats(lines, x, kernel)
    n, height, width, channels = _images(lines, x)
    window = shape_of(lines, kernel)
    if len(window) != 4:
        raise ShapeError(f"expected a kernel of 4 dimensions, got {shape_text(window)}")
    if height < 1 or width < 1:
        raise ShapeError(f"there is no cell in images of {height} by {width}")
    pads: list[Sizes] = []
    for i, cells in enumerate((height, width)):
        pads.append(_room_around(cells, window[i], strides[i], padding, dilation[i], size[i]))
    # Zeros between the cells; those behind the last belong to the room behind.
    apart = reshaped(lines, x, (n, height, 1, width, 1, channels))
    between = (0, 0, 0, 0, 0, strides[0] - 1, 0, 0, 0, strides[1] - 1, 0, 0)
    if any(between):
        apart = lines.emit(move.Pad, x=apart, pads=between)[0]
    wide = reshaped(lines, apart, (n, height * strides[0], width * strides[1], channels))
    for axis, (_, behind) in enumerate(pads, start=1):
        wide = cut(lines, wide, axis, 0, shape_of(lines, wide)[axis] + min(behind, 0))
    around = (0, 0, *(max(each, 0) for pair in pads for each in pair), 0, 0)
    if any(around):
        wide = lines.emit(move.Pad, x=wide, pads=around)[0]
    turned = permuted(lines, lines.emit(order.Reverse, x=kernel, axes=(0, 1))[0], (0, 1, 3, 2))
    return conv2d(lines, wide, turned, bias, dilation=dilation)


def _room_around(
    cells: int, window: int, stride: int, padding: Padding, dilation: int, size: int
) -> Sizes:
    """Zeros in front of and behind cells that are ``stride`` apart, less those of the last one."""
    span = (window - 1) * dilation + 1
    if size == 0:
        size = cells * stride + (max(span - stride, 0) if padding == "valid" else 0)
    placed = geometry((size, 1), (window, 1), (stride, 1), padding, (dilation, 1))
    back = (size - span) // stride + 1 if padding == "valid" else -(-size // stride)
    if size < 1 or back != cells:
        raise ShapeError(
            f"a {padding} convolution of {size} cells by steps of {stride} with a kernel of {span} "
            f"gives {back}, not {cells}"
        )
    # All that spreads to the first cell of the result lies at most a kernel in front of it.
    return span - 1 - placed["pad_h"], size - cells * stride + placed["pad_h"]


@operation(symbol="dw conv", keras="depthwise_conv", tfjs="depthwiseConv2d")
def depthwise_conv2d(
    lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT,
    *, strides: Sizes = (1, 1), padding: Padding = "valid", dilation: Sizes = (1, 1),
) -> Ref:  # fmt: skip
    """Convolution of each channel with kernels of its own.

    Args:
        x: images [N, height, width, in].
        kernel: [rows, columns, in, multiplier].
        bias: added to each channel.
        dilation: Distance between cells of the kernel.
    """
    options = {"strides": strides, "padding": padding, "dilation": dilation}
    return _convolved(lines, conv.DepthwiseConv2D, x, kernel, bias, options)


@operation(symbol="sep conv", keras="separable_conv", tfjs="separableConv2d")
def separable_conv2d(
    lines: Lines, x: Ref, depthwise: Ref, pointwise: Ref, bias: Ref = ABSENT,
    *, strides: Sizes = (1, 1), padding: Padding = "valid", dilation: Sizes = (1, 1),
) -> Ref:  # fmt: skip
    """Convolution of each channel, then one that mixes channels.

    Args:
        x: images [N, height, width, in].
        depthwise: [rows, columns, in, multiplier].
        pointwise: [1, 1, in·multiplier, out].
        bias: added to each channel.
        dilation: Distance between cells of the kernel.
    """
    between = depthwise_conv2d(
        lines, x, depthwise, strides=strides, padding=padding, dilation=dilation
    )
    return conv2d(lines, between, pointwise, bias)


def _with_rows(lines: Lines, x: Ref, what: str, at: int) -> Ref:
    """A tensor of 3 dimensions with one of length 1 in place ``at``."""
    shape = shape_of(lines, x)
    if len(shape) != 3:
        raise ShapeError(f"expected {what} of 3 dimensions, got {shape_text(shape)}")
    return reshaped(lines, x, (*shape[:at], 1, *shape[at:]))


def _without_rows(lines: Lines, x: Ref) -> Ref:
    shape = shape_of(lines, x)
    return reshaped(lines, x, (shape[0], *shape[2:]))


def _along_rows(
    convolution: Callable[..., Ref], lines: Lines, x: Ref, kernel: Ref, bias: Ref,
    stride: int, padding: Padding, dilation: int,
) -> Ref:  # fmt: skip
    """A convolution of images, applied to sequences as images of one row."""
    images = _with_rows(lines, x, "sequences", 1)
    flat = _with_rows(lines, kernel, "a kernel", 0)
    found = convolution(
        lines, images, flat, bias, strides=(1, stride), padding=padding, dilation=(1, dilation)
    )
    return _without_rows(lines, found)


@operation(symbol="conv1d", tfjs="conv1d")
def conv1d(
    lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT,
    *, stride: int = 1, padding: Padding = "valid", dilation: int = 1,
) -> Ref:  # fmt: skip
    """Convolution of sequences with kernels [cells, in, out].

    Args:
        x: sequences [N, length, in].
        kernel: [cells, in, out].
        bias: added to each channel.
        stride: Steps between windows.
        dilation: Distance between cells of the kernel.
    """
    return _along_rows(conv2d, lines, x, kernel, bias, stride, padding, dilation)


@operation(symbol="dw conv1d")
def depthwise_conv1d(
    lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT,
    *, stride: int = 1, padding: Padding = "valid", dilation: int = 1,
) -> Ref:  # fmt: skip
    """Convolution of each channel of sequences with kernels of its own.

    Args:
        x: sequences [N, length, in].
        kernel: [cells, in, multiplier].
        bias: added to each channel.
        stride: Steps between windows.
        dilation: Distance between cells of the kernel.
    """
    return _along_rows(depthwise_conv2d, lines, x, kernel, bias, stride, padding, dilation)


def _pooled(
    lines: Lines, cls: type[pool.Pool2D], x: Ref, size: Sizes, strides: Sizes, padding: Padding,
    **more: Any,
) -> Ref:  # fmt: skip
    (x,) = types.floats(lines, x)
    _, height, width, _ = _images(lines, x)
    if min(size) < 1:
        raise ParameterError(f"windows are at least 1 long: got {size}")
    # A stride of 0 stands for one as long as the window.
    steps = (strides[0] or size[0], strides[1] or size[1])
    placed = geometry((height, width), size, steps, padding)
    return lines.emit(cls, x=x, window_h=size[0], window_w=size[1], **placed, **more)[0]


@operation(symbol="max", keras="max_pool", onnx="MaxPool", tfjs="maxPool")
def max_pool2d(
    lines: Lines, x: Ref,
    *, size: Sizes = (2, 2), strides: Sizes = (0, 0), padding: Padding = "valid",
) -> Ref:  # fmt: skip
    """Largest element of each window.

    Args:
        x: images [N, height, width, channels].
        size: Rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """
    return _pooled(lines, pool.MaxPool2D, x, size, strides, padding)


@operation(symbol="avg", keras="average_pool", onnx="AveragePool", tfjs="avgPool")
def average_pool2d(
    lines: Lines, x: Ref,
    *, size: Sizes = (2, 2), strides: Sizes = (0, 0), padding: Padding = "valid",
) -> Ref:  # fmt: skip
    """Mean of each window; cells of the padding do not count.

    Args:
        x: images [N, height, width, channels].
        size: Rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """
    return _pooled(lines, pool.AvgPool2D, x, size, strides, padding, exclude=True)


def _cells(
    lines: Lines, x: Ref, window: Sizes, strides: Sizes, padding: Padding, dilation: Sizes = (1, 1)
) -> tuple[list[Ref], dict[str, Any]]:
    """The first, second … cell of all windows, -inf outside of the images; and the geometry."""
    _, height, width, _ = _images(lines, x)
    if min(window) < 1 or prod(window) > MOST_CELLS:
        raise ShapeError(f"windows have 1 to {MOST_CELLS} cells: got {window}")
    placed = geometry((height, width), window, strides, padding, dilation)
    front = placed["pad_h"], placed["pad_w"]
    behind = placed.get("pad_end", front)
    around = (0, 0, front[0], behind[0], front[1], behind[1], 0, 0)
    if any(around):
        x = lines.emit(move.Pad, x=x, pads=around, fill=-np.inf)[0]
    counts = []
    for i, length in enumerate(shape_of(lines, x)[1:3]):
        span = (window[i] - 1) * dilation[i] + 1
        if length < span:
            raise ShapeError(f"a window of {span} cells does not fit into {length}")
        counts.append((length - span) // strides[i] + 1)
    found = [
        lines.emit(
            move.Slice, x=x, begin=(0, row * dilation[0], column * dilation[1], 0),
            size=(-1, *counts, -1), steps=(1, *strides, 1),
        )[0]
        for row in range(window[0]) for column in range(window[1])
    ]  # fmt: skip
    return found, placed


@operation(symbol="max,i", tfjs="maxPoolWithArgmax")
def max_pool_with_argmax(
    lines: Lines, x: Ref,
    *, size: Sizes = (2, 2), strides: Sizes = (0, 0), padding: Padding = "valid",
) -> tuple[Ref, Ref]:  # fmt: skip
    """Largest element of each window, and its place among all of its image, as int32.

    A place is (row·width + column)·channels + channel; of equals it is that of the first.

    Args:
        x: images [N, height, width, channels].
        size: Rows and columns of a window.
        strides: Steps between windows; 0 is as long as the window.
    """
    (x,) = types.floats(lines, x)
    _, _, width, channels = _images(lines, x)
    steps = (strides[0] or size[0], strides[1] or size[1])
    cells, placed = _cells(lines, x, size, steps, padding)
    which = lines.emit(reduce.ArgMax, x=stack(lines, *cells, axis=1), axis=1)[0]
    rows, columns = shape_of(lines, which)[1:3]
    require_small(rows, columns, channels)
    across = scalar(lines, size[1], DType.int32)

    def at(part: type[Instruction], count: int, axis: int) -> Ref:
        # Where all are -inf the first cell wins, which may lie outside.
        begins = np.arange(count) * steps[axis] - placed["pad_w" if axis else "pad_h"]
        own = begins.reshape((1, count, 1) if axis else (count, 1, 1)).astype(np.int32)
        found = plus(lines, lines.constant(own), lines.emit(part, a=which, b=across)[0])
        return lines.emit(arithmetic.Maximum, a=found, b=scalar(lines, 0, DType.int32))[0]

    row, column = at(arithmetic.FloorDiv, rows, 0), at(arithmetic.Mod, columns, 1)
    place = plus(lines, times(lines, row, scalar(lines, width, DType.int32)), column)
    every = times(lines, place, scalar(lines, channels, DType.int32))
    places = plus(lines, every, lines.constant(np.arange(channels, dtype=np.int32)))
    return max_pool2d(lines, x, size=size, strides=strides, padding=padding), places


@operation(symbol="dilate", tfjs="dilation2d")
def dilation2d(
    lines: Lines, x: Ref, kernel: Ref,
    *, strides: Sizes = (1, 1), padding: Padding = "valid", dilation: Sizes = (1, 1),
) -> Ref:  # fmt: skip
    """Largest sum of a cell of each window and its cell of the kernel; cells outside do not count.

    Args:
        x: images [N, height, width, channels].
        kernel: [rows, columns, channels].
        dilation: Distance between cells of the kernel.
    """
    x, kernel = types.floats(lines, x, kernel)
    window = shape_of(lines, kernel)
    if len(window) != 3 or window[2] != _images(lines, x)[3]:
        raise ShapeError(
            f"expected a kernel [rows, columns, channels] for those of x, got {shape_text(window)}"
        )
    cells, _ = _cells(lines, x, window[:2], strides, padding, dilation)
    each = reshaped(lines, kernel, (window[0] * window[1], window[2]))
    sums = [plus(lines, cell, cut(lines, each, 0, i, 1)) for i, cell in enumerate(cells)]
    found = sums[0]
    for other in sums[1:]:
        found = lines.emit(arithmetic.Maximum, a=found, b=other)[0]
    return found


@operation(symbol="max1d")
def max_pool1d(
    lines: Lines, x: Ref, *, size: int = 2, stride: int = 0, padding: Padding = "valid"
) -> Ref:
    """Largest element of each window of sequences.

    Args:
        x: sequences [N, length, channels].
        size: Cells of a window.
        stride: Steps between windows; 0 is as long as the window.
    """
    wide = _with_rows(lines, x, "sequences", 1)
    found = max_pool2d(lines, wide, size=(1, size), strides=(1, stride), padding=padding)
    return _without_rows(lines, found)


@operation(symbol="avg1d")
def average_pool1d(
    lines: Lines, x: Ref, *, size: int = 2, stride: int = 0, padding: Padding = "valid"
) -> Ref:
    """Mean of each window of sequences; cells of the padding do not count.

    Args:
        x: sequences [N, length, channels].
        size: Cells of a window.
        stride: Steps between windows; 0 is as long as the window.
    """
    wide = _with_rows(lines, x, "sequences", 1)
    found = average_pool2d(lines, wide, size=(1, size), strides=(1, stride), padding=padding)
    return _without_rows(lines, found)


@operation(symbol="avg", onnx="GlobalAveragePool")
def global_average_pool2d(lines: Lines, x: Ref) -> Ref:
    """Mean of each channel over rows and columns."""
    (x,) = types.floats(lines, x)
    _images(lines, x)
    return lines.emit(pool.GlobalAvgPool2D, x=x)[0]


@operation(symbol="max", onnx="GlobalMaxPool")
def global_max_pool2d(lines: Lines, x: Ref) -> Ref:
    """Largest element of each channel over rows and columns."""
    (x,) = types.floats(lines, x)
    _images(lines, x)
    return lines.emit(reduce.ReduceMax, x=x, axes=(1, 2))[0]


@operation(symbol="x·W+b", onnx="Gemm", tfjs="")
def linear(lines: Lines, x: Ref, kernel: Ref, bias: Ref = ABSENT) -> Ref:
    """Product with a kernel [in, out] over the last dimension, plus a bias."""
    found = matmul(lines, x, kernel)
    return plus(lines, found, types.floats(lines, bias)[0]) if bias.present else found
