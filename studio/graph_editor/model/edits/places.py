"""Edits of places: move and nudge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.engine.train.project import MAX_COORDINATE
from studio.graph_editor.model.state import DocumentState


def move(state: DocumentState, places: Mapping[str, tuple[float, float]]) -> DocumentState:
    """Put things at places; ids that are gone are skipped."""
    changed = []
    for node_id, (x, y) in places.items():
        node = state.nodes.get(node_id)
        if node is not None and (node.x, node.y) != (x, y):
            changed.append(replace(node, x=_held(x), y=_held(y)))
    return state.with_nodes(changed) if changed else state


def move_by(state: DocumentState, node_ids: Iterable[str], dx: float, dy: float) -> DocumentState:
    """Shift things by a distance."""
    found = (state.nodes[i] for i in node_ids if i in state.nodes)
    return move(state, {node.id: (node.x + dx, node.y + dy) for node in found})


def _held(coordinate: float) -> float:
    """Within what a project file may hold."""
    return min(max(float(coordinate), -MAX_COORDINATE), MAX_COORDINATE)
