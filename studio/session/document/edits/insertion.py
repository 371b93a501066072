"""Putting layers on a wire: it is cut, both ends go to the selection, neighbours make room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.core.errors import GraphError, StudioError
from studio.session.document.cards.geometry import (
    COLUMN,
    GAP,
    NODE_WIDTH,
    Box,
    bounds,
    box_of,
    card_width,
)
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.places import move_by
from studio.session.document.edits.wires import connect, disconnect, free_inputs, wire_exists
from studio.session.document.flow import downstream, flow_of, newly_refused, upstream
from studio.session.document.levels import (
    TOP,
    ends_of_wire,
    level_of_wire,
    members,
    ports_in,
    ports_out,
    shown_at,
)
from studio.session.document.naming import new_name
from studio.session.document.state import CanvasNode, DocumentState, PortSide, Wire

Push: TypeAlias = Literal["right", "left"]


class Ends(NamedTuple):
    """Where a selection takes and gives data: its one free input and its one free output.

    Of a block they are ports.
    """

    head: str
    tail: str


def insert_on_wire(
    state: DocumentState,
    node_ids: Iterable[str],
    wire: Wire,
    *,
    push: Push = "right",
    check_shapes: bool = True,
) -> DocumentState:
    """Put things that lie on the canvas into a wire, and make room for them.

    Args:
        state: what to change.
        node_ids: layers or blocks with one free input and one free output between them.
        wire: where they go.
        push: layers further downstream move right, or layers upstream move left.
        check_shapes: refuse what does not fit.

    Raises:
        GraphError: there is no such wire, or the things have no free input or output.
        ShapeClash: the shapes do not fit.
    """
    inside = [i for i in dict.fromkeys(node_ids) if i in state.nodes]
    ends = free_ends(state, inside)
    made = _linked(state, ends, wire, check_shapes)
    return make_room(made, inside, push=push)


def can_insert(state: DocumentState, node_ids: Iterable[str], wire: Wire) -> str:
    """Why things cannot be put on a wire; empty when they can."""
    try:
        _linked(state, free_ends(state, node_ids), wire, check_shapes=True)
    except StudioError as error:
        return error.message
    return ""


def add_on_wire(
    state: DocumentState,
    type_name: str,
    wire: Wire,
    *,
    at: tuple[float, float] | None = None,
    config: Mapping[str, object] | None = None,
    push: Push = "right",
) -> DocumentState:
    """Add a new layer on a wire, behind its source unless told where; neighbours make room.

    Raises:
        GraphError: there is no such wire, or the layer takes no input.
        ParameterError: an unknown type or a wrong option.
    """
    _check_wire(state, wire)
    name = new_name(state, type_name, config)
    source, target = (state.node(end) for end in ends_of_wire(state, wire))
    if at is None:
        room = COLUMN - NODE_WIDTH
        size_of = sizes_in(state)
        x = box_of(source, size_of).right + room
        if push == "left":
            made = add_layer(state, type_name, config=config).nodes[name]
            x = box_of(target, size_of).x - room - card_width(made)
        at = (x, target.y if source.kind == "dot" else source.y)
    level = level_of_wire(state, wire)
    state = add_layer(state, type_name, at=at, config=config, level=level)
    return insert_on_wire(state, [name], wire, push=push, check_shapes=False)


def free_ends(state: DocumentState, node_ids: Iterable[str]) -> Ends:
    """The one free input and the one free output of a selection; GraphError when not one each."""
    inside = [state.nodes[i] for i in dict.fromkeys(node_ids) if i in state.nodes]
    takes = [end for node in inside for end in _ends(state, node, "in")]
    gives = [end for node in inside for end in _ends(state, node, "out")]
    linked_out = any(w.target not in takes for i in gives for w in state.wires_from(i)) or any(
        s not in gives for i in takes for s in state.nodes[i].sources
    )
    heads = [i for i in takes if not state.nodes[i].inputs and free_inputs(state.nodes[i]) != 0]
    tails = [i for i in gives if not state.wires_from(i)]
    if linked_out or len(heads) != 1 or len(tails) != 1:
        raise GraphError(
            "only a layer or block with a free input and a free output goes into a wire",
            who=inside[0].name if inside else "canvas",
            hint="remove its wires first",
        )
    return Ends(heads[0], tails[0])


def _ends(state: DocumentState, node: CanvasNode, side: PortSide) -> tuple[str, ...]:
    """Where wires enter or leave a thing: itself, or the ports of a block."""
    if not node.is_block:
        return (node.id,) if node.flows else ()
    ports = ports_in(state, node.id) if side == "in" else ports_out(state, node.id)
    return tuple(port.id for port in ports)


def make_room(
    state: DocumentState,
    node_ids: Iterable[str],
    *,
    push: Push = "right",
) -> DocumentState:
    """Shift what lies downstream (or upstream, leftwards) of things when they overlap it.

    Where they overlap what lies on the other side, they give way themselves first.
    """
    inside = [i for i in node_ids if i in state.nodes]
    state = _aside(state, inside, push)
    size_of = sizes_in(state)
    placed = bounds((state.nodes[i] for i in inside), size_of)
    others = _beyond(state, inside, push)
    hit = _overlapping(state, others, placed)
    if placed is None or not hit:
        return state
    step = placed.width + GAP
    if push == "right":
        step = max(step, placed.right + GAP - min(box.x for box in hit))
        moved = [i for i in others if box_of(state.nodes[i], size_of).right > placed.x]
    else:
        step = -max(step, max(box.right for box in hit) + GAP - placed.x)
        moved = [i for i in others if box_of(state.nodes[i], size_of).x < placed.right]
    return move_by(state, moved, step, 0.0)


def _aside(state: DocumentState, inside: Sequence[str], push: Push) -> DocumentState:
    """Things moved off what lies on the side that is not pushed."""
    placed = bounds((state.nodes[i] for i in inside), sizes_in(state))
    other: Push = "left" if push == "right" else "right"
    hit = _overlapping(state, _beyond(state, inside, other), placed)
    if placed is None or not hit:
        return state
    if push == "right":
        return move_by(state, inside, max(box.right for box in hit) + GAP - placed.x, 0.0)
    return move_by(state, inside, min(box.x for box in hit) - GAP - placed.right, 0.0)


def _beyond(state: DocumentState, inside: Sequence[str], side: Push) -> list[str]:
    """What lies downstream of things, or upstream."""
    ends = [i for each in inside for i in _ends(state, state.nodes[each], "in")]
    ends += [i for each in inside for i in _ends(state, state.nodes[each], "out")]
    found = downstream(state, ends) if side == "right" else upstream(state, ends)
    level = state.nodes[inside[0]].parent if inside else TOP
    drawn = {shown_at(state, i, level) for i in found}
    return [node.id for node in members(state, level) if node.id in drawn.difference(inside)]


def _overlapping(state: DocumentState, among: Sequence[str], placed: Box | None) -> list[Box]:
    size_of = sizes_in(state)
    boxes = [box_of(state.nodes[i], size_of) for i in among]
    return [] if placed is None else [box for box in boxes if box.overlaps(placed, GAP - 1.0)]


def _linked(state: DocumentState, ends: Ends, wire: Wire, check_shapes: bool) -> DocumentState:
    _check_wire(state, wire)
    if wire.source in ends or wire.target in ends:
        raise GraphError(
            "the wire is connected to the layer itself", who=state.nodes[ends.head].name
        )
    cut = disconnect(state, wire.target, wire.slot)
    fed = connect(cut, wire.port, ends.head, check_shapes=check_shapes)
    made = _in_slot(connect(fed, ends.tail, wire.target, check_shapes=check_shapes), wire)
    if check_shapes and any(state.nodes[end].port for end in ends):
        _check_layers(state, made)
    return made


def _check_layers(before: DocumentState, after: DocumentState) -> None:
    """GraphError where a layer refuses its input: a port takes any, the layers behind it do not."""
    refused = newly_refused(before, after)
    if refused:
        error = flow_of(after).outcomes[refused[0]].error
        message = "" if error is None else error.message
        raise GraphError(message, who=after.nodes[refused[0]].name)


def _in_slot(state: DocumentState, wire: Wire) -> DocumentState:
    """The last input of the wire's target, put where the wire was."""
    node = state.nodes[wire.target]
    inputs = list(node.inputs)
    inputs.insert(wire.slot, inputs.pop())
    return state.with_nodes([replace(node, inputs=tuple(inputs))])


def _check_wire(state: DocumentState, wire: Wire) -> None:
    if not wire_exists(state, wire):
        raise GraphError("the wire no longer exists", who="canvas")
