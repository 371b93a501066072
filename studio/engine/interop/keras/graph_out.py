"""A layer graph as a Keras model: one layer for each layer, one call for each node.

The model is flat: models that were nested in another one are part of it here. Layers are in the
order in which Keras itself would put them, by which it counts and orders weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from studio.engine.interop.keras.description import KerasLayer, KerasModel, KerasTensor, KerasType
from studio.engine.interop.keras.layers_out import keras_form
from studio.engine.layers.graph import LayerGraph, Node, Port
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import Layer


def keras_from_graph(graph: LayerGraph) -> KerasModel:
    """The model that a network is in Keras, its layers with their names here.

    Layers that no output depends on are left out, as Keras does.

    Raises:
        FormatError: Keras has no such layer or option.
        GraphError, ShapeError: the network is not whole.
    """
    types = graph.reported_types()
    needed = _needed(graph)
    calls: dict[Layer, list[Node]] = {}
    place: dict[str, KerasTensor] = {}
    for node in graph.order():
        if node.id in needed:
            own = calls.setdefault(node.layer, [])
            place[node.id] = KerasTensor(node.layer.name, len(own))
            own.append(node)
    outputs: dict[str, list[KerasType]] = {}
    for port, found in types.items():
        shape = tuple(None if length < 0 else length for length in found.shape)
        outputs.setdefault(port.node, []).append(KerasType(shape, found.dtype.name))
    layers = []
    for layer in _in_keras_order(graph):
        form = keras_form(layer)
        layers.append(
            KerasLayer(
                form.class_name,
                layer.name,
                form.config,
                layer.trainable,
                layer.dtype if isinstance(layer, Input) else "float32",
                tuple(tuple(_tensor(place, p) for p in node.inputs) for node in calls[layer]),
                gives=tuple(tuple(outputs[node.id]) for node in calls[layer]),
            )
        )
    inputs = tuple(KerasTensor(node.layer.name) for node in graph.inputs)
    return KerasModel(
        graph.name, tuple(layers), inputs, tuple(_tensor(place, port) for port in graph.outputs)
    )


def _tensor(place: Mapping[str, KerasTensor], port: Port) -> KerasTensor:
    return place[port.node]._replace(output=port.output)


def _needed(graph: LayerGraph) -> set[str]:
    """Nodes that an output depends on, and every input."""
    waiting = [port.node for port in graph.outputs] + [node.id for node in graph.inputs]
    found: set[str] = set()
    while waiting:
        node_id = waiting.pop()
        if node_id not in found:
            found.add(node_id)
            waiting += [port.node for port in graph.node(node_id).inputs]
    return found


def _in_keras_order(graph: LayerGraph) -> list[Layer]:
    """Layers as Keras orders them whatever the order of a file.

    By the longest way to an output, the longest first; of the same length in the order in which a
    depth-first walk from the outputs first meets them (``keras.ops.function.map_graph``). An input
    that no output depends on stands at length 0, before all others there.
    """
    finished, met = _walked(graph)
    depth_of_node: dict[str, int] = {}
    depth_of_layer: dict[Layer, int] = {}
    for node in reversed(finished):
        # A layer that is shared stands at the greatest length of its uses met so far.
        depth = max(depth_of_node.get(node.id, 0), depth_of_layer.get(node.layer, 0))
        depth_of_node[node.id] = depth_of_layer[node.layer] = depth
        for port in node.inputs:
            depth_of_node[port.node] = max(depth + 1, depth_of_node.get(port.node, 0))
    for node in graph.inputs:
        if node.layer not in depth_of_layer:
            depth_of_layer[node.layer], met[node.layer] = 0, -1
    return sorted(depth_of_layer, key=lambda layer: (-depth_of_layer[layer], met[layer]))


def _walked(graph: LayerGraph) -> tuple[list[Node], dict[Layer, int]]:
    """Nodes in the order a depth-first walk from the outputs leaves them, and layers as met."""
    finished: list[Node] = []
    met: dict[Layer, int] = {}
    begun: set[str] = set()
    way: list[tuple[Node, Iterator[Port]]] = []

    def enter(node_id: str) -> None:
        if node_id in begun:
            return
        begun.add(node_id)
        node = graph.node(node_id)
        met.setdefault(node.layer, len(met))
        way.append((node, iter(node.inputs)))

    for output in graph.outputs:
        enter(output.node)
        while way:
            node, ports = way[-1]
            port = next(ports, None)
            if port is None:
                finished.append(node)
                way.pop()
            else:
                enter(port.node)
    return finished, met
