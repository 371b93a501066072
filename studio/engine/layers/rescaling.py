"""A fixed factor and offset."""

from __future__ import annotations

from studio.engine.core.options import number
from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import arithmetic
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer


class Rescaling(Layer):
    """Multiplies by a fixed number and adds another: scale·x + offset."""

    category = "preprocessing"
    words = ("scale", "rescale", "normalize")
    followers = ("Conv2D", "Flatten", "Dense")
    positional = ("scale", "offset")

    scale = number("Factor.", start=1.0)
    offset = number("Number added afterwards.", 0.0)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """SCALE, and ADD_SCALAR where there is an offset."""
        port = "scaled" if self.offset else "output"
        y = context.emit(arithmetic.Scale, port, x=inputs[0], alpha=self.scale)
        return context.emit(arithmetic.AddScalar, x=y, beta=self.offset) if self.offset else y
