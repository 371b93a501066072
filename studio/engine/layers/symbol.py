"""Outputs of layers before there are numbers: what layers are called on in Python."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from studio.engine.core.errors import GraphError
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input as InputLayer
from studio.engine.layers.layer import Layer

_CREATED = itertools.count()


class Symbol:
    """One use of a layer: the layer, what feeds it, and the shape of its output.

    Attributes:
        layer: the layer used; used at several places it is shared, parameters included.
        inputs: what feeds it.
        shape: shape of the output without the batch.
    """

    __slots__ = ("created", "inputs", "layer", "shape")

    def __init__(self, layer: Layer, inputs: Sequence[Symbol] = ()) -> None:
        shapes = tuple(each.shape for each in inputs)
        layer.check_inputs(*shapes)
        self.layer = layer
        self.inputs = tuple(inputs)
        self.shape: Shape = layer.output_shape(*shapes)
        self.created = next(_CREATED)

    def through(self, layer: Layer, inputs: Sequence[Symbol]) -> Symbol:
        """The output of ``layer`` fed by ``inputs``; ShapeError where they do not fit."""
        return Symbol(layer, inputs)

    def __repr__(self) -> str:
        shape = ", ".join(["N", *(str(d) for d in self.shape)])
        return f"<output [{shape}] of {self.layer.who}>"


def input_symbol(shape: Sequence[int], name: str = "") -> Symbol:
    """Where samples of a shape (without the batch) enter a network."""
    return Symbol(InputLayer(tuple(shape), name=name))


def graph_of(inputs: Sequence[Symbol], outputs: Sequence[Symbol], name: str) -> LayerGraph:
    """The graph between inputs and outputs, nodes in the order they were made.

    Raises:
        GraphError: an output depends on an input that was not named, or on none.
    """
    graph = LayerGraph(name)
    ports: dict[Symbol, Port] = {}
    for symbol in inputs:
        ports[symbol] = graph.add(symbol.layer)
    for symbol in _reached(outputs):
        if symbol in ports:
            continue
        if not symbol.inputs:
            raise GraphError(
                f"the outputs depend on {symbol.layer.who!r}, which is not among the inputs",
                who=name,
                hint="name it as an input of the model",
            )
        ports[symbol] = graph.add(symbol.layer, *(ports[each] for each in symbol.inputs))
    graph.outputs = tuple(ports[symbol] for symbol in outputs)
    graph.check()
    return graph


def replay(graph: LayerGraph, inputs: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """A whole graph used as one layer: its layers, shared, fed by other inputs."""
    entries = graph.inputs
    if len(entries) != len(inputs):
        raise GraphError(f"expected {len(entries)} inputs, got {len(inputs)}", who=graph.name)
    found: dict[str, Symbol] = {}
    for node, symbol in zip(entries, inputs, strict=True):
        if graph.shapes()[node.id] != symbol.shape:
            raise GraphError(
                f"expected an input {list(graph.shapes()[node.id])}, got {list(symbol.shape)}",
                who=graph.name,
            )
        found[node.id] = symbol
    for node in graph.order():
        if node.id not in found:
            found[node.id] = Symbol(node.layer, [found[port.node] for port in node.inputs])
    return tuple(found[port.node] for port in graph.outputs)


def _reached(outputs: Sequence[Symbol]) -> list[Symbol]:
    """Everything the outputs depend on, in order of creation."""
    found: set[Symbol] = set()
    waiting = list(outputs)
    while waiting:
        symbol = waiting.pop()
        if symbol not in found:
            found.add(symbol)
            waiting.extend(symbol.inputs)
    return sorted(found, key=lambda symbol: symbol.created)
