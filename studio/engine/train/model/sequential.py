"""Networks whose layers follow one another."""

from __future__ import annotations

from collections.abc import Sequence

from studio.engine.core.errors import GraphError, ParameterError
from studio.engine.layers.inputs import Input as InputLayer
from studio.engine.layers.layer import Layer
from studio.engine.layers.symbol import Call, Symbol, graph_of
from studio.engine.train.model.model import Model


class Sequential(Model):
    """A model of layers, each fed by the one before; the first is `Input`.

    Args:
        layers: `Input(shape)` and the layers behind it.
        name: name of the model.
        backend: ``auto``, ``gl`` or ``cpu``.
        seed: of initial weights, order, dropout and augmentation.
    """

    def __init__(
        self,
        layers: Sequence[Layer | Symbol],
        name: str = "sequential",
        *,
        backend: str = "auto",
        seed: int = 0,
    ) -> None:
        if not layers:
            raise GraphError("a model needs layers", who=name)
        first = layers[0]
        start = first if isinstance(first, Symbol) else None
        if isinstance(first, InputLayer):
            start = Call(first).outputs[0]
        if start is None or start.inputs:
            raise GraphError("the first layer must be Input with the shape of one sample", who=name)
        at = start
        for layer in layers[1:]:
            if not isinstance(layer, Layer):
                raise ParameterError(f"expected a layer, got {str(layer)[:60]}", who=name)
            at = layer(at)
            if not isinstance(at, Symbol):
                raise GraphError(
                    f"the layer has {len(at)} outputs, and layers of a row have one",
                    who=layer.who,
                    hint="use Model with inputs and outputs",
                )
        self._begin(graph_of([start], [at], name), backend, seed)
