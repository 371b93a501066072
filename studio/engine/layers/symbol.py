"""Outputs of layers before there are numbers: what layers are called on in Python."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from itertools import zip_longest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GraphError
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.layers.graph import LayerGraph, Port, checked_masks, checked_types
from studio.engine.layers.inputs import Input as InputLayer
from studio.engine.layers.layer import Layer

_CREATED = itertools.count()


class Call:
    """One use of a layer: the layer, what feeds it, and the types of its outputs.

    Raises ShapeError or GraphError where the inputs do not fit.

    Attributes:
        layer: the layer used; used at several places it is shared, parameters included.
        inputs: what feeds it.
        outputs: one symbol for each output of the layer.
        created: place in the order of all calls.
    """

    __slots__ = ("created", "inputs", "layer", "outputs")

    def __init__(self, layer: Layer, inputs: Sequence[Symbol] = ()) -> None:
        given = [each.type for each in inputs]
        types = checked_types(layer, *given)
        masks = checked_masks(layer, given, [each.mask for each in inputs])
        if not layer.supports_masking and any(each.mask for each in inputs):
            # As Keras does: masks end with a warning, not with an error.
            warnings.warn(
                f"[{layer.who}] does not support masking: the mask of its input ends here",
                stacklevel=4,
            )
        self.layer = layer
        self.inputs = tuple(inputs)
        self.outputs = tuple(
            Symbol(self, index, found, mask)
            for index, (found, mask) in enumerate(zip_longest(types, masks[: len(types)]))
        )
        self.created = next(_CREATED)


class Symbol:
    """One output of one use of a layer.

    Attributes:
        call: the use of the layer.
        output: which of the layer's outputs it is, counted from 0.
        type: shape with the batch, and dtype.
        mask: type of the mask beside the value; None without one.
    """

    __slots__ = ("call", "mask", "output", "type")

    def __init__(
        self, call: Call, output: int, type_: TensorType, mask: TensorType | None = None
    ) -> None:
        self.call = call
        self.output = output
        self.type = type_
        self.mask = mask

    @property
    def layer(self) -> Layer:
        """The layer whose output it is."""
        return self.call.layer

    @property
    def inputs(self) -> tuple[Symbol, ...]:
        """What feeds the layer."""
        return self.call.inputs

    @property
    def shape(self) -> Shape:
        """Shape without the batch."""
        return self.type.sample

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    def through(self, layer: Layer, inputs: Sequence[Symbol]) -> Symbol | list[Symbol]:
        """The output of ``layer`` fed by ``inputs``, or a list of its outputs if it has several.

        ShapeError where the inputs do not fit.
        """
        outputs = Call(layer, inputs).outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def __repr__(self) -> str:
        dtype = "" if self.dtype is DType.float32 else self.dtype.name
        which = f"output {self.output}" if len(self.call.outputs) > 1 else "output"
        shape = ", ".join(["N", *(str(d) for d in self.shape)])
        return f"<{which} {dtype}[{shape}] of {self.layer.who}>"


def input_symbol(shape: Sequence[int], name: str = "", *, dtype: str = "float32") -> Symbol:
    """Where samples of a shape (without the batch) and a dtype enter a network."""
    return Call(InputLayer(tuple(shape), name=name, dtype=dtype)).outputs[0]


def graph_of(inputs: Sequence[Symbol], outputs: Sequence[Symbol], name: str) -> LayerGraph:
    """The graph between inputs and outputs, nodes in the order they were made.

    Raises:
        GraphError: an output depends on an input that was not named, or on none.
    """
    graph = LayerGraph(name)
    nodes: dict[Call, str] = {}

    def port(symbol: Symbol) -> Port:
        return Port(nodes[symbol.call], symbol.output)

    for symbol in inputs:
        nodes[symbol.call] = graph.add(symbol.layer).node
    for call in _reached(outputs):
        if call in nodes:
            continue
        if not call.inputs:
            raise GraphError(
                f"the outputs depend on {call.layer.who!r}, which is not among the inputs",
                who=name,
                hint="name it as an input of the model",
            )
        nodes[call] = graph.add(call.layer, *map(port, call.inputs)).node
    graph.outputs = tuple(map(port, outputs))
    graph.check()
    return graph


def replay(graph: LayerGraph, inputs: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """A whole graph used as one layer: its layers, shared, fed by other inputs."""
    entries = graph.inputs
    if len(entries) != len(inputs):
        raise GraphError(f"expected {len(entries)} inputs, got {len(inputs)}", who=graph.name)
    types = graph.types()
    found: dict[Port, Symbol] = {}
    for node, symbol in zip(entries, inputs, strict=True):
        wanted = types[Port(node.id)]
        if wanted != symbol.type:
            raise GraphError(f"expected an input {wanted}, got {symbol.type}", who=graph.name)
        found[Port(node.id)] = symbol
    for node in graph.order():
        if Port(node.id) not in found:
            call = Call(node.layer, [found[port] for port in node.inputs])
            found.update((Port(node.id, made.output), made) for made in call.outputs)
    return tuple(found[port] for port in graph.outputs)


def _reached(outputs: Sequence[Symbol]) -> list[Call]:
    """Everything the outputs depend on, in order of creation."""
    found: set[Call] = set()
    waiting = [symbol.call for symbol in outputs]
    while waiting:
        call = waiting.pop()
        if call not in found:
            found.add(call)
            waiting.extend(symbol.call for symbol in call.inputs)
    return sorted(found, key=lambda call: call.created)
