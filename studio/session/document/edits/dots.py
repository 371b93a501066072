"""Reroute dots: bends of a wire that can be moved, and from which it can branch."""

from __future__ import annotations

from dataclasses import replace

from studio.engine.core.errors import GraphError
from studio.session.document.edits.wires import wire_exists
from studio.session.document.naming import new_id
from studio.session.document.state import CanvasNode, DocumentState, Wire


def add_dot(state: DocumentState, wire: Wire, x: float, y: float) -> DocumentState:
    """Bend a wire at a place; GraphError when the wire is gone."""
    if not wire_exists(state, wire):
        raise GraphError("the wire is not there any more", who="canvas")
    dot = CanvasNode(new_id(state, "dot"), "dot", inputs=(wire.source,), x=x, y=y)
    target = state.nodes[wire.target]
    inputs = list(target.inputs)
    inputs[wire.slot] = dot.id
    return state.with_nodes([dot, replace(target, inputs=tuple(inputs))])
