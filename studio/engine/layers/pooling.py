"""Pooling over windows and over the whole picture."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.options import choice, flag, optional_pair, pair
from studio.engine.core.tensor import BATCH, Ref, Shape
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import move, pool
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer
from studio.engine.layers.windows import Window, output_size, padding, place_window


class Pooling2D(Layer, abstract=True):
    """What both window poolings share; the input is [height, width, channels]."""

    category = "pooling"
    positional = ("pool_size", "strides", "padding")
    instruction: ClassVar[type[Instruction]]

    pool_size = pair(
        "Rows and columns of the window.", (2, 2), aliases=("pool",), on_card=True,
        effect="Larger windows make the output smaller and less precise in position.",
    )  # fmt: skip
    strides = optional_pair(
        "Step between windows; the window's size when not given.", aliases=("stride",),
        effect="Larger steps make the output smaller.",
    )  # fmt: skip
    padding = padding()
    data_format = choice("Order of dimensions.", "channels_last")

    def place(self, shape: Shape) -> Window:
        """Cells around an input of ``shape``, which may have leading dimensions."""
        strides = self.strides or self.pool_size
        return place_window(shape[-3:-1], self.pool_size, strides, self.padding)

    def output_shape(self, *shapes: Shape) -> Shape:
        """[rows, columns, channels]."""
        (shape,) = shapes
        self.require_rank(shape, "height", "width", "channels")
        return (*output_size(self, shape, self.pool_size, self.place(shape)), shape[2])

    def broken_rule(self, *shapes: Shape) -> str:
        """The window, where the input is a picture at all."""
        return "window" if len(shapes[0]) == 3 else "rank"

    def extra(self, window: Window) -> dict[str, bool]:
        """Attributes beyond the geometry."""
        del window
        return {}

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """One pooling instruction."""
        window = self.place(context.shape_of(inputs[0]))
        return context.emit(
            self.instruction,
            x=inputs[0],
            window_h=self.pool_size[0],
            window_w=self.pool_size[1],
            **window.attributes(),
            **self.extra(window),
        )


class MaxPooling2D(Pooling2D):
    """Takes the maximum of each window; padding is ignored."""

    words = ("pool", "maxpool", "max pool")
    followers = ("Conv2D", "Flatten", "Dropout", "GlobalAveragePooling2D")

    instruction = pool.MaxPool2D


class AveragePooling2D(Pooling2D):
    """Takes the mean of each window; padding is ignored."""

    words = ("avgpool", "average pool", "mean pool")
    followers = ("Conv2D", "Flatten", "Dropout")

    instruction = pool.AvgPool2D

    def extra(self, window: Window) -> dict[str, bool]:
        """Added cells leave the divisor, as in Keras."""
        return {"exclude": True} if window.padded else {}


class GlobalAveragePooling2D(Layer):
    """Takes the mean of each channel over the whole image."""

    category = "pooling"
    words = ("gap", "global pool", "global average")
    followers = ("Dense", "Dropout")

    data_format = choice("Order of dimensions.", "channels_last")
    keepdims = flag("Keep rows and columns, with length 1.")

    def output_shape(self, *shapes: Shape) -> Shape:
        """[channels], or [1,1,channels]."""
        (shape,) = shapes
        self.require_rank(shape, "height", "width", "channels")
        return (1, 1, shape[2]) if self.keepdims else (shape[2],)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """GLOBAL_AVGPOOL2D, and a RESHAPE to keep the dimensions."""
        if not self.keepdims:
            return context.emit(pool.GlobalAvgPool2D, x=inputs[0])
        mean = context.emit(pool.GlobalAvgPool2D, "mean", x=inputs[0])
        *lead, channels = context.shape_of(mean)
        return context.emit(move.Reshape, x=mean, shape=(BATCH, *lead, 1, 1, channels))
