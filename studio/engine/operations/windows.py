"""Convolutions and pooling: channels last, kernels as Keras has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import ABSENT, Ref, Shape, shape_text
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import conv, pool, reduce
from studio.engine.operations import types
from studio.engine.operations.lines import Lines, plus, reshaped, shape_of
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
