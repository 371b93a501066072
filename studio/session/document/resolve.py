"""What runs: the drawing without dots and bypassed layers, as far as it leads to an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studio.engine.layers.graph import LayerGraph, Port, port_names
from studio.engine.layers.layer import Layer
from studio.session.document.flow import running_order
from studio.session.document.layer_types import is_input, new_layer
from studio.session.document.state import DocumentState


@dataclass(frozen=True)
class Resolved:
    """The network behind a drawing.

    Attributes:
        inputs: for each layer that does something, the outputs of layers that feed it.
        outputs: the network's outputs, marked or automatic; empty where that is undecided.
        ends: layers data arrives at that feed no other.
        fed: layers that data reaches.
        reached: layers the outputs depend on; without outputs, those that are fed.
    """

    inputs: Mapping[str, tuple[Port, ...]]
    outputs: tuple[Port, ...]
    ends: tuple[str, ...]
    fed: frozenset[str]
    reached: frozenset[str]


def resolve(state: DocumentState) -> Resolved:
    """The network behind a drawing; worked out once for each state."""
    found = state.__dict__.get("_resolved")
    if isinstance(found, Resolved):
        return found
    made = _resolve(state)
    state.__dict__["_resolved"] = made
    return made


def output_names(state: DocumentState) -> tuple[str, ...]:
    """A name for each output of the network, as the engine calls them."""
    return port_names((state.nodes[p.node].name, p.output) for p in resolve(state).outputs)


def layer_graph(state: DocumentState) -> LayerGraph:
    """What runs, as layers of its own that the engine may keep."""
    resolved = resolve(state)
    graph = LayerGraph(state.graph_name)
    layers: dict[str, Layer] = {}
    for node in state.layers():
        if node.id not in resolved.inputs or (resolved.outputs and node.id not in resolved.reached):
            continue
        owner = node.shares or node.id
        if owner not in layers:
            layers[owner] = new_layer(node.type_name, node.config)
        graph.add(layers[owner], *resolved.inputs[node.id], node_id=node.id)
    graph.outputs = resolved.outputs
    return graph


def _resolve(state: DocumentState) -> Resolved:
    order = running_order(state.nodes)
    passes: dict[str, Port | None] = {}
    inputs: dict[str, tuple[Port, ...]] = {}
    fed: set[str] = set()
    followed: set[str] = set()
    for node_id in order:
        node = state.nodes[node_id]
        given = [found for s in node.inputs if (found := _origin(passes, s)) is not None]
        if node.kind == "dot" or node.bypassed:
            first = node.inputs[:1]
            passes[node_id] = _origin(passes, first[0]) if first else None
            continue
        inputs[node_id] = tuple(given)
        followed.update(port.node for port in given)
        if is_input(node) or any(port.node in fed for port in given):
            fed.add(node_id)
    ends = tuple(
        i for i in inputs
        if i in fed and i not in followed and not is_input(state.nodes[i])
    )  # fmt: skip
    outputs = _outputs(state, passes, inputs, ends)
    reached = _behind(inputs, outputs) if outputs else frozenset(fed)
    ordered = {i: inputs[i] for i in state.nodes if i in inputs}
    return Resolved(ordered, outputs, ends, frozenset(fed), reached)


def _origin(passes: Mapping[str, Port | None], port: Port) -> Port | None:
    """The output of a layer that does something behind a wire; None where nothing comes."""
    return passes.get(port.node, port)


def _outputs(
    state: DocumentState,
    passes: Mapping[str, Port | None],
    inputs: Mapping[str, tuple[Port, ...]],
    ends: tuple[str, ...],
) -> tuple[Port, ...]:
    if not state.outputs:
        return (Port(ends[0]),) if len(ends) == 1 else ()
    marked = (_origin(passes, port) for port in state.outputs)
    return tuple(dict.fromkeys(p for p in marked if p is not None and p.node in inputs))


def _behind(inputs: Mapping[str, tuple[Port, ...]], outputs: tuple[Port, ...]) -> frozenset[str]:
    found: set[str] = set()
    waiting = [port.node for port in outputs]
    while waiting:
        node_id = waiting.pop()
        if node_id not in found:
            found.add(node_id)
            waiting += [port.node for port in inputs[node_id]]
    return frozenset(found)
