"""The project's ``blocks`` section from a drawing, and blocks drawn from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.engine.core.errors import FormatError
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.train.project.blocks import Block, BlockPort
from studio.session.document.cards.geometry import bounds, node_size
from studio.session.document.edits.block_places import connect_levels, rerouted
from studio.session.document.edits.blocks import PORT_GAP, add_port, sized
from studio.session.document.edits.linked_copies import with_equal_copies
from studio.session.document.levels import (
    all_blocks,
    blocks_around,
    contents,
    path_of,
    ports_in,
    ports_out,
)
from studio.session.document.naming import new_id
from studio.session.document.state import CanvasNode, DocumentState, PortSide


def blocks_of(state: DocumentState, graph: LayerGraph) -> dict[str, Block]:
    """The blocks of a drawing, as far as their layers are in the graph that runs."""
    return {
        path_of(state, block.id): Block(
            "model" if block.model else "block",
            block.definition,
            tuple(n.id for n in contents(state, block.id) if n.id in graph.nodes),
            _ports(state, ports_in(state, block.id), graph),
            _ports(state, ports_out(state, block.id), graph),
        )
        for block in all_blocks(state)
    }


def with_blocks(state: DocumentState, blocks: Mapping[str, Block]) -> DocumentState:
    """A flat drawing with its layers in blocks; wires pass the ports that the blocks name.

    Raises:
        FormatError: a block stands in one that is not there.
    """
    if not blocks:
        return state
    ids: dict[str, str] = {}
    made = state
    for path in sorted(blocks, key=lambda each: each.count("/")):
        outer, _, name = path.rpartition("/")
        if outer and outer not in ids:
            raise FormatError("it stands in a block that is not there", who=path)
        block = CanvasNode(
            new_id(made, "block"), "block", text=name, parent=ids.get(outer, ""),
            definition=blocks[path].definition, model=blocks[path].kind == "model",
        )  # fmt: skip
        ids[path] = block.id
        inside = [
            replace(made.nodes[i], parent=block.id) for i in blocks[path].layers if i in made.nodes
        ]
        made = made.with_nodes([block, *inside])
    for path in sorted(ids, key=lambda each: -each.count("/")):
        made = _placed(made, ids[path])
    made = rerouted(state, made)
    for path, block_id in ids.items():
        made = _with_port_names(made, block_id, "in", blocks[path].inputs)
        made = _with_port_names(made, block_id, "out", blocks[path].outputs)
    return with_equal_copies(_with_open_ports_fed(made, ids, blocks))


def _ports(
    state: DocumentState, dots: Iterable[CanvasNode], graph: LayerGraph
) -> tuple[BlockPort, ...]:
    return tuple(BlockPort(dot.name, _source(state, dot, graph)) for dot in dots)


def _source(state: DocumentState, dot: CanvasNode, graph: LayerGraph) -> Port | None:
    """The output of a running layer that a port carries; None while it is open."""
    node = dot
    while node.inputs:
        port = node.inputs[0]
        node = state.nodes[port.node]
        if node.is_layer and not node.bypassed:
            return port if port.node in graph.nodes else None
    return None


def _placed(state: DocumentState, block_id: str) -> DocumentState:
    """A block in the middle of what is in it."""
    state = sized(state, block_id)
    around = bounds(contents(state, block_id))
    if around is None:
        return state
    block = state.nodes[block_id]
    width, height = node_size(block)
    x, y = around.x + (around.width - width) / 2, around.y + (around.height - height) / 2
    return state.with_nodes([replace(block, x=x, y=y)])


def _with_port_names(
    state: DocumentState, block_id: str, side: PortSide, wanted: tuple[BlockPort, ...]
) -> DocumentState:
    """The ports of a block named and ordered as the file says; those without a wire are added."""
    of_side = ports_in if side == "in" else ports_out
    found = {_behind(state, dot): dot for dot in of_side(state, block_id)}
    named: list[CanvasNode] = []
    for port in wanted:
        dot = found.pop(port.source, None)
        if dot is None:
            made = add_port(state, block_id, side, port.name)
            state, dot = made.state, made.state.nodes[made.id]
        named.append(replace(dot, text=port.name))
    taken = {dot.text for dot in named}
    for dot in found.values():
        text = dot.text
        while text in taken:
            text += "_"
        taken.add(text)
        named.append(replace(dot, text=text))
    top = min((dot.y for dot in named), default=0.0)
    placed = [replace(dot, y=top + index * PORT_GAP) for index, dot in enumerate(named)]
    return sized(state.with_nodes(placed), block_id)


def _with_open_ports_fed(
    state: DocumentState, ids: dict[str, str], blocks: Mapping[str, Block]
) -> DocumentState:
    """Ports fed with what they carry, where nothing behind them takes it.

    No wire was led through those. Outputs of what is inside come first, the innermost before
    those around them, so that each finds the ports it has to pass.
    """
    outputs = [(ids[path], port, False) for path in reversed(ids) for port in blocks[path].outputs]
    inputs = [(ids[path], port, True) for path in ids for port in blocks[path].inputs]
    for own_only in (True, False):
        for block, port, is_input in outputs if own_only else (*inputs, *outputs):
            source = port.source
            if source is None or source.node not in state.nodes:
                continue
            if own_only and block not in blocks_around(state, source.node):
                continue
            dots = ports_in(state, block) if is_input else ports_out(state, block)
            dot = next(each for each in dots if each.text == port.name)
            if not dot.inputs:
                state = connect_levels(state, source, dot.id, check_shapes=False)
    return state


def _behind(state: DocumentState, dot: CanvasNode) -> Port | None:
    """The output of a layer that a port carries."""
    while dot.inputs:
        port = dot.inputs[0]
        dot = state.nodes[port.node]
        if dot.is_layer:
            return port
    return None
