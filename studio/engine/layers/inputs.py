"""Where data enters a network."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError
from studio.engine.core.options import choice, open_integers
from studio.engine.core.tensor import MAX_RANK, OpenShape, Ref, Shape, TensorType
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import Layer, shape_text
from studio.engine.layers.lengths import tried_shapes

MAX_ELEMENTS = 2**31 - 1
"""Largest number of elements of one sample anywhere in a network."""


class Input(Layer):
    """The network's input, with the shape of one sample.

    A dimension may be None: a length that is known only when the network is lowered. Its rules give
    types with a number in place of it, the first of `tried_shapes`.
    """

    category = "core"
    words = ("in", "data", "images", "source")
    followers = ("Conv2D", "Flatten", "Dense", "Rescaling")
    follows = ("",)
    order = 0
    arity: ClassVar[tuple[int, int | None]] = (0, 0)
    positional = ("shape",)

    shape = open_integers(
        "Shape of one sample, without the batch: height, width, channels.", low=1,
        start=[28, 28, 1],
        effect="None stands for a length that may be any; a training takes that of its data.",
    )  # fmt: skip
    dtype = choice(
        "Element type of the samples; int32 for whole numbers such as the indices of words.",
        "float32", "int32", on_card=False,
    )  # fmt: skip

    def __init__(
        self, *args: object, name: str = "", trainable: bool = True, **given: object
    ) -> None:
        super().__init__(*args, name=name, trainable=trainable, **given)
        if len(self.shape) >= MAX_RANK:
            raise ParameterError(
                f"shape: expected at most {MAX_RANK - 1} dimensions, got {shape_text(self.shape)}",
                who=self.who,
            )

    @property
    def has_unknown_lengths(self) -> bool:
        """Whether a dimension is None."""
        return None in self.shape

    def of_shape(self, shape: OpenShape) -> Input:
        """The same input, name included, for another shape."""
        return Input(shape, name=self.name, trainable=self.trainable, dtype=self.dtype)

    def output_shape(self, *shapes: Shape) -> Shape:
        """The stated shape, a number in place of each unknown length."""
        del shapes
        return tried_shapes(self.shape)[0]

    def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
        """The stated shape and dtype, a number in place of each unknown length."""
        del types
        return (TensorType.of_batch(self.output_shape(), DType.parse(self.dtype)),)

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """The tensor the program feeds; there is nothing to compute."""
        del context
        return inputs[0]
