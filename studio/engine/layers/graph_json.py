"""Graphs to and from the plain data that project files hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from studio.engine.core.errors import GraphError, StudioError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Plain
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.layer import Layer, check_name

_MAX_LINKS = 1000


def graph_to_json(graph: LayerGraph) -> dict[str, Plain]:
    """``{"name", "nodes": [{"id", "type", "config", "inputs"}], "outputs"}``.

    A link is a node id, or ``[id, output]`` for an output other than 0. A further node of a shared
    layer has ``"shares": id of its first node`` in place of type and config.
    """
    first: dict[Layer, str] = {}
    nodes: list[Plain] = []
    for node in graph.nodes.values():
        owner = first.setdefault(node.layer, node.id)
        made: dict[str, Plain] = {"id": node.id}
        if owner == node.id:
            made |= {"type": type(node.layer).__name__, "config": node.layer.config()}
        else:
            made["shares"] = owner
        nodes.append({**made, "inputs": _links(node.inputs)})
    return {"name": graph.name, "nodes": nodes, "outputs": _links(graph.outputs)}


def graph_from_json(data: object) -> LayerGraph:
    """The graph `graph_to_json` described; links are checked by the graph's own ``check``.

    Raises:
        GraphError: the document is not of that form.
        ParameterError: an unknown layer, an unknown option or a wrong value.
    """
    fields = _object(data, "graph", {"name", "nodes", "outputs"})
    name = fields.get("name", "model")
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        raise GraphError("name must be text of 1 to 200 characters", who="graph")
    graph = LayerGraph(name)
    for position, entry in enumerate(_list(fields.get("nodes"), "nodes")):
        try:
            _add_node(graph, entry)
        except StudioError as error:
            error.origin = error.origin or f"node {position + 1}"
            raise
    graph.outputs = _ports(fields.get("outputs"), "outputs")
    return graph


def _add_node(graph: LayerGraph, entry: object) -> None:
    fields = _object(entry, "node", {"id", "type", "config", "inputs", "shares"})
    node_id = check_name(fields.get("id"), "node")
    ports = _ports(fields.get("inputs", ()), node_id)
    shares = fields.get("shares")
    if shares is None:
        config = _object(fields.get("config", {}), node_id)
        layer = layer_class(fields.get("type")).from_config(config)
    else:
        if not isinstance(shares, str) or {"type", "config"} & set(fields):
            raise GraphError("a node that shares a layer has no type or config", who=node_id)
        layer = graph.node(shares).layer
    graph.add(layer, *ports, node_id=node_id)


def _links(ports: Sequence[Port]) -> Plain:
    return [[p.node, p.output] if p.output else p.node for p in ports]


def _object(value: object, who: str, known: set[str] | None = None) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise GraphError(f"an object is expected: got {quoted(value)}", who=who)
    unknown = [] if known is None else [k for k in value if k not in known]
    if unknown and known is not None:
        raise GraphError(
            f"unknown field {quoted(unknown[0])}",
            who=who,
            hint=did_you_mean(unknown[0], known, f"known: {', '.join(sorted(known))}"),
        )
    return value


def _list(value: object, who: str) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise GraphError(f"a list is expected: got {quoted(value)}", who=who)
    return value


def _ports(value: object, who: str) -> tuple[Port, ...]:
    links = _list(value, who)
    if len(links) > _MAX_LINKS:
        raise GraphError(f"at most {_MAX_LINKS} links may stand here", who=who)
    ports = []
    for link in links:
        node, output = link if isinstance(link, list | tuple) and len(link) == 2 else (link, 0)
        if not isinstance(node, str) or isinstance(output, bool) or not isinstance(output, int):
            raise GraphError(
                f"a link is a node id, or [node id, output]: got {quoted(link)}", who=who
            )
        ports.append(Port(node, output))
    return tuple(ports)
