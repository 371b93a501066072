"""A network's parameters by name, and their values in Keras' order and layout or as stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, quoted
from studio.engine.core.philox import stream_of
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Layer, Parameter
from studio.engine.layers.weights import public_shape, to_public, to_stored

Array: TypeAlias = npt.NDArray[np.generic]
Weights: TypeAlias = dict[str, Array]


class NamedParameter(NamedTuple):
    """One parameter or running statistic.

    Attributes:
        name: ``<layer>/<role>``, as tensors and files call it.
        layer: owns it.
        parameter: shape as stored, initialiser and kind.
        stream: random stream its initialiser draws from.
    """

    name: str
    layer: Layer
    parameter: Parameter
    stream: int

    @property
    def public_shape(self) -> Shape:
        """Shape in Keras' layout."""
        return public_shape(self.layer, self.parameter)


def named_parameters(graph: LayerGraph) -> list[NamedParameter]:
    """Layer by layer in running order; of each in Keras' order, running statistics last."""
    types = graph.types()
    found: list[NamedParameter] = []
    seen: set[Layer] = set()
    for node in graph.order():
        if node.layer in seen:
            continue
        seen.add(node.layer)
        own = node.layer.parameters(*(types[port].sample for port in node.inputs))
        found += [
            NamedParameter(
                f"{node.layer.name}/{p.role}", node.layer, p, stream_of(f"{node.id}/{p.role}")
            )
            for p in node.layer.in_public_order(own)
        ]
    return found


def public_weights(graph: LayerGraph, stored: Mapping[str, Array]) -> Weights:
    """Weights in Keras' layout (dense kernels [inputs, units]) and order."""
    return {
        each.name: to_public(each.layer, each.parameter, stored[each.name])
        for each in named_parameters(graph)
    }


def stored_weights(graph: LayerGraph, public: Mapping[str, Array], who: str) -> Weights:
    """Weights as stored, from Keras' layout.

    Raises:
        CheckpointError: a weight is missing, or belongs to no layer.
        ShapeError: a weight has another shape.
    """
    wanted = named_parameters(graph)
    names = {each.name for each in wanted}
    missing = next((each.name for each in wanted if each.name not in public), None)
    extra = next((name for name in public if name not in names), None)
    if missing is not None or extra is not None:
        found = (
            f"there is nothing for {quoted(missing)}"
            if missing
            else f"{quoted(extra)} fits no layer"
        )
        raise CheckpointError(found, who=who, hint="it was made for another network")
    return {each.name: to_stored(each.layer, each.parameter, public[each.name]) for each in wanted}


def weights_from_list(graph: LayerGraph, arrays: Sequence[Array], who: str) -> Weights:
    """Weights as stored, from a list in Keras' order and layout; CheckpointError otherwise."""
    wanted = named_parameters(graph)
    if len(arrays) != len(wanted):
        raise CheckpointError(f"expected {len(wanted)} arrays, got {len(arrays)}", who=who)
    named = {each.name: np.asarray(a) for each, a in zip(wanted, arrays, strict=True)}
    return stored_weights(graph, named, who)
