"""Activations as layers of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from studio.engine.core.errors import ShapeError
from studio.engine.core.options import integer, number, optional_number
from studio.engine.core.tensor import Ref, Shape, TensorType
from studio.engine.isa.ops import activation as act
from studio.engine.isa.ops import arithmetic, move
from studio.engine.layers.activation_catalog import activation
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer


class Activation(Layer):
    """Applies an activation function to each element (softmax: to each row)."""

    category = "activation"
    supports_masking = True
    words = ("act", "function")
    followers = ("Conv2D", "Dense", "MaxPooling2D", "Dropout")
    positional = ("activation",)

    activation = activation("Activation function.")

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """The function's instructions."""
        return context.activate(self.activation, inputs[0])


class ReLU(Layer):
    """Sets values below a threshold to 0; optionally with a leak and an upper limit."""

    category = "activation"
    supports_masking = True
    words = ("relu", "rectifier", "leaky relu")
    followers = ("Conv2D", "MaxPooling2D", "Dense", "Dropout", "BatchNormalization")
    positional = ("max_value", "negative_slope", "threshold")

    max_value = optional_number("Largest output; unlimited if not set.", low=0.0)
    negative_slope = number("Slope below the threshold.", 0.0, low=0.0, label="Slope below")
    threshold = number("Where the linear part begins.", 0.0, low=0.0)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """The plainest instruction that has the options used."""
        (x,) = inputs
        if self.threshold == 0.0 and self.negative_slope == 0.0:
            if self.max_value is None:
                return context.emit(act.Relu, x=x)
            return context.emit(act.ClippedRelu, x=x, ceiling=self.max_value)
        if self.threshold == 0.0 and self.max_value is None:
            return context.emit(act.LeakyRelu, x=x, alpha=self.negative_slope)
        return context.emit(
            act.ThresholdedRelu,
            x=x,
            slope=self.negative_slope,
            threshold=self.threshold,
            ceiling=math.inf if self.max_value is None else self.max_value,
        )


_MASKED = -1e9
"""What a masked element is taken for (Keras)."""


def _covers(mask: Sequence[object], shape: Sequence[object]) -> bool:
    """Whether a mask has as many dimensions, each of the same length or 1."""
    return len(mask) == len(shape) and all(
        own in (1, length) for own, length in zip(mask, shape, strict=True)
    )


class Softmax(Layer):
    """Turns numbers into probabilities that sum to 1 along one dimension.

    Of an input with a mask for each of its elements those that are masked get 0.
    """

    category = "activation"
    supports_masking = True
    words = ("shares", "probabilities")
    positional = ("axis",)

    axis = integer("The dimension that sums to 1, counted with the batch; -1 is the last.", -1)

    def output_shape(self, *shapes: Shape) -> Shape:
        """The shape of the input."""
        rank = len(shapes[0]) + 1
        if not 1 <= (self.axis if self.axis >= 0 else self.axis + rank) < rank:
            raise ShapeError(
                f"axis: expected a dimension after the batch, got {self.axis} for rank {rank}",
                who=self.who,
                hint="-1 is the last dimension",
            )
        return shapes[0]

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """The mask of the input, which has an entry for each element or is repeated to that."""
        (x,), (mask,) = types, masks
        if mask is not None and not _covers(mask.shape, x.shape):
            raise ShapeError(
                f"expected a mask for the elements of the input {x.shape}, got one of {mask.shape}",
                who=self.who,
                hint="use Activation('softmax'), which computes masked entries like all others",
            )
        return (mask,)

    def broken_rule(self, *shapes: Shape) -> str:
        """The dimension named."""
        del shapes
        return "axis"

    def ending(self, rank: int) -> str:
        """Softmax, unless another dimension than the last sums to 1."""
        return "softmax" if self.axis % rank == rank - 1 else "linear"

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """SOFTMAX, behind SELECT where there is a mask.

        It stands between two TRANSPOSE where the dimension is not the last.
        """
        x, (mask,) = inputs[0], context.masks
        if mask.present:
            lowest = context.constant("lowest", _MASKED)
            x = context.emit(arithmetic.Select, "kept", c=mask, a=x, b=lowest)
        rank = len(context.shape_of(x)) + 1
        axis = self.axis % rank
        if axis == rank - 1:
            return context.softmax(x)
        perm = [*range(rank)]
        perm[axis], perm[-1] = perm[-1], perm[axis]
        turned = context.emit(move.Transpose, "turned", x=x, perm=tuple(perm))
        shares = context.softmax(turned, "shares")
        return context.emit(move.Transpose, x=shares, perm=tuple(perm))
