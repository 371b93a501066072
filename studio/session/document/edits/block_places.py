"""Moving things into blocks and out of them: wires across borders are led through ports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import Port
from studio.session.document.cards.geometry import (
    COLUMN,
    GAP,
    Box,
    bounds,
    box_of,
    free_corner,
    united,
)
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.blocks import (
    add_port,
    checked_block,
    movable,
    sized,
    without_ports,
)
from studio.session.document.edits.linked_copies import sync_copies
from studio.session.document.edits.places import move_by
from studio.session.document.edits.wires import connect
from studio.session.document.errors import LossInCopies
from studio.session.document.levels import (
    TOP,
    all_blocks,
    blocks_around,
    contents,
    copies_of,
    descendants,
    level_of_input,
    level_of_output,
    members,
    shown_at,
)
from studio.session.document.state import CanvasNode, DocumentState, PortSide, Wire, as_port

NEAR = 2 * COLUMN
"""How far things may lie from what is in a block to keep their place when they go in."""


def move_to_level(state: DocumentState, node_ids: Iterable[str], level: str) -> DocumentState:
    """Let things of one level stand in a block, or at the top; their wires are kept.

    A wire that crosses a border passes a port, an existing one where it carries the same. Ports
    that lose their last wire go. The things keep their places, aside of what stands there.

    Raises:
        GraphError: the block is one of the things or in one, a copy of it is, or they are of
            several levels.
        LossInCopies: the layers that correspond to them in linked copies would go.
    """
    if level:
        checked_block(state, level)
    chosen = movable(state, node_ids)
    chosen = [i for i in chosen if state.nodes[i].parent != level]
    if not chosen:
        return state
    check_recursion(state, level, [state.nodes[i] for i in chosen])
    moved = [replace(state.nodes[i], parent=level) for i in chosen]
    made = state.with_nodes(_with_free_names(state, level, moved))
    made = _aside(state, rerouted(state, made), chosen, level)
    _check_copies(state, made, chosen[0])
    return made


def move_out(state: DocumentState, node_ids: Iterable[str]) -> DocumentState:
    """Let things stand one level further out; see `move_to_level`."""
    chosen = movable(state, node_ids)
    if not chosen or not state.nodes[chosen[0]].parent:
        raise GraphError("they stand in no block", who="block")
    return move_to_level(state, chosen, state.nodes[state.nodes[chosen[0]].parent].parent)


def _check_copies(before: DocumentState, after: DocumentState, moved: str) -> None:
    """LossInCopies where what leaves a linked copy would go from the others, and be nowhere."""
    followed = sync_copies(before, after)
    lost = [node.name for node in before.layers() if node.id not in followed.nodes]
    if not lost:
        return
    around = blocks_around(after, moved)
    left = [i for i in blocks_around(before, moved) if i not in around]
    linked = [i for i in left if len(copies_of(before, i)) > 1]
    block = before.nodes[(linked or left)[0]]
    count = len(copies_of(before, block.id)) - 1
    them = "another linked copy" if count == 1 else f"{count} other linked copies"
    named = " and ".join(lost) if len(lost) < 3 else f"{len(lost)} layers"
    raise LossInCopies(
        f"moving it out of the block {block.name} would remove {named} from {them}",
        block=block, who=before.nodes[moved].name,
    )  # fmt: skip


def connect_levels(
    state: DocumentState,
    source: Port | str,
    target: str,
    slot: int | None = None,
    *,
    replacing: bool = False,
    check_shapes: bool = True,
) -> DocumentState:
    """Draw a wire as `edits.wires.connect` does, between levels through ports."""
    port = as_port(source)
    made, ends = state, (state.node(port.node), state.node(target))
    if (
        all(end.flows for end in ends)
        and source != target
        and (level_of_output(state, ends[0].id) != level_of_input(state, target))
    ):
        made, port = _led_to(state, port, target)
    return connect(made, port, target, slot, replacing=replacing, check_shapes=check_shapes)


def rerouted(before: DocumentState, after: DocumentState) -> DocumentState:
    """A state in which things changed level, its wires led through the ports they need now."""
    while wrong := [w.target for w in _crossing(after) if after.nodes[w.target].port]:
        after = without_ports(after, wrong)
    for wire in list(_crossing(after)):
        after, port = _led_to(after, after.nodes[wire.target].inputs[wire.slot], wire.target)
        target = after.nodes[wire.target]
        links = list(target.inputs)
        links[wire.slot] = port
        after = after.with_nodes([replace(target, inputs=tuple(links))])
    while unused := [
        node.id
        for node in after.nodes.values()
        if node.port and before.wires_from(node.id) and not after.wires_from(node.id)
    ]:
        after = without_ports(after, unused)
    for block in list(all_blocks(after)):
        after = sized(after, block.id)
    return after


def check_recursion(
    state: DocumentState,
    level: str,
    nodes: Iterable[CanvasNode],
    copied: Iterable[CanvasNode] | None = None,
) -> None:
    """GraphError where blocks would stand in themselves or in a linked copy of themselves.

    Of nodes that are not in the document, ``copied`` are all that come with them.
    """
    if not level:
        return
    around = (level, *blocks_around(state, level))
    definitions = {state.nodes[i].definition for i in around} - {""}
    for node in nodes:
        if not node.is_block:
            continue
        if copied is None and node.id in around:
            raise GraphError("a block cannot stand in itself", who=node.name)
        within = descendants(state, node.id) if copied is None else copied
        inside = {node.definition, *(each.definition for each in within)}
        if inside & definitions:
            raise GraphError(
                "a block cannot stand in a linked copy of itself", who=node.name,
                hint="make one of them unique first",
            )  # fmt: skip


def _crossing(state: DocumentState) -> list[Wire]:
    """Wires whose ends are at different levels."""
    return [
        wire
        for wire in state.wires()
        if level_of_output(state, wire.source) != level_of_input(state, wire.target)
    ]


def _led_to(state: DocumentState, port: Port, target: str) -> tuple[DocumentState, Port]:
    """What an output is at the level of a target's inputs; ports are added where there are none."""
    level = level_of_input(state, target)
    around = (level, *blocks_around(state, level)) if level else ()
    while state.nodes[port.node].port and state.nodes[port.node].inputs:
        dot = state.nodes[port.node]
        if (dot.port == "out") != (dot.parent in around):
            break
        port = dot.inputs[0]
    at = level_of_output(state, port.node)
    while at != TOP and at not in around:
        state, port = _through(state, at, "out", port, port.node)
        at = state.nodes[at].parent
    for block in reversed(around[: around.index(at) if at else len(around)]):
        state, port = _through(state, block, "in", port, target)
    return state, port


def _through(
    state: DocumentState, block: str, side: PortSide, port: Port, inner: str
) -> tuple[DocumentState, Port]:
    """The port of a block that carries an output; added where there is none."""
    for dot in members(state, block):
        if dot.port == side and dot.inputs == (port,):
            return state, Port(dot.id)
    made = add_port(state, block, side, state.nodes[inner].name, port)
    return made.state, Port(made.id)


def _with_free_names(
    state: DocumentState, level: str, nodes: Iterable[CanvasNode]
) -> list[CanvasNode]:
    taken = {n.name for n in members(state, level) if n.is_block}
    made = []
    for node in nodes:
        text = node.text
        if node.is_block:
            count = 1
            while text in taken:
                text, count = f"{node.text}_{count}", count + 1
            taken.add(text)
        made.append(replace(node, text=text))
    return made


def _aside(
    before: DocumentState, state: DocumentState, ids: list[str], level: str
) -> DocumentState:
    """Moved things near what stands at the level, and over nothing of it.

    What comes out of a block goes below the block. What goes in stays where it was if that is near,
    or goes below what is in the block.
    """
    chosen = set(ids)
    size_of = sizes_in(state)
    there = [
        box_of(n, size_of)
        for n in contents(state, level)
        if n.id not in chosen and n.kind != "frame"
    ]
    own = bounds((state.nodes[i] for i in ids), size_of)
    around = united(there)
    if own is None or around is None:
        return state
    left = state.nodes.get(shown_at(before, ids[0], level))
    x, y = own.x, own.y
    if left is not None and left.id not in chosen:
        x, y = box_of(left).x, box_of(left).bottom + GAP
    elif not own.overlaps(around, NEAR):
        x, y = around.x, around.bottom + GAP
    x, y = free_corner(there, Box(x, y, own.width, own.height))
    return move_by(state, ids, x - own.x, y - own.y)
