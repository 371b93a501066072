"""Bringing order by hand: straight wires, common edges, even distances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from studio.session.document.cards.geometry import Box, box_of
from studio.session.document.cards.ports import input_place, output_place
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.places import move
from studio.session.document.flow import running_order
from studio.session.document.state import CanvasNode, DocumentState

Edge: TypeAlias = Literal["left", "right", "top", "bottom", "centre_x", "centre_y"]


def straighten(
    state: DocumentState,
    node_ids: Iterable[str],
    rows: Mapping[str, Sequence[int]] | None = None,
) -> DocumentState:
    """Make wires between things level, by moving what they lead to up or down.

    With one thing chosen, it moves to the height of what feeds it; of several, to the nearest.
    What would come to lie over another stays where it is: of two branches beside each other only
    one can be level.
    """
    chosen = [i for i in dict.fromkeys(node_ids) if i in state.nodes and state.nodes[i].flows]
    inside, size_of = set(chosen), sizes_in(state)
    for node_id in running_order(state.nodes):
        node = state.nodes[node_id]
        if node_id not in inside:
            continue
        ways = [
            output_place(state.nodes[port.node], size_of, port.output)[1]
            - input_place(node, _row(rows, node_id, slot), size_of)[1]
            for slot, port in enumerate(node.inputs)
            if port.node in inside or len(chosen) == 1
        ]
        if ways:
            dy = min(ways, key=abs)
            made = move(state, {node_id: (node.x, node.y + dy)})
            if _under(made, node_id) <= _under(state, node_id):
                state = made
    return state


def _row(rows: Mapping[str, Sequence[int]] | None, node_id: str, slot: int) -> int:
    """Which port from above an input is: the ports of a block may be open."""
    found = (rows or {}).get(node_id, ())
    return found[slot] if slot < len(found) else slot


def align(state: DocumentState, node_ids: Iterable[str], edge: Edge) -> DocumentState:
    """Bring things to a common edge or middle: that of the outermost, or of all together."""
    nodes = _chosen(state, node_ids)
    if len(nodes) < 2:
        return state
    size_of = sizes_in(state)
    boxes = [box_of(node, size_of) for node in nodes]
    places = {}
    for node, box in zip(nodes, boxes, strict=True):
        dx, dy = _offset(box, boxes, edge)
        places[node.id] = (node.x + dx, node.y + dy)
    return move(state, places)


def distribute(state: DocumentState, node_ids: Iterable[str]) -> DocumentState:
    """Make the spaces between things equal along the longer side; the outermost stay."""
    nodes = _chosen(state, node_ids)
    if len(nodes) < 3:
        return state
    size_of = sizes_in(state)
    boxes = {node.id: box_of(node, size_of) for node in nodes}
    width = max(b.right for b in boxes.values()) - min(b.x for b in boxes.values())
    height = max(b.bottom for b in boxes.values()) - min(b.y for b in boxes.values())
    along = 0 if width >= height else 1
    ordered = sorted(nodes, key=lambda n: (boxes[n.id][along], n.id))
    first, last = boxes[ordered[0].id], boxes[ordered[-1].id]
    room = last[along] - (first[along] + first[along + 2])
    space = (room - sum(boxes[n.id][along + 2] for n in ordered[1:-1])) / (len(ordered) - 1)
    at = first[along] + first[along + 2] + space
    places = {}
    for node in ordered[1:-1]:
        step = at - boxes[node.id][along]
        places[node.id] = (node.x + step, node.y) if along == 0 else (node.x, node.y + step)
        at += boxes[node.id][along + 2] + space
    return move(state, places)


def _under(state: DocumentState, node_id: str) -> set[str]:
    """The layers and dots that one of them overlaps."""
    size_of = sizes_in(state)
    own = box_of(state.nodes[node_id], size_of)
    others = (node for node in state.nodes.values() if node.flows and node.id != node_id)
    return {node.id for node in others if own.overlaps(box_of(node, size_of))}


def _chosen(state: DocumentState, node_ids: Iterable[str]) -> list[CanvasNode]:
    return [state.nodes[i] for i in dict.fromkeys(node_ids) if i in state.nodes]


def _offset(box: Box, boxes: Sequence[Box], edge: Edge) -> tuple[float, float]:
    left, right = min(b.x for b in boxes), max(b.right for b in boxes)
    top, bottom = min(b.y for b in boxes), max(b.bottom for b in boxes)
    steps = {
        "left": (left - box.x, 0.0),
        "right": (right - box.right, 0.0),
        "top": (0.0, top - box.y),
        "bottom": (0.0, bottom - box.bottom),
        "centre_x": ((left + right) / 2 - (box.x + box.width / 2), 0.0),
        "centre_y": (0.0, (top + bottom) / 2 - (box.y + box.height / 2)),
    }
    return steps[edge]
