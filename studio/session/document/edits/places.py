"""Edits of places: move, nudge, and make room for layers that grew over others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.engine.train.project.project import MAX_COORDINATE
from studio.session.document.cards.geometry import FRAME_MARGIN, GAP, GRID, Box, box_of, united
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.comments import inside_frame, resize
from studio.session.document.levels import members
from studio.session.document.state import CanvasNode, DocumentState


def move(state: DocumentState, places: Mapping[str, tuple[float, float]]) -> DocumentState:
    """Put things at places; ids that are gone are skipped."""
    changed = []
    for node_id, (x, y) in places.items():
        node = state.nodes.get(node_id)
        if node is not None and (node.x, node.y) != (x, y):
            changed.append(replace(node, x=held(x), y=held(y)))
    return state.with_nodes(changed) if changed else state


def move_by(state: DocumentState, node_ids: Iterable[str], dx: float, dy: float) -> DocumentState:
    """Shift things by a distance."""
    found = (state.nodes[i] for i in node_ids if i in state.nodes)
    return move(state, {node.id: (node.x + dx, node.y + dy) for node in found})


def held(coordinate: float) -> float:
    """Within what a project file may hold."""
    return min(max(float(coordinate), -MAX_COORDINATE), MAX_COORDINATE)


def settled(before: DocumentState, after: DocumentState) -> DocumentState:
    """A state with room for layers that grew, and frames around all that was in them."""
    if before.nodes is after.nodes:
        return after
    return frames_around(before, room_beside(before, room_below(before, after)))


def room_below(before: DocumentState, after: DocumentState) -> DocumentState:
    """Move down what lies under layers that became higher, together with all beside it.

    Rows stay rows; what lay over a layer before still may.
    """
    old, new = sizes_in(before), sizes_in(after)
    for node_id in sorted(_grown(before, after), key=lambda i: before.nodes[i].y):
        own, was = box_of(after.nodes[node_id], new), box_of(before.nodes[node_id], old)
        hit = [
            node.y
            for node in members(after, after.nodes[node_id].parent)
            if _is_solid(node)
            and node.id in before.nodes
            and box_of(before.nodes[node.id], old).y >= was.bottom
            and box_of(node, new).overlaps(own, GAP / 3)
        ]
        if hit:
            top = min(hit)
            step = math.ceil((own.bottom + GAP - top) / GRID) * GRID
            level = after.nodes[node_id].parent
            below = [n.id for n in members(after, level) if n.id != node_id and n.y >= top]
            after = move_by(after, below, 0.0, step)
    return after


def room_beside(before: DocumentState, after: DocumentState) -> DocumentState:
    """Move to the right what lies beside layers that became wider, with all behind it in its row.

    What stands in rows above and below stays, as far as it does not lie beside what is moved.
    """
    old, new = sizes_in(before), sizes_in(after)
    for node_id in sorted(_grown(before, after, side=0), key=lambda i: before.nodes[i].x):
        own, was = box_of(after.nodes[node_id], new), box_of(before.nodes[node_id], old)
        beside = [
            node
            for node in members(after, after.nodes[node_id].parent)
            if node.id != node_id
            and (_is_solid(node) or node.kind == "dot")
            and box_of(node, new).x >= was.right
            and box_of(node, new).y < own.bottom
            and own.y < box_of(node, new).bottom
        ]
        nearest = min((box_of(node, new).x for node in beside), default=math.inf)
        if nearest < own.right + GAP / 3:
            step = math.ceil((own.right + GAP - nearest) / GRID) * GRID
            after = move_by(after, [node.id for node in beside], step, 0.0)
    return after


def frames_around(
    before: DocumentState, after: DocumentState, *, may_leave: bool = False
) -> DocumentState:
    """Make frames larger where what was in them does not fit in any more.

    Args:
        before: the state that says what is in a frame.
        after: the state to change.
        may_leave: what was moved until its middle is outside is in the frame no longer.
    """
    frames = [node for node in before.nodes.values() if node.kind == "frame"]
    size_of = sizes_in(after)
    for frame in sorted(frames, key=lambda node: node.width * node.height):
        now = after.nodes.get(frame.id)
        if now is None or box_of(now) != box_of(frame):
            continue
        box = box_of(now)
        for member in inside_frame(before, frame.id):
            node = after.nodes.get(member)
            if node is None or node is before.nodes[member]:
                continue
            own = box_of(node, size_of)
            if not box.contains(own) and not (may_leave and not _holds_middle(box_of(now), own)):
                box = united([box, own.grown(FRAME_MARGIN)]) or box
        if box != box_of(now):
            after = move(after, {frame.id: (box.x, box.y)})
            after = resize(after, frame.id, box.width, box.height)
    return after


def _grown(before: DocumentState, after: DocumentState, side: int = 1) -> list[str]:
    """Layers that stand where they stood and are higher, or wider for ``side`` 0."""
    old, new = sizes_in(before), sizes_in(after)
    return [
        node.id
        for node in after.nodes.values()
        if _is_solid(node)
        and (was := before.nodes.get(node.id)) is not None
        and was is not node
        and (was.x, was.y) == (node.x, node.y)
        and old(was)[side] < new(node)[side]
    ]


def _is_solid(node: CanvasNode) -> bool:
    return node.kind in ("layer", "note", "block")


def _holds_middle(outer: Box, inner: Box) -> bool:
    x, y = inner.x + inner.width / 2, inner.y + inner.height / 2
    return outer.x <= x <= outer.right and outer.y <= y <= outer.bottom
