"""A fixed factor and offset."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.dtypes import DType
from studio.engine.core.options import number
from studio.engine.core.tensor import Ref, TensorType
from studio.engine.isa.ops import arithmetic, move
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer


class Rescaling(Layer):
    """Computes scale·x + offset with two fixed numbers.

    Integers are converted to float32 first.
    """

    category = "preprocessing"
    supports_masking = True
    words = ("scale", "rescale", "normalize")
    followers = ("Conv2D", "Flatten", "Dense")
    dtypes: ClassVar[tuple[DType, ...]] = (DType.float32, DType.int32, DType.uint8)
    positional = ("scale", "offset")

    scale = number("Factor.", start=1.0)
    offset = number("Number added afterwards.", 0.0)

    def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
        """The shape of the input, as float32."""
        return (types[0]._replace(dtype=DType.float32),)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """SCALE, and ADD_SCALAR where there is an offset; CAST in front for whole numbers."""
        (x,) = inputs
        if context.type_of(x).dtype is not DType.float32:
            x = context.emit(move.Cast, "float", x=x, dtype="float32")
        port = "scaled" if self.offset else "output"
        y = context.emit(arithmetic.Scale, port, x=x, alpha=self.scale)
        return context.emit(arithmetic.AddScalar, x=y, beta=self.offset) if self.offset else y
