"""One level of the document as the canvas shows it: blocks are cards, and wires end at these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from studio.engine.layers.graph import Port
from studio.session.document.levels import (
    BLOCK_CARD,
    TOP,
    all_blocks,
    descendants,
    ports_in,
    ports_out,
    shown_at,
)
from studio.session.document.report import NodeCondition, Report
from studio.session.document.state import CanvasNode, DocumentState

_WORST: tuple[NodeCondition, ...] = ("error", "warning", "waiting", "unreached", "ok")


def has_blocks(state: DocumentState) -> bool:
    """Whether there is any block."""
    return any(all_blocks(state))


def drawn_at(state: DocumentState, level: str = TOP) -> Mapping[str, object]:
    """Ids of what is drawn at a level, in the order of the document.

    Besides what stands there, these are the ports of the blocks there: each lies at the edge of its
    block's card.
    """
    if not has_blocks(state):
        return state.nodes
    found: dict[str, None] = {}
    for node in state.children.get(level, ()):
        found[node.id] = None
        if node.is_block:
            ports = (*ports_in(state, node.id), *ports_out(state, node.id))
            found.update(dict.fromkeys(port.id for port in ports))
    return found


def level_state(state: DocumentState, level: str = TOP) -> DocumentState:
    """What stands at a level as a drawing of its own, with blocks as layers.

    Layout, arrow keys and minimap work on it: the wires of a block's ports are those of the block.
    Where data leaves a block and comes back to it, a wire that closes the loop is left out. Without
    blocks it is the state itself.
    """
    if not has_blocks(state):
        return state
    found: dict[str, DocumentState] = state.__dict__.setdefault("_level_states", {})
    if level not in found:
        made = {node.id: _alone(state, node, level) for node in state.children.get(level, ())}
        found[level] = replace(state, nodes=MappingProxyType(_without_loops(made)), outputs=())
    return found[level]


def _without_loops(nodes: Mapping[str, CanvasNode]) -> Mapping[str, CanvasNode]:
    """The nodes, with no more wires than can run in one order; the same ones without a loop."""
    done: dict[str, CanvasNode] = {}
    waiting = dict(nodes)
    while waiting:
        ready = [n for n in waiting.values() if not any(s.node in waiting for s in n.inputs)]
        if not ready:
            begun = (n for n in waiting.values() if any(s.node in done for s in n.inputs))
            stuck = next(begun, None) or next(iter(waiting.values()))
            kept = tuple(s for s in stuck.inputs if s.node in done)
            ready = [replace(stuck, inputs=kept)]
        for node in ready:
            done[node.id] = node
            del waiting[node.id]
    return {node_id: done[node_id] for node_id in nodes}


def with_places(state: DocumentState, seen: DocumentState, made: DocumentState) -> DocumentState:
    """A state with the places and sizes that a drawing of one level was given.

    Args:
        state: what to change.
        seen: one level of it, as `level_state` gives it.
        made: the same after an edit of places.
    """
    changed = [
        replace(state.nodes[i], x=node.x, y=node.y, width=node.width, height=node.height)
        for i, node in made.nodes.items()
        if node is not seen.nodes[i]
    ]
    return state.with_nodes(changed) if changed else state


def input_rows(state: DocumentState, seen: DocumentState) -> Mapping[str, Sequence[int]]:
    """Of each block of a level, at which of its ports, from above, the inputs of its card end."""
    return {
        node.id: [row for row, port in enumerate(ports_in(state, node.id)) for _ in port.inputs]
        for node in seen.nodes.values()
        if node.type_name == BLOCK_CARD
    }


def layers_inside(state: DocumentState, block: str) -> tuple[str, ...]:
    """Ids of the layers in a block, those in blocks inside it too."""
    return tuple(node.id for node in descendants(state, block) if node.is_layer)


def worst_of(report: Report, layers: Iterable[str]) -> NodeCondition:
    """The worst condition among layers; ok without any."""
    found = {report.status(node_id).state for node_id in layers}
    return next((each for each in _WORST if each in found), "ok")


def _alone(state: DocumentState, node: CanvasNode, level: str) -> CanvasNode:
    """A thing that is fed only by what is drawn at its level."""
    sources = node.inputs
    if node.is_block:
        sources = tuple(s for port in ports_in(state, node.id) for s in port.inputs)
    elif node.port == "in":
        sources = ()
    shown = tuple(_shown_port(state, port, i)
                  for port in sources if (i := shown_at(state, port.node, level)))  # fmt: skip
    made = replace(node, inputs=shown)
    return replace(made, kind="layer", type_name=BLOCK_CARD) if node.is_block else made


def _shown_port(state: DocumentState, port: Port, card: str) -> Port:
    """An output as one of the card it is drawn at; those of a block are counted from above."""
    if card == port.node:
        return port
    outs = [dot.id for dot in ports_out(state, card)]
    return Port(card, outs.index(port.node) if port.node in outs else 0)
