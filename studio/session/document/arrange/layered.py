"""Automatic layout of layers and dots: left to right, wrapped in rows, or top to bottom."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from studio.session.document.arrange.crossings import reduce_crossings
from studio.session.document.arrange.places_across import place_across
from studio.session.document.arrange.ranks import Spot, ranks_of, spots_in_ranks
from studio.session.document.arrange.wrapping import (
    BEND,
    NEIGHBOUR_GAP,
    RANK_GAP,
    ROW_GAP,
    Ranked,
    Room,
    column_widths,
    ranked,
    row_lengths,
    rows_of,
    size_in_rows,
    worth,
)
from studio.session.document.cards.geometry import (
    COLUMN,
    FRAME_MARGIN,
    GAP,
    Box,
    Size,
    SizeOf,
    bounds,
    box_of,
    node_size,
    united,
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

ALONG: dict[Direction, float] = {"right": RANK_GAP, "down": ROW_GAP}
"""Space between ranks: a wire, and to the right what is written on it."""
ACROSS: dict[Direction, float] = {"right": NEIGHBOUR_GAP, "down": 64.0}
"""Space between neighbours within a rank; downwards, wires turn there."""
ROW_WIDTH = 6 * COLUMN
"""Width after which layers without wires begin another row, where nothing is wider."""


_TRIED = 3
"""How many of the ways to break rows are drawn, those that look best by estimate."""
_DOWN = 0.95
"""Worth of a drawing from top to bottom beside one in rows of the same size: ports are at the
sides, so each wire goes around."""
_NARROW = 2
"""Where this many ranks or fewer have room side by side, top to bottom is tried as well."""


@dataclass(frozen=True)
class _Piece:
    """Nodes linked to each other, in running order."""

    ids: tuple[str, ...]
    inputs: Mapping[str, tuple[str, ...]]
    ranks: Mapping[str, int]


@dataclass(frozen=True)
class _Drawing:
    """What is laid out, with the sizes it has."""

    state: DocumentState
    pieces: tuple[_Piece, ...]
    sizes: Mapping[str, Size]


def layout(
    state: DocumentState,
    node_ids: Iterable[str] | None = None,
    *,
    direction: Direction = "right",
    pinned: Collection[str] = (),
    size_of: SizeOf = node_size,
    room: Room | None = None,
) -> DocumentState:
    """Arrange layers and dots in ranks along the wires.

    What lies above stays above where that costs no crossing. The upper left corner stays; frames
    go along with what is in them, and chosen notes with the layer they are nearest to.

    Args:
        state: what to change.
        node_ids: what to arrange; everything by default.
        direction: which way data runs, in a single line.
        pinned: things that stay where they are; the others are arranged around them.
        size_of: size of things on the canvas.
        room: what the drawing is to be seen in: of all directions, and lines wrapped in rows, it
            gets the one that is largest there.
    """
    chosen = set(state.nodes if node_ids is None else node_ids)
    flowing = {i for i in chosen if i in state.nodes and state.nodes[i].flows}
    places = arranged(state, flowing, direction, size_of, room)
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
    room: Room | None = None,
) -> DocumentState:
    """`layout` of what stands at a level: in a block, or at the top; blocks there are laid out
    like layers, and what is in them stays."""
    seen = level_state(state, level)

    sizes = sizes_in(state)

    def size_of(node: CanvasNode) -> Size:
        return sizes(state.nodes[node.id])

    made = layout(seen, node_ids, direction=direction, pinned=pinned, size_of=size_of, room=room)
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
    state: DocumentState,
    chosen: Collection[str],
    direction: Direction,
    size_of: SizeOf,
    room: Room | None = None,
) -> Places:
    """The places of nodes in a layout whose upper left corner is at 0, 0."""
    pieces = _pieces(state, chosen)
    linked = tuple(piece for piece in pieces if len(piece.ids) > 1)
    drawing = _Drawing(state, linked, {i: size_of(state.nodes[i]) for i in chosen})
    singles = [piece.ids[0] for piece in pieces if len(piece.ids) == 1]
    if room is not None:
        return _seen_largest(drawing, singles, room)
    if direction == "down":
        return _downwards(drawing, singles, ROW_WIDTH)
    return _in_rows(drawing, [(0,)] * len(linked), singles, ROW_WIDTH)


def _seen_largest(drawing: _Drawing, singles: Sequence[str], room: Room) -> Places:
    """Of a single line, lines wrapped in rows, and top to bottom, what is seen largest."""
    if not drawing.pieces:
        return _seen_largest_rows(drawing, singles, room)
    pieces = [
        ranked(piece.ranks, piece.inputs, {i: drawing.sizes[i] for i in piece.ids})
        for piece in drawing.pieces
    ]
    longest = max(len(piece.widths) for piece in pieces)
    ways = dict.fromkeys(
        tuple(rows_of(piece, length, tidy=tidy) for piece in pieces)
        for length in row_lengths(longest)
        for tidy in (True, False)
    )
    guessed = sorted(ways, key=lambda rows: _guess(pieces, rows, room), reverse=True)
    tried: list[tuple[float, Places]] = []
    for rows in guessed[:_TRIED]:
        widest = max(size_in_rows(p, r)[0] for p, r in zip(pieces, rows, strict=True))
        places = _in_rows(drawing, rows, singles, max(widest, ROW_WIDTH if len(rows) > 1 else 0.0))
        tried.append((worth(_zoom(drawing, places, room), pieces, rows), places))
    columns = max(len(column_widths(p.widths, r)) for p, r in zip(pieces, guessed[0], strict=True))
    if columns <= _NARROW:
        places = _downwards(drawing, singles, room.width)
        tried.append((_zoom(drawing, places, room) * _DOWN, places))
    return max(tried, key=lambda each: each[0])[1]


def _guess(
    pieces: Sequence[Ranked], rows: Sequence[Sequence[int]], room: Room
) -> tuple[float, int, float]:
    """What rows are worth by estimate; of equals, few long rows of the same length."""
    sizes = [size_in_rows(piece, starts) for piece, starts in zip(pieces, rows, strict=True)]
    width = max(size[0] for size in sizes)
    height = sum(size[1] for size in sizes) + 2 * GAP * (len(sizes) - 1)
    most = max(len(starts) for starts in rows)
    return round(worth(room.zoom(width, height), pieces, rows), 2), -most, -width


def _seen_largest_rows(drawing: _Drawing, singles: Sequence[str], room: Room) -> Places:
    """Layers without wires, in as many rows as the room suggests."""
    sizes = [drawing.sizes[i] for i in singles]
    if not sizes:
        return {}
    widest, deepest = max(w for w, _ in sizes) + GAP, max(h for _, h in sizes) + GAP
    best = max(
        range(1, len(sizes) + 1),
        key=lambda count: room.zoom(count * widest, -(-len(sizes) // count) * deepest),
    )
    return _rows_of_singles(drawing, singles, (0.0, 0.0), best * widest)


def _zoom(drawing: _Drawing, places: Places, room: Room) -> float:
    boxes = [
        box_of(replace(drawing.state.nodes[i], x=x, y=y), lambda node: drawing.sizes[node.id])
        for i, (x, y) in places.items()
    ]
    around = united(boxes)
    return 1.0 if around is None else room.zoom(around.width, around.height)


def _in_rows(
    drawing: _Drawing, rows: Sequence[Sequence[int]], singles: Sequence[str], width: float
) -> Places:
    """Linked nodes below each other, each piece in its rows, then those without wires."""
    found: Places = {}
    at = 0.0
    for piece, starts in zip(drawing.pieces, rows, strict=True):
        places, size = _wrapped(drawing, piece, starts)
        found |= {i: (x, y + at) for i, (x, y) in places.items()}
        at += size[1] + GAP * 2
        width = max(width, size[0])
    return found | _rows_of_singles(drawing, singles, (0.0, at), width)


def _downwards(drawing: _Drawing, singles: Sequence[str], width: float) -> Places:
    """Linked nodes beside each other, each piece from top to bottom, then those without wires."""
    found: Places = {}
    at = 0.0
    for piece in drawing.pieces:
        places, size = _piece_places(drawing, piece, "down")
        found |= {i: (x + at, y) for i, (x, y) in places.items()}
        at += size[0] + GAP * 2
        width = max(width, size[0])
    return found | _rows_of_singles(drawing, singles, (at, 0.0), width)


def _wrapped(drawing: _Drawing, piece: _Piece, starts: Sequence[int]) -> tuple[Places, Size]:
    """Places of linked nodes whose ranks run to the right, in rows that begin at ``starts``."""
    rows = [
        _row(piece, at, end)
        for at, end in zip(starts, (*starts[1:], math.inf), strict=True)
    ]  # fmt: skip
    widths = ranked(piece.ranks, piece.inputs, {i: drawing.sizes[i] for i in piece.ids}).widths
    columns = column_widths(widths, starts)
    places: Places = {}
    far, at = 0.0, 0.0
    for row in rows:
        made, size = _piece_places(drawing, row, "right", columns)
        places |= {i: (x, y + at) for i, (x, y) in made.items()}
        far = max(far, size[0])
        at += size[1] + ROW_GAP
    return places, (far, at - ROW_GAP)


def _row(piece: _Piece, first: int, end: float) -> _Piece:
    """The part of a piece that stands in one row; wires into other rows take no room in it."""
    ids = tuple(i for i in piece.ids if first <= piece.ranks[i] < end)
    inside = set(ids)
    return _Piece(
        ids,
        {i: tuple(s for s in piece.inputs[i] if s in inside) for i in ids},
        {i: piece.ranks[i] - first for i in ids},
    )


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
    made = []
    for part in parts:
        ids = tuple(sorted(part, key=place.__getitem__))
        made.append(_Piece(ids, {i: inputs[i] for i in ids}, ranks_of(ids, inputs)))
    return sorted(made, key=lambda p: (min(state.nodes[i].y for i in p.ids), place[p.ids[0]]))


def _piece_places(
    drawing: _Drawing, piece: _Piece, direction: Direction, columns: Sequence[float] = ()
) -> tuple[Places, Size]:
    """Places of linked nodes, and the size of the whole.

    Args:
        drawing: what they belong to.
        piece: the nodes.
        direction: which way their ranks follow each other.
        columns: how much room each rank has at least along it.
    """
    state, sizes = drawing.state, drawing.sizes
    across = 1 if direction == "right" else 0
    heights = {
        i: ((state.nodes[i].y if across else state.nodes[i].x), index)
        for index, i in enumerate(piece.ids)
    }
    rows = spots_in_ranks(piece.ids, piece.inputs, heights, piece.ranks)
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
    for rank, row in enumerate(rows):
        nodes = [spot for spot in row if not spot.is_bend]
        depth = max((sizes[s.key][1 - across] for s in nodes), default=0.0)
        depth = max(depth, columns[rank] if rank < len(columns) else 0.0)
        for spot in nodes:
            place = offsets[id(spot)] - first
            middle = at + (depth - sizes[spot.key][1 - across]) / 2
            x, y = (middle, place) if across else (place, middle)
            places[spot.key] = _corner_of(state, spot.key, x, y, sizes[spot.key])
            far = max(far, place + length(spot))
        at += depth + ALONG[direction]
    at -= ALONG[direction]
    return places, ((at, far) if across else (far, at))


def _corner_of(
    state: DocumentState, node_id: str, x: float, y: float, size: Size
) -> tuple[float, float]:
    """The place a node is kept at, given its upper left corner: a dot's is its middle."""
    if state.nodes[node_id].kind == "dot":
        return x + size[0] / 2, y + size[1] / 2
    return x, y


def _rows_of_singles(
    drawing: _Drawing, ids: Sequence[str], corner: tuple[float, float], width: float
) -> Places:
    """Layers without wires side by side, in rows of a width."""
    x, y, depth = *corner, 0.0
    places: Places = {}
    for node_id in ids:
        size = drawing.sizes[node_id]
        if x > corner[0] and x + size[0] > corner[0] + width:
            x, y, depth = corner[0], y + depth + GAP, 0.0
        places[node_id] = _corner_of(drawing.state, node_id, x, y, size)
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
