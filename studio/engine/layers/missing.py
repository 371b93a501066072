"""What stands on the canvas for a layer of a plugin that is not loaded."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError
from studio.engine.core.stand_ins import StandIn
from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import Layer


class MissingLayer(StandIn, Layer, abstract=True):
    """A layer that keeps its options and its links, and cannot be computed."""

    category = "missing"
    arity: ClassVar[tuple[int, int | None]] = (0, None)
    dtypes: ClassVar[tuple[DType, ...]] = tuple(DType)

    def __init__(self, *, name: str = "", trainable: bool = True, **given: object) -> None:
        Layer.__init__(self, name=name, trainable=trainable, **given)

    def output_shape(self, *shapes: Shape) -> NoReturn:
        """ParameterError: only the plugin knows."""
        del shapes
        raise ParameterError(
            f"this layer comes from {self.home}, which is not loaded",
            who=self.who,
            hint="install it and turn it on; until then the layer is kept unchanged",
        )
