"""What runs: the drawing without dots and bypassed layers, as far as it leads to an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studio.engine.layers.graph import LayerGraph, Port, free_name
from studio.engine.layers.layer import Layer
from studio.session.document.flow import running_order
from studio.session.document.layer_types import is_input, new_layer
from studio.session.document.state import DocumentState


@dataclass(frozen=True)
class Resolved:
    """The network behind a drawing.

    Attributes:
        inputs: for each layer that does something, the layers that feed it.
        outputs: the network's outputs, marked or automatic; empty where that is undecided.
        ends: layers data arrives at that feed no other.
        fed: layers that data reaches.
        reached: layers the outputs depend on; without outputs, those that are fed.
    """

    inputs: Mapping[str, tuple[str, ...]]
    outputs: tuple[str, ...]
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
    """What the network's outputs are called, in their order, as the engine names them."""
    names: list[str] = []
    for node_id in resolve(state).outputs:
        names.append(free_name(state.nodes[node_id].name, names))
    return tuple(names)


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
    graph.outputs = tuple(Port(node_id) for node_id in resolved.outputs)
    return graph


def _resolve(state: DocumentState) -> Resolved:
    order = running_order(state.nodes)
    stands_for: dict[str, str | None] = {}
    inputs: dict[str, tuple[str, ...]] = {}
    fed: set[str] = set()
    followed: set[str] = set()
    for node_id in order:
        node = state.nodes[node_id]
        sources = [found for s in node.inputs if (found := stands_for.get(s)) is not None]
        if node.kind == "dot" or node.bypassed:
            first = node.inputs[:1]
            stands_for[node_id] = stands_for.get(first[0]) if first else None
            continue
        stands_for[node_id] = node_id
        inputs[node_id] = tuple(sources)
        followed.update(sources)
        if is_input(node) or any(source in fed for source in sources):
            fed.add(node_id)
    ends = tuple(
        i for i in inputs
        if i in fed and i not in followed and not is_input(state.nodes[i])
    )  # fmt: skip
    outputs = _outputs(state, stands_for, ends)
    reached = _behind(inputs, outputs) if outputs else frozenset(fed)
    ordered = {i: inputs[i] for i in state.nodes if i in inputs}
    return Resolved(ordered, outputs, ends, frozenset(fed), reached)


def _outputs(
    state: DocumentState, stands_for: Mapping[str, str | None], ends: tuple[str, ...]
) -> tuple[str, ...]:
    if not state.outputs:
        return ends if len(ends) == 1 else ()
    marked = (stands_for.get(i) for i in state.outputs)
    return tuple(dict.fromkeys(i for i in marked if i is not None))


def _behind(inputs: Mapping[str, tuple[str, ...]], outputs: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(outputs)
    while waiting:
        node_id = waiting.pop()
        if node_id not in found:
            found.add(node_id)
            waiting += inputs[node_id]
    return frozenset(found)
