"""Operations on images: channels last, in batches."""

from __future__ import annotations

from typing import Literal

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import Ref, shape_text
from studio.engine.isa.ops import arithmetic, function, image, order
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Lines,
    cast,
    cut,
    permuted,
    plus,
    reshaped,
    scalar,
    scaled,
    shape_of,
    shifted,
    spread,
    times,
)
from studio.engine.operations.moving import tile
from studio.engine.operations.products import matmul
from studio.engine.operations.reductions import mean, sum_
from studio.engine.operations.table import operation


def size_of(lines: Lines, x: Ref) -> tuple[int, int, int, int]:
    """Batch, height, width and channels; ShapeError for anything but images."""
    shape = shape_of(lines, x)
    if len(shape) != 4:
        raise ShapeError(f"expected images [N, height, width, channels], got {shape_text(shape)}")
    n, height, width, channels = shape
    return n, height, width, channels


@operation(symbol="⇋", tfjs="image.flipLeftRight")
def flip_left_right(lines: Lines, x: Ref) -> Ref:
    """Turns columns round."""
    size_of(lines, x)
    return lines.emit(order.Reverse, x=x, axes=(2,))[0]


@operation(symbol="⇵")
def flip_up_down(lines: Lines, x: Ref) -> Ref:
    """Turns rows round."""
    size_of(lines, x)
    return lines.emit(order.Reverse, x=x, axes=(1,))[0]


@operation(symbol="↻", numpy="rot90", keras="rot90")
def rotate_quarters(lines: Lines, x: Ref, *, turns: int = 1) -> Ref:
    """Turns images by quarters, against the clock.

    Args:
        x: images [N, height, width, channels].
        turns: How many quarters.
    """
    size_of(lines, x)
    turns %= 4
    if turns == 2:
        return lines.emit(order.Reverse, x=x, axes=(1, 2))[0]
    if turns == 0:
        return x
    turned = permuted(lines, x, (0, 2, 1, 3))
    return lines.emit(order.Reverse, x=turned, axes=(1 if turns == 1 else 2,))[0]


@operation(symbol="✂")
def center_crop(lines: Lines, x: Ref, *, height: int, width: int) -> Ref:
    """Cuts the middle out of images.

    Args:
        x: images [N, height, width, channels].
        height: Rows of the result.
        width: Columns of the result.
    """
    _, rows, columns, _ = size_of(lines, x)
    if not (0 < height <= rows and 0 < width <= columns):
        raise ShapeError(f"a box of {height} by {width} must lie inside {rows} by {columns}")
    x = cut(lines, x, 1, (rows - height) // 2, height)
    return cut(lines, x, 2, (columns - width) // 2, width)


@operation(symbol="▢▢", onnx="Upsample")
def upsample(lines: Lines, x: Ref, *, factor: int = 2) -> Ref:
    """Repeats rows and columns.

    Args:
        x: images [N, height, width, channels].
        factor: How often.
    """
    n, height, width, channels = size_of(lines, x)
    if factor < 1:
        raise ParameterError(f"factor must be at least 1: got {factor}")
    apart = reshaped(lines, x, (n, height, 1, width, 1, channels))
    wide = spread(lines, apart, (n, height, factor, width, factor, channels))
    return reshaped(lines, wide, (n, height * factor, width * factor, channels))


_LUMA = (0.2989, 0.587, 0.114)


@operation(symbol="grey", keras="image.rgb_to_grayscale", tfjs="image.rgbToGrayscale")
def rgb_to_grayscale(lines: Lines, x: Ref) -> Ref:
    """Brightness of red, green and blue, in one channel."""
    (x,) = types.floats(lines, x)
    if shape_of(lines, x)[-1:] != (3,):
        raise ShapeError(f"expected 3 channels, got {shape_text(shape_of(lines, x))}")
    weights = lines.constant([[w] for w in _LUMA])
    return matmul(lines, x, weights)


@operation(symbol="RGB", tfjs="image.grayscaleToRGB")
def grayscale_to_rgb(lines: Lines, x: Ref) -> Ref:
    """One channel three times."""
    shape = shape_of(lines, x)
    if shape[-1:] != (1,):
        raise ShapeError(f"expected 1 channel, got {shape_text(shape)}")
    return tile(lines, x, repeats=(*(1,) * (len(shape) - 1), 3))


@operation(symbol="bright")
def adjust_brightness(lines: Lines, x: Ref, *, delta: float = 0.0) -> Ref:
    """Adds a number to all pixels.

    Args:
        x: images.
        delta: The number.
    """
    (x,) = types.floats(lines, x)
    return shifted(lines, x, delta)


@operation(symbol="contrast")
def adjust_contrast(lines: Lines, x: Ref, *, factor: float = 1.0) -> Ref:
    """Scales how far pixels are from the mean of their channel.

    Args:
        x: images [N, height, width, channels].
        factor: Larger ones give more contrast.
    """
    (x,) = types.floats(lines, x)
    size_of(lines, x)
    middle = mean(lines, x, axis=(1, 2), keepdims=True)
    return plus(lines, scaled(lines, plus(lines, x, middle, -1.0), factor), middle)


@operation(symbol="0|1", tfjs="")
def binarize(lines: Lines, x: Ref, *, threshold: float = 0.5) -> Ref:
    """Gives 1 above a threshold, else 0.

    Args:
        x: images.
        threshold: The bound.
    """
    (x,) = types.floats(lines, x)
    above = lines.emit(arithmetic.Greater, a=x, b=scalar(lines, threshold))[0]
    return cast(lines, above, DType.float32)


@operation(symbol="TV")
def total_variation(lines: Lines, x: Ref) -> Ref:
    """Sum of differences of neighbouring pixels, for each image."""
    (x,) = types.floats(lines, x)
    _, height, width, _ = size_of(lines, x)
    totals = []
    for axis, length in ((1, height), (2, width)):
        apart = plus(
            lines, cut(lines, x, axis, 1, length - 1), cut(lines, x, axis, 0, length - 1), -1.0
        )
        totals.append(sum_(lines, lines.emit(function.Abs, x=apart)[0], axis=(1, 2, 3)))
    return plus(lines, totals[0], totals[1])


@operation(symbol="1-x")
def invert_image(lines: Lines, x: Ref, *, largest: float = 1.0) -> Ref:
    """Makes bright pixels dark.

    Args:
        x: images.
        largest: Value of the brightest pixel.
    """
    (x,) = types.floats(lines, x)
    return shifted(lines, scaled(lines, x, -1.0), largest)


@operation(symbol="gamma")
def adjust_gamma(lines: Lines, x: Ref, *, gamma: float = 1.0, gain: float = 1.0) -> Ref:
    """Raises pixels to a power.

    Args:
        x: images with no pixel below 0.
        gamma: The power.
        gain: Factor of the result.
    """
    (x,) = types.floats(lines, x)
    return scaled(lines, lines.emit(arithmetic.Pow, a=x, b=scalar(lines, gamma))[0], gain)


@operation(symbol="mask")
def apply_mask(lines: Lines, x: Ref, mask: Ref) -> Ref:
    """Keeps elements where a mask is true, else 0.

    Args:
        x: any tensor.
        mask: of a shape that broadcasts to that of x.
    """
    (x,), (mask,) = types.floats(lines, x), types.truths(lines, mask)
    return times(lines, x, cast(lines, mask, DType.float32))


@operation(symbol="⤢", keras="image.resize", onnx="Resize", tfjs="image.resizeBilinear")
def resize(
    lines: Lines,
    x: Ref,
    *,
    height: int,
    width: int,
    method: Literal["bilinear", "nearest", "bicubic"] = "bilinear",
    coords: Literal["half_pixel", "align_corners", "asymmetric"] = "half_pixel",
    rounding: Literal["half_up", "half_down", "down", "up"] = "half_up",
    cubic: float = -0.5,
    exclude: bool = False,
    antialias: bool = False,
) -> Ref:
    """Gives images another size.

    Args:
        x: images [N, height, width, channels].
        height: Rows of the result.
        width: Columns of the result.
        method: How cells are weighed.
        coords: Where the cells of the result lie among those of x.
        rounding: Which cell nearest takes between two.
        cubic: Coefficient of bicubic weights.
        exclude: Leave cells beyond the border out; else the border is repeated.
        antialias: Smooth what shrinks; not with nearest.
    """
    if method != "nearest":
        (x,) = types.floats(lines, x)
    return lines.emit(
        image.Resize, x=x, height=height, width=width, method=method, coords=coords,
        rounding=rounding, cubic=cubic, exclude=exclude, antialias=antialias,
    )[0]  # fmt: skip


@operation(symbol="⤢", tfjs="image.resizeNearestNeighbor")
def resize_nearest(
    lines: Lines,
    x: Ref,
    *,
    height: int,
    width: int,
    coords: Literal["half_pixel", "align_corners", "asymmetric"] = "half_pixel",
    rounding: Literal["half_up", "half_down", "down", "up"] = "half_up",
) -> Ref:
    """Gives images another size by taking the nearest cell.

    TensorFlow.js begins with coords "asymmetric" and rounding "down".

    Args:
        x: images [N, height, width, channels].
        height: Rows of the result.
        width: Columns of the result.
        coords: Where the cells of the result lie among those of x.
        rounding: Which cell is taken between two.
    """
    return resize(
        lines, x, height=height, width=width, method="nearest", coords=coords, rounding=rounding
    )
