"""Where masks begin."""

from __future__ import annotations

from collections.abc import Sequence

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.options import number
from studio.engine.core.tensor import BATCH, Ref, Shape, TensorType
from studio.engine.isa.ops import arithmetic, function, move, reduce
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer, shape_text


class Masking(Layer):
    """Masks positions whose features all have one value, and sets them to 0.

    Losses, and layers that support masking, leave masked positions out.
    """

    category = "sequence"
    supports_masking = True
    words = ("mask",)
    followers = ("Dense", "Dropout")
    positional = ("mask_value",)

    mask_value = number("Features of a masked position.", 0.0)

    def output_shape(self, *shapes: Shape) -> Shape:
        """The shape of the input."""
        (shape,) = shapes
        if not shape:
            raise ShapeError(
                f"expected an input [..., features], got {shape_text(shape)}", who=self.who
            )
        return shape

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """The input's shape without the features; a mask of the input is replaced."""
        del masks
        return (TensorType.of_batch(types[0].sample[:-1], DType.bool),)

    def lower_masks(self, context: LayerContext, *inputs: Ref) -> tuple[Ref, ...]:
        """Whether the largest distance of a feature from the value is not 0."""
        (x,) = inputs
        axis = len(context.shape_of(x))
        if self.mask_value:
            x = context.emit(arithmetic.AddScalar, "shifted", x=x, beta=-self.mask_value)
        distances = context.emit(function.Abs, "distances", x=x)
        farthest = context.emit(reduce.ReduceMax, "farthest", x=distances, axes=(axis,))
        return (context.emit(move.Cast, "mask", x=farthest, dtype="bool"),)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """SELECT, which passes the gradient on where a position counts."""
        (mask,) = context.output_masks
        shape = (BATCH, *context.shape_of(mask), 1)
        counts = context.emit(move.Reshape, "counts", x=mask, shape=shape)
        zero = context.constant("zero", 0.0)
        return context.emit(arithmetic.Select, c=counts, a=inputs[0], b=zero)
