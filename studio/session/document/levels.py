"""Levels: the top of the document and the inside of each block, and where wires run among them.

Blocks are drawn only. What runs is flat: a wire into a block passes a dot that is its port, and
dots are left out of the network.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from studio.session.document.state import CanvasNode, DocumentState, PortSide, Wire

BLOCK_CARD = "(block)"
"""Type of a block where it is taken for a layer, as in the layout; no layer is called so."""
TOP = ""
"""The level that stands in no block."""


def members(state: DocumentState, level: str = TOP) -> tuple[CanvasNode, ...]:
    """What stands at a level, in the order of the document; of a block its own ports too."""
    return state.children.get(level, ())


def contents(state: DocumentState, level: str = TOP) -> tuple[CanvasNode, ...]:
    """What stands at a level, without the ports of the block around it."""
    return tuple(node for node in members(state, level) if not node.port)


def descendants(state: DocumentState, block: str) -> tuple[CanvasNode, ...]:
    """Everything in a block, also in blocks inside it; ports included."""
    found = []
    for node in members(state, block):
        found.append(node)
        if node.is_block:
            found += descendants(state, node.id)
    return tuple(found)


def blocks_around(state: DocumentState, node_id: str) -> tuple[str, ...]:
    """The blocks a thing stands in, the innermost first; none for what is at the top."""
    found: list[str] = []
    node = state.nodes.get(node_id)
    while node is not None and node.parent and node.parent not in found:
        found.append(node.parent)
        node = state.nodes.get(node.parent)
    return tuple(found)


def path_of(state: DocumentState, block: str) -> str:
    """The names of a block and those around it, outermost first: ``encoder/attention``."""
    ids = (block, *blocks_around(state, block))
    return "/".join(state.nodes[i].name for i in reversed(ids) if i in state.nodes)


def all_blocks(state: DocumentState) -> Iterator[CanvasNode]:
    """All blocks, in the order they were made."""
    return (node for node in state.nodes.values() if node.is_block)


def copies_of(state: DocumentState, block: str) -> tuple[str, ...]:
    """The ids of all linked copies of a block, itself included."""
    definition = state.node(block).definition
    if not definition:
        return (block,)
    return tuple(each.id for each in all_blocks(state) if each.definition == definition)


def ports_in(state: DocumentState, block: str) -> tuple[CanvasNode, ...]:
    """The inputs of a block from above down: dots that face outwards with their input."""
    return _ports(state, block, "in")


def ports_out(state: DocumentState, block: str) -> tuple[CanvasNode, ...]:
    """The outputs of a block from above down: dots that face outwards with their output."""
    return _ports(state, block, "out")


def level_of_input(state: DocumentState, node_id: str) -> str:
    """The level at which wires into a layer or dot run."""
    node = state.node(node_id)
    return _outside(state, node) if node.port == "in" else node.parent


def level_of_output(state: DocumentState, node_id: str) -> str:
    """The level at which wires out of a layer or dot run."""
    node = state.node(node_id)
    return _outside(state, node) if node.port == "out" else node.parent


def level_of_wire(state: DocumentState, wire: Wire) -> str:
    """The level at which a wire runs."""
    return level_of_output(state, wire.source)


def wires_at(state: DocumentState, level: str = TOP) -> Iterator[Wire]:
    """The wires that are drawn at a level."""
    return (wire for wire in state.wires() if level_of_wire(state, wire) == level)


def ends_of_wire(state: DocumentState, wire: Wire) -> tuple[str, str]:
    """What a wire leaves and enters as it is drawn: a layer or dot, or the block of a port."""
    return card_of_output(state, wire.source), card_of_input(state, wire.target)


def wires_of(state: DocumentState, chosen: Collection[str]) -> list[Wire]:
    """The wires of some layers, dots and ports; of a block those that end at its card."""
    return [w for w in state.wires() if not {*w[:2], *ends_of_wire(state, w)}.isdisjoint(chosen)]


def card_of_input(state: DocumentState, node_id: str) -> str:
    """What a wire into a layer or dot ends at as it is drawn: the block, where it is its port."""
    node = state.node(node_id)
    return node.parent if node.port == "in" else node.id


def card_of_output(state: DocumentState, node_id: str) -> str:
    """What a wire out of a layer or dot begins at as it is drawn."""
    node = state.node(node_id)
    return node.parent if node.port == "out" else node.id


def shown_at(state: DocumentState, node_id: str, level: str = TOP) -> str:
    """What shows a thing at a level: itself, the block it is in, or empty where it is outside."""
    at = node_id
    for parent in (*blocks_around(state, node_id), TOP):
        if parent == level:
            return at
        at = parent
    return ""


def _ports(state: DocumentState, block: str, side: PortSide) -> tuple[CanvasNode, ...]:
    found = [node for node in members(state, block) if node.port == side]
    return tuple(sorted(found, key=lambda node: node.y))


def _outside(state: DocumentState, port: CanvasNode) -> str:
    block = state.nodes.get(port.parent)
    return TOP if block is None else block.parent
