"""Layers that only move numbers: flatten, reshape, zero padding."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError, quoted
from studio.engine.core.options import Plain, choice, integers, spec
from studio.engine.core.tensor import BATCH, MAX_RANK, Ref, Shape
from studio.engine.isa.ops import move
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import MOVED, Layer, shape_text

Border = tuple[tuple[int, int], tuple[int, int]]

MAX_BORDER = 4096


class Flatten(Layer):
    """Flattens each sample into one dimension, in row-major order."""

    category = "shape"
    dtypes: ClassVar[tuple[DType, ...]] = MOVED
    words = ("flat", "unroll")
    followers = ("Dense", "Dropout")

    data_format = choice("Order of dimensions.", "channels_last")

    def output_shape(self, *shapes: Shape) -> Shape:
        """[elements]."""
        return (prod(shapes[0]),)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """FLATTEN."""
        return context.emit(move.Flatten, x=inputs[0])


class Reshape(Layer):
    """Changes the shape of each sample; the number of elements stays the same."""

    category = "shape"
    dtypes: ClassVar[tuple[DType, ...]] = MOVED
    words = ("view", "resize")
    followers = ("Conv2D", "Dense")
    positional = ("target_shape",)

    target_shape = integers(
        "The new shape without the batch; one dimension may be -1, to be inferred.",
        low=-1, start=[-1],
        aliases=("shape",),
    )  # fmt: skip

    def output_shape(self, *shapes: Shape) -> Shape:
        """The target shape with -1 worked out."""
        target, have = self.target_shape, prod(shapes[0])
        known = prod(d for d in target if d >= 0)
        open_dims = target.count(-1)
        fits = have == known if not open_dims else known > 0 and have % known == 0
        if not fits or open_dims > 1 or 0 in target or len(target) >= MAX_RANK:
            raise ShapeError(
                f"expected a shape of {have} elements with at most one -1, got "
                f"{shape_text(target)} for {shape_text(shapes[0])}",
                who=self.who,
                hint="make the product of the new shape equal that of the old one",
            )
        return tuple(have // known if d == -1 else d for d in target)

    def broken_rule(self, *shapes: Shape) -> str:
        """The number of elements."""
        del shapes
        return "reshape"

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """RESHAPE."""
        shape = self.output_shape(context.shape_of(inputs[0]))
        return context.emit(move.Reshape, x=inputs[0], shape=(BATCH, *shape))


def _read_border(value: object, who: str) -> Border:
    """Cells above and below, left and right, from one number, two, or two pairs."""
    if isinstance(value, int):
        value = (value, value)
    sides = []
    for side in value if isinstance(value, list | tuple) else ():
        both = (side, side) if isinstance(side, int) else side
        if not isinstance(both, list | tuple) or len(both) != 2:
            break
        if any(isinstance(c, bool) or not isinstance(c, int) for c in both):
            break
        sides.append((both[0], both[1]))
    if len(sides) != 2 or any(not 0 <= c <= MAX_BORDER for side in sides for c in side):
        raise ParameterError(
            f"padding: expected a count up to {MAX_BORDER}, (rows, columns), or "
            f"((top, bottom), (left, right)), got {quoted(value)}",
            who=who,
        )
    return sides[0], sides[1]


def _write_border(value: Border) -> Plain:
    return [list(side) for side in value]


class ZeroPadding2D(Layer):
    """Adds rows and columns of zeros around an image."""

    category = "shape"
    dtypes: ClassVar[tuple[DType, ...]] = MOVED
    words = ("pad", "padding", "border")
    followers = ("Conv2D", "MaxPooling2D")
    positional = ("padding",)

    padding = spec(
        "Padding (top, bottom) and (left, right).", ((1, 1), (1, 1)), _read_border, _write_border,
        effect="More padding makes the output larger.", editor="border",
    )  # fmt: skip
    data_format = choice("Order of dimensions.", "channels_last")

    def output_shape(self, *shapes: Shape) -> Shape:
        """The grown shape."""
        (shape,) = shapes
        self.require_rank(shape, "height", "width", "channels")
        rows, cols = self.padding
        return (shape[0] + sum(rows), shape[1] + sum(cols), shape[2])

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """PAD."""
        rows, cols = self.padding
        return context.emit(move.Pad, x=inputs[0], pads=(0, 0, *rows, *cols, 0, 0))
