"""Automatic layout of layers and dots, left to right or top to bottom."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from studio.session.document.arrange.crossings import reduce_crossings
from studio.session.document.arrange.places_across import place_across
from studio.session.document.arrange.ranks import Spot, spots_in_ranks
from studio.session.document.cards.geometry import (
    COLUMN,
    FRAME_MARGIN,
    GAP,
    NODE_WIDTH,
    Box,
    Size,
    SizeOf,
    bounds,
    box_of,
    node_size,
)
from studio.session.document.cards.ports import port_offset
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.blocks import PORT_GAP
from studio.session.document.edits.comments import TITLE_ROOM, inside_frame, resize
from studio.session.document.edits.places import move
from studio.session.document.flow import running_order
from studio.session.document.level_view import level_state, with_places
from studio.session.document.levels import TOP, ports_in, ports_out
from studio.session.document.state import CanvasNode, DocumentState

Direction: TypeAlias = Literal["right", "down"]
Places: TypeAlias = dict[str, tuple[float, float]]

ALONG: dict[Direction, float] = {"right": COLUMN - NODE_WIDTH, "down": 48.0}
"""Space between ranks: a wire, and to the right what is written on it."""
ACROSS: dict[Direction, float] = {"right": 32.0, "down": 40.0}
"""Space between neighbours within a rank."""
BEND = 12.0
ROW_WIDTH = 6 * COLUMN
"""Width after which layers without wires begin another row, where nothing is wider."""


@dataclass(frozen=True)
class _Piece:
    """Nodes linked to each other, in running order."""

    ids: tuple[str, ...]
    inputs: Mapping[str, tuple[str, ...]]


def layout(
    state: DocumentState,
    node_ids: Iterable[str] | None = None,
    *,
    direction: Direction = "right",
    pinned: Collection[str] = (),
    size_of: SizeOf = node_size,
) -> DocumentState:
    """Arrange layers and dots in ranks along the wires.

    What lies above stays above where that costs no crossing. The upper left corner stays; frames
    go along with what is in them, and chosen notes with the layer they are nearest to.

    Args:
        state: what to change.
        node_ids: what to arrange; everything by default.
        direction: which way data runs.
        pinned: things that stay where they are; the others are arranged around them.
        size_of: size of things on the canvas.
    """
    chosen = set(state.nodes if node_ids is None else node_ids)
    flowing = {i for i in chosen if i in state.nodes and state.nodes[i].flows}
    places = arranged(state, flowing, direction, size_of)
    if not places:
        return state
    places = _anchored(state, places, flowing & set(pinned), size_of)
    framed = {
        node.id: inside_frame(state, node.id)
        for node in state.nodes.values()
        if node.kind == "frame"
    }
    notes = {i for i in chosen - set(pinned) if i in state.nodes and state.nodes[i].kind == "note"}
    after = move(state, places | _beside(state, notes, places, size_of))
    for frame_id, members in framed.items():
        if members and set(members) & flowing:
            after = _framed(after, frame_id, members, size_of)
    return after


def layout_level(
    state: DocumentState,
    level: str = TOP,
    node_ids: Iterable[str] | None = None,
    *,
    direction: Direction = "right",
    pinned: Collection[str] = (),
) -> DocumentState:
    """`layout` of what stands at a level: in a block, or at the top; blocks there are laid out
    like layers, and what is in them stays."""
    seen = level_state(state, level)

    sizes = sizes_in(state)

    def size_of(node: CanvasNode) -> Size:
        return sizes(state.nodes[node.id])

    made = layout(seen, node_ids, direction=direction, pinned=pinned, size_of=size_of)
    return _with_ports_in_order(state, with_places(state, seen, made), level)


def _with_ports_in_order(before: DocumentState, after: DocumentState, level: str) -> DocumentState:
    """Ports of a block in line at their side and in the order they had: it is what they mean."""
    changed = []
    for dots, outermost in ((ports_in(before, level), min), (ports_out(before, level), max)):
        moved = [after.nodes[dot.id] for dot in dots]
        if moved == list(dots):
            continue
        x = outermost(dot.x for dot in moved)
        heights = sorted(dot.y for dot in moved)
        for above, below in zip(range(len(heights)), range(1, len(heights)), strict=False):
            heights[below] = max(heights[below], heights[above] + PORT_GAP)
        changed += [replace(dot, x=x, y=y) for dot, y in zip(moved, heights, strict=True)]
    return after.with_nodes(changed) if changed else after


def place_missing(state: DocumentState, missing: Collection[str]) -> DocumentState:
    """Give places to layers that have none: below the others, or everything if none has one."""
    placed = bounds((n for n in state.nodes.values() if n.id not in missing), node_size)
    places = arranged(state, set(missing), "right", node_size)
    top = 0.0 if placed is None else placed.bottom + GAP
    left = 0.0 if placed is None else placed.x
    return move(state, {i: (x + left, y + top) for i, (x, y) in places.items()})


def arranged(
    state: DocumentState, chosen: Collection[str], direction: Direction, size_of: SizeOf
) -> Places:
    """The places of nodes in a layout whose upper left corner is at 0, 0."""
    pieces = _pieces(state, chosen)
    found: Places = {}
    at = 0.0
    width = ROW_WIDTH
    for piece in pieces:
        if len(piece.ids) > 1:
            places, size = _piece_places(state, piece, direction, size_of)
            shift = (0.0, at) if direction == "right" else (at, 0.0)
            found |= {i: (x + shift[0], y + shift[1]) for i, (x, y) in places.items()}
            at += size[1 if direction == "right" else 0] + GAP * 2
            width = max(width, size[0])
    singles = [piece.ids[0] for piece in pieces if len(piece.ids) == 1]
    corner = (0.0, at) if direction == "right" else (at, 0.0)
    return found | _rows_of_singles(state, singles, corner, width, size_of)


def _pieces(state: DocumentState, chosen: Collection[str]) -> list[_Piece]:
    """The chosen nodes by connection, those that lie further up first."""
    order = [i for i in running_order(state.nodes) if i in chosen]
    inputs = {
        i: tuple(dict.fromkeys(s for s in state.nodes[i].sources if s in chosen)) for i in order
    }
    piece_of: dict[str, list[str]] = {}
    for node_id in order:
        joined = [node_id]
        for other in {id(piece_of[s]): piece_of[s] for s in inputs[node_id]}.values():
            joined = other + joined
        for member in joined:
            piece_of[member] = joined
    parts = {id(part): part for part in piece_of.values()}.values()
    place = {node_id: index for index, node_id in enumerate(order)}
    made = [
        _Piece(ids := tuple(sorted(part, key=place.__getitem__)), {i: inputs[i] for i in ids})
        for part in parts
    ]
    return sorted(made, key=lambda p: (min(state.nodes[i].y for i in p.ids), place[p.ids[0]]))


def _piece_places(
    state: DocumentState, piece: _Piece, direction: Direction, size_of: SizeOf
) -> tuple[Places, Size]:
    """Places of linked nodes, and the size of the whole."""
    across = 1 if direction == "right" else 0
    sizes = {i: size_of(state.nodes[i]) for i in piece.ids}
    heights = {
        i: ((state.nodes[i].y if across else state.nodes[i].x), index)
        for index, i in enumerate(piece.ids)
    }
    rows = spots_in_ranks(piece.ids, piece.inputs, heights)
    reduce_crossings(rows)

    def length(spot: Spot) -> float:
        return BEND if spot.is_bend else sizes[spot.key][across]

    def port(spot: Spot) -> float:
        if spot.is_bend or not across:
            return length(spot) / 2
        node = state.nodes[spot.key]
        return length(spot) / 2 if node.kind == "dot" else port_offset(node)

    offsets = place_across(rows, length, ACROSS[direction], port)
    first = min(offsets[id(s)] for row in rows for s in row if not s.is_bend)
    places: Places = {}
    at, far = 0.0, 0.0
    for row in rows:
        nodes = [spot for spot in row if not spot.is_bend]
        depth = max((sizes[s.key][1 - across] for s in nodes), default=0.0)
        for spot in nodes:
            place = offsets[id(spot)] - first
            middle = at + (depth - sizes[spot.key][1 - across]) / 2
            x, y = (middle, place) if across else (place, middle)
            places[spot.key] = _corner_of(state, spot.key, x, y, sizes[spot.key])
            far = max(far, place + length(spot))
        at += depth + ALONG[direction]
    return places, ((at, far) if across else (far, at))


def _corner_of(
    state: DocumentState, node_id: str, x: float, y: float, size: Size
) -> tuple[float, float]:
    """The place a node is kept at, given its upper left corner: a dot's is its middle."""
    if state.nodes[node_id].kind == "dot":
        return x + size[0] / 2, y + size[1] / 2
    return x, y


def _rows_of_singles(
    state: DocumentState,
    ids: Sequence[str],
    corner: tuple[float, float],
    width: float,
    size_of: SizeOf,
) -> Places:
    """Layers without wires side by side, in rows of a width."""
    x, y, depth = *corner, 0.0
    places: Places = {}
    for node_id in ids:
        size = size_of(state.nodes[node_id])
        if x > corner[0] and x + size[0] > corner[0] + width:
            x, y, depth = corner[0], y + depth + GAP, 0.0
        places[node_id] = _corner_of(state, node_id, x, y, size)
        x, depth = x + size[0] + GAP, max(depth, size[1])
    return places


def _anchored(
    state: DocumentState, places: Places, pinned: Collection[str], size_of: SizeOf
) -> Places:
    """The layout moved to where the nodes are; around pinned ones where there are any."""
    if pinned:
        dx = sum(state.nodes[i].x - places[i][0] for i in pinned) / len(pinned)
        dy = sum(state.nodes[i].y - places[i][1] for i in pinned) / len(pinned)
        moved = {i: (round(x + dx), round(y + dy)) for i, (x, y) in places.items()}
        fixed = [box_of(state.nodes[i], size_of) for i in pinned]
        return {
            i: _clear_of(Box(*place, *size_of(state.nodes[i])), fixed)
            for i, place in moved.items()
            if i not in pinned
        }
    before = bounds((state.nodes[i] for i in places), size_of)
    arranged_nodes = move(state, places).nodes
    after = bounds((arranged_nodes[i] for i in places), size_of)
    if before is None or after is None:
        return places
    dx, dy = before.x - after.x, before.y - after.y
    return {i: (round(x + dx), round(y + dy)) for i, (x, y) in places.items()}


def _beside(
    state: DocumentState, notes: Collection[str], places: Places, size_of: SizeOf
) -> Places:
    """Where notes are beside the layers they belong to, which are those nearest to them."""
    boxes = {i: box_of(state.nodes[i], size_of) for i in places}
    found: Places = {}
    for note_id in notes if places else ():
        note = state.nodes[note_id]
        box = box_of(note, size_of)
        near = min(places, key=lambda i: _distance(box, boxes[i]))
        dx, dy = places[near][0] - boxes[near].x, places[near][1] - boxes[near].y
        found[note_id] = (note.x + dx, note.y + dy)
    return found


def _distance(one: Box, other: Box) -> float:
    across = max(one.x - other.right, other.x - one.right, 0.0)
    down = max(one.y - other.bottom, other.y - one.bottom, 0.0)
    return math.hypot(across, down)


def _clear_of(box: Box, fixed: Sequence[Box]) -> tuple[float, float]:
    """A place below pinned things for what would lie on one."""
    for other in sorted(fixed, key=lambda each: each.y):
        if box.overlaps(other, GAP / 2):
            box = box._replace(y=other.bottom + GAP)
    return box.x, box.y


def _framed(
    state: DocumentState, frame_id: str, members: Sequence[str], size_of: SizeOf
) -> DocumentState:
    """A frame around what was in it before."""
    around = bounds((state.nodes[i] for i in members), size_of)
    if around is None:
        return state
    box = around.grown(FRAME_MARGIN)
    state = move(state, {frame_id: (box.x, box.y - TITLE_ROOM)})
    return resize(state, frame_id, box.width, box.height + TITLE_ROOM)
