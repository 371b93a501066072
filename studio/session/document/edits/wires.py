"""Edits of wires: connect, disconnect, and what may be connected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studio.engine.core.errors import GraphError, StudioError
from studio.engine.layers.graph import Port
from studio.session.document.errors import CycleError, DuplicateLink, InputTaken, ShapeClash
from studio.session.document.flow import absent_output, downstream, flow_of, refusal
from studio.session.document.layer_types import absent_plugin, arity, is_input, is_known
from studio.session.document.levels import level_of_input, level_of_output, level_of_wire
from studio.session.document.naming import new_id
from studio.session.document.state import CanvasNode, DocumentState, Wire, as_port


def connect(
    state: DocumentState,
    source: Port | str,
    target: str,
    slot: int | None = None,
    *,
    replacing: bool = False,
    check_shapes: bool = True,
) -> DocumentState:
    """Draw a wire from an output into an input of ``target``.

    Args:
        state: what to change.
        source: an output of a layer or dot; of an id the first.
        target: id of a layer or dot.
        slot: which input; the best free one by default.
        replacing: a wire that is in ``slot`` gives way.
        check_shapes: refuse a shape the target's rule does not take.

    Raises:
        CycleError: the wire would close a loop.
        DuplicateLink: ``source`` feeds ``target`` already.
        GraphError: one of them stands in a block and the other does not.
        InputTaken: there is no free input.
        AbsentOutput: the source has no such output.
        ShapeClash: the shape does not fit.
    """
    port = as_port(source)
    inputs = _inputs_with(state, port, target, slot, replacing)
    if check_shapes:
        _check_output(state, port, target)
    node = replace(state.node(target), inputs=inputs)
    if check_shapes:
        _check_shapes(state, node)
    return state.with_nodes([node])


def disconnect(state: DocumentState, target: str, slot: int) -> DocumentState:
    """Remove the wire in input ``slot`` of ``target``; wires behind it move up."""
    node = state.node(target)
    if not 0 <= slot < len(node.inputs):
        raise GraphError(f"input {slot} has no wire", who=node.name)
    inputs = node.inputs[:slot] + node.inputs[slot + 1 :]
    return state.with_nodes([replace(node, inputs=inputs)])


def cut_wires(state: DocumentState, wires: Iterable[Wire]) -> DocumentState:
    """Remove several wires at once, as the knife does; those that are not there are skipped."""
    gone: dict[str, set[int]] = {}
    for wire in wires:
        if wire_exists(state, wire):
            gone.setdefault(wire.target, set()).add(wire.slot)
    changed = []
    for target, slots in gone.items():
        node = state.nodes[target]
        kept = tuple(s for i, s in enumerate(node.inputs) if i not in slots)
        changed.append(replace(node, inputs=kept))
    return state.with_nodes(changed) if changed else state


def move_outputs(state: DocumentState, source: Port | str, to: Port | str) -> DocumentState:
    """Let everything an output feeds be fed by another instead; raises as `connect` does."""
    wires = state.wires_from(source)
    if as_port(source) == as_port(to) or not wires:
        return state
    for wire in wires:
        state = connect(state, to, wire.target, wire.slot, replacing=True)
    return state


def can_link(
    state: DocumentState,
    source: Port | str,
    target: str,
    slot: int | None = None,
    *,
    replacing: bool = False,
) -> str:
    """Why a wire from ``source`` to ``target`` is refused; empty when it may be drawn."""
    try:
        connect(state, source, target, slot, replacing=replacing)
    except StudioError as error:
        return error.message
    return ""


def wire_exists(state: DocumentState, wire: Wire) -> bool:
    """Whether there is such a wire."""
    node = state.nodes.get(wire.target)
    return (
        node is not None
        and 0 <= wire.slot < len(node.inputs)
        and node.inputs[wire.slot] == wire.port
    )


def free_inputs(node: CanvasNode) -> int | None:
    """How many more wires a layer takes; None for any number."""
    if node.is_layer and not is_known(node.type_name) and not absent_plugin(node.type_name):
        return 0
    high = arity(node)[1]
    return None if high is None else max(0, high - len(node.inputs))


def _inputs_with(
    state: DocumentState, port: Port, target: str, slot: int | None, replacing: bool
) -> tuple[Port, ...]:
    """The inputs of ``target`` with the new wire, links checked."""
    source = port.node
    start, end = state.node(source), state.node(target)
    for node in (start, end):
        if not node.flows:
            raise GraphError(f"a {node.kind} takes no wires", who=node.name)
    if level_of_output(state, source) != level_of_input(state, target):
        raise GraphError(
            f"{start.name!r} and {end.name!r} are not in the same block",
            who=end.name,
            hint="lead the wire through a port of the block",
        )
    if is_input(end):
        raise InputTaken("an input layer takes no wire", who=end.name)
    if source == target or source in downstream(state, [target]):
        raise CycleError(
            f"the wire would close a loop: {end.name!r} already leads to {start.name!r}",
            who=end.name,
            hint="connect a layer further upstream",
        )
    inputs = list(end.inputs)
    taken = slot is not None and slot < len(inputs)
    others = [s for i, s in enumerate(inputs) if not (taken and replacing and i == slot)]
    if port in others:
        raise DuplicateLink(f"{start.name!r} already feeds {end.name!r}", who=end.name)
    if taken and replacing and slot is not None:
        inputs[slot] = port
        return tuple(inputs)
    room = free_inputs(end)
    if taken or (room is not None and room < 1):
        if not inputs:
            raise InputTaken("it has no inputs", who=end.name)
        fed = state.nodes[inputs[slot if taken and slot is not None else 0].node].name
        raise InputTaken(
            f"its input is connected to {fed!r}", who=end.name, hint="remove that wire first"
        )
    return (*inputs, port)


def _check_output(state: DocumentState, port: Port, target: str) -> None:
    """AbsentOutput when it is known how many outputs the source has, and this is none of them."""
    found = flow_of(state).outcomes.get(port.node)
    if found is not None and found.types and found.type_at(port.output) is None:
        who = state.nodes[target].name
        raise absent_output(port, len(found.types), state.nodes[port.node].name, who)


def _check_shapes(state: DocumentState, node: CanvasNode) -> None:
    """ShapeClash when all inputs of ``node`` are known and its rule refuses them."""
    if not node.is_layer:
        return
    flow = flow_of(state)
    given = flow.types(node.inputs)
    if len(given) < len(node.inputs) or len(given) < arity(node)[0]:
        return
    error = refusal(node, given, flow.masks(node.inputs))
    if error is not None:
        raise ShapeClash(error.message, who=error.who, hint=error.hint)


def add_dot(state: DocumentState, wire: Wire, x: float, y: float) -> DocumentState:
    """Bend a wire at a place; GraphError when the wire is gone."""
    if not wire_exists(state, wire):
        raise GraphError("the wire no longer exists", who="canvas")
    level = level_of_wire(state, wire)
    dot = CanvasNode(new_id(state, "dot"), "dot", inputs=(wire.port,), x=x, y=y, parent=level)
    target = state.nodes[wire.target]
    inputs = list(target.inputs)
    inputs[wire.slot] = Port(dot.id)
    return state.with_nodes([dot, replace(target, inputs=tuple(inputs))])
