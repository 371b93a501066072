"""Blocks: things drawn as one, with ports where wires cross the border.

Blocks change the drawing only. Layers keep their ids, names and places in the order, so the
network, its random streams and its program stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from studio.engine.core.errors import GraphError, ParameterError
from studio.engine.layers.graph import Port, free_name
from studio.session.document.cards.geometry import (
    COLUMN,
    NODE_WIDTH,
    TITLE_HEIGHT,
    block_height,
    bounds,
    node_size,
)
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.edits.places import held, move_by
from studio.session.document.levels import (
    card_of_input,
    card_of_output,
    contents,
    descendants,
    members,
    ports_in,
    ports_out,
    wires_at,
)
from studio.session.document.naming import new_id
from studio.session.document.state import CanvasNode, DocumentState, PortSide, Wire

MAX_BLOCK_NAME = 60
PORT_ROOM = COLUMN - NODE_WIDTH
"""Space between the ports of a block and what is in it."""
PORT_GAP = 40.0
"""Distance between the ports of one side, inside the block."""


def group(state: DocumentState, node_ids: Iterable[str], name: str = "") -> DocumentState:
    """Make things of one level a block; wires across its border pass a port each.

    There is one input for each output outside that feeds something inside, and one output for each
    output inside that feeds something outside. What nothing follows gets an output too, so that it
    can be wired later. Ports are named after what is inside. Blocks among the things stay whole.
    The block stands in the middle of where the things were.

    Raises:
        GraphError: there is nothing to group, the things are of several levels, or a block of that
            name stands beside it.
        ParameterError: the name is none a block can have.
    """
    chosen = movable(state, node_ids)
    if not any(state.nodes[i].flows or state.nodes[i].is_block for i in chosen):
        raise GraphError("choose at least one layer", who="block")
    level = state.nodes[chosen[0]].parent
    block = CanvasNode(new_id(state, "block"), "block", parent=level)
    block = replace(block, text=_block_name(state, block, name))
    inside = set(chosen)
    within = [
        wire for wire in wires_at(state, level) if card_of_input(state, wire.target) in inside
    ]
    leaving = [
        wire for wire in wires_at(state, level)
        if card_of_output(state, wire.source) in inside
        and card_of_input(state, wire.target) not in inside
    ]  # fmt: skip
    entering = [w for w in within if card_of_output(state, w.source) not in inside]
    moved = [replace(state.nodes[i], parent=block.id) for i in chosen]
    made = state.with_nodes([block, *moved])
    made = _with_ports(made, block.id, "in", _by_source(state, entering))
    outwards = {**_by_source(state, leaving), **_ends(state, chosen)}
    made = _with_ports(made, block.id, "out", outwards)
    around = bounds(contents(made, block.id))
    made = sized(made, block.id)
    if around is None:
        return made
    width, height = node_size(made.nodes[block.id])
    x, y = around.x + (around.width - width) / 2, around.y + (around.height - height) / 2
    return made.with_nodes([replace(made.nodes[block.id], x=x, y=y)])


def ungroup(state: DocumentState, block_id: str) -> DocumentState:
    """Dissolve a block: what is in it stands where the block stood, and wires pass no port.

    Raises:
        GraphError: there is no such block.
    """
    block = checked_block(state, block_id)
    ports = {node.id for node in members(state, block_id) if node.port}
    inner = contents(state, block_id)
    around = bounds(inner)
    dx = dy = 0.0
    if around is not None:
        width, height = node_size(block)
        dx = block.x + width / 2 - (around.x + around.width / 2)
        dy = block.y + height / 2 - (around.y + around.height / 2)
        dx, dy = (0.0 if abs(step) < 0.5 else step for step in (dx, dy))
    made = without_ports(state, ports)
    freed = [replace(made.nodes[n.id], parent=block.parent) for n in inner]
    made = move_by(made.with_nodes(freed, [block_id]), [n.id for n in inner], dx, dy)
    taken: set[str] = {n.name for n in members(made, block.parent) if n.is_block}
    for node in inner:
        # A block that comes out may meet one of its name.
        if node.is_block and sum(n.name == node.name for n in members(made, block.parent)) > 1:
            renamed = replace(made.nodes[node.id], text=free_name(node.name, taken))
            taken.add(renamed.text)
            made = made.with_nodes([renamed])
    return made


def rename_block(state: DocumentState, node_id: str, name: str) -> DocumentState:
    """Give a block, or a port of a block, another name.

    Raises:
        GraphError: it is no block or port, or the name is taken beside it.
        ParameterError: the name is none a block can have.
    """
    node = state.node(node_id)
    if not (node.is_block or node.port):
        raise GraphError(f"a {node.kind} is neither a block nor a port", who=node.name)
    text = _block_name(state, node, name, exact=True)
    return state if text == node.text else state.with_nodes([replace(node, text=text)])


def free_block_name(state: DocumentState, block: CanvasNode) -> str:
    """The name of a block, or with the first free number, that no block beside it has."""
    beside = {n.name for n in members(state, block.parent) if n.is_block and n.id != block.id}
    return free_name(block.name, beside)


def checked_block(state: DocumentState, block_id: str) -> CanvasNode:
    """The block of an id; GraphError when it is none."""
    node = state.node(block_id)
    if not node.is_block:
        raise GraphError("it is not a block", who=node.name)
    return node


class Added(NamedTuple):
    """A state with a new port in it, and its id."""

    state: DocumentState
    id: str


def add_port(
    state: DocumentState, block_id: str, side: PortSide, name: str = "", link: Port | None = None
) -> Added:
    """Add an input or output to a block, below its others; open unless told what comes in.

    Raises:
        GraphError: there is no such block.
    """
    checked_block(state, block_id)
    beside = ports_in(state, block_id) if side == "in" else ports_out(state, block_id)
    x, y = _port_place(state, block_id, side)
    if beside:
        x, y = beside[-1].x, beside[-1].y + PORT_GAP
    made = CanvasNode(
        new_id(state, "port"), "dot", inputs=() if link is None else (link,), x=held(x), y=held(y),
        text=_free_port_name(state, block_id, side, name or side), parent=block_id, port=side,
    )  # fmt: skip
    return Added(sized(state.with_nodes([made]), block_id), made.id)


def move_port(state: DocumentState, port_id: str, position: int) -> DocumentState:
    """Put a port at a position among those on its side of the block, counted from above.

    Raises:
        GraphError: it is no port.
    """
    port = state.node(port_id)
    if not port.port:
        raise GraphError("it is not a port", who=port.name)
    found = ports_in(state, port.parent) if port.port == "in" else ports_out(state, port.parent)
    order = [each for each in found if each.id != port_id]
    order.insert(max(0, position), port)
    if tuple(order) == found:
        return state
    heights = [each.y for each in found]
    for index in range(1, len(heights)):
        heights[index] = max(heights[index], heights[index - 1] + 1.0)
    changed = [replace(each, y=y) for each, y in zip(order, heights, strict=True)]
    return state.with_nodes([each for each in changed if each != state.nodes[each.id]])


def sized(state: DocumentState, block_id: str) -> DocumentState:
    """A block as high as its ports need."""
    block = state.nodes.get(block_id)
    if block is None or not block.is_block:
        return state
    rows = max(len(ports_in(state, block_id)), len(ports_out(state, block_id)), 1)
    size = NODE_WIDTH, block_height(rows)
    if size == (block.width, block.height):
        return state
    return state.with_nodes([replace(block, width=size[0], height=size[1])])


def without_ports(state: DocumentState, ports: Iterable[str]) -> DocumentState:
    """Ports or other dots taken out of their wires, which run on; open ends go."""
    gone = set(ports)
    if not gone:
        return state

    def behind(link: Port) -> Port | None:
        while link.node in gone:
            inputs = state.nodes[link.node].inputs
            if not inputs:
                return None
            link = inputs[0]
        return link

    changed = []
    for node in state.nodes.values():
        if node.id not in gone and any(link.node in gone for link in node.inputs):
            links = tuple(found for link in node.inputs if (found := behind(link)) is not None)
            changed.append(replace(node, inputs=links))
    return state.with_nodes(changed, gone)


def movable(state: DocumentState, node_ids: Iterable[str]) -> list[str]:
    """The things among some that are in no block among them.

    Raises:
        GraphError: they stand at several levels.
    """
    known = [i for i in dict.fromkeys(node_ids) if i in state.nodes and not state.nodes[i].port]
    covered = {node.id for i in known if state.nodes[i].is_block for node in descendants(state, i)}
    chosen = [i for i in known if i not in covered]
    if len({state.nodes[i].parent for i in chosen}) > 1:
        raise GraphError(
            "the selected layers are in different blocks", who="block",
            hint="select layers that are in the same block",
        )  # fmt: skip
    return chosen


def _by_source(state: DocumentState, wires: Iterable[Wire]) -> Mapping[Port, list[Wire]]:
    """Wires by what they leave, those that end further up first."""
    found: dict[Port, list[Wire]] = {}
    for wire in sorted(wires, key=lambda w: (state.nodes[w.target].y, w.slot)):
        found.setdefault(wire.port, []).append(wire)
    return found


def _ends(state: DocumentState, chosen: Iterable[str]) -> Mapping[Port, list[Wire]]:
    """Outputs of things that nothing follows, each without wires; those further up first.

    Of a layer these are its marked outputs, or the first one. Dots that nothing feeds have none.
    """
    followed = {link.node for node in state.nodes.values() for link in node.inputs}
    found: list[Port] = []
    for node in (state.nodes[i] for i in chosen):
        for end in ports_out(state, node.id) if node.is_block else (node,):
            if not end.flows or end.id in followed or (end.kind == "dot" and not end.inputs):
                continue
            marked = [port for port in state.outputs if port.node == end.id]
            found += sorted(marked, key=lambda port: port.output) or [Port(end.id)]
    found.sort(key=lambda port: _height(state, port.node, 0, "out"))
    return {port: [] for port in found}


def _with_ports(
    state: DocumentState, block: str, side: PortSide, wires: Mapping[Port, list[Wire]]
) -> DocumentState:
    """Ports on one side of a block, each in the wires that leave one output."""
    x, lowest = _port_place(state, block, side)
    lowest -= PORT_GAP
    for link, together in wires.items():
        inner, slot = (link.node, 0) if side == "out" else together[0][1:3]
        lowest = max(lowest + PORT_GAP, _height(state, inner, slot, side))
        state, port_id = add_port(state, block, side, state.nodes[inner].name, link)
        state = state.with_nodes([replace(state.nodes[port_id], x=held(x), y=held(lowest))])
        for wire in together:
            target = state.nodes[wire.target]
            links = list(target.inputs)
            links[wire.slot] = Port(port_id)
            state = state.with_nodes([replace(target, inputs=tuple(links))])
    return state


def _port_place(state: DocumentState, block: str, side: PortSide) -> tuple[float, float]:
    """Where the first port on a side of a block stands: beside what is in it."""
    around = bounds(contents(state, block))
    if around is None:
        return (0.0 if side == "in" else COLUMN), 0.0
    x = around.x - PORT_ROOM if side == "in" else around.right + PORT_ROOM
    return x, around.y + TITLE_HEIGHT / 2


def _height(state: DocumentState, node_id: str, slot: int, side: PortSide) -> float:
    node = state.nodes[node_id]
    if node.port:
        return state.nodes[node.parent].y + TITLE_HEIGHT
    return output_place(node)[1] if side == "out" else input_place(node, slot)[1]


def _free_port_name(state: DocumentState, block: str, side: PortSide, stem: str) -> str:
    """The name, or with the first free number, that no port on that side of a block has."""
    taken = {node.text for node in members(state, block) if node.port == side}
    return free_name(stem, taken)


def _block_name(state: DocumentState, node: CanvasNode, name: str, *, exact: bool = False) -> str:
    """A name for a block or port: checked, and no other's beside it."""
    wanted = name.strip()
    beside = {
        other.name
        for other in members(state, node.parent)
        if other.id != node.id and (other.kind, other.port) == (node.kind, node.port)
    }
    if not wanted and not exact:
        return free_name("block", beside)
    if not 0 < len(wanted) <= MAX_BLOCK_NAME or not wanted.isprintable() or "/" in wanted:
        raise ParameterError(
            f"expected a name of 1 to {MAX_BLOCK_NAME} characters without a slash", who="name"
        )
    if wanted in beside:
        raise GraphError(
            f"the name {wanted!r} is taken", who=node.name,
            hint=f"free: {free_name(wanted, beside)}",
        )  # fmt: skip
    return wanted
