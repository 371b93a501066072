"""Bypassing: a layer stays on the canvas, and data passes it unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studio.engine.core.errors import GraphError
from studio.graph_editor.model.errors import ShapeClash
from studio.graph_editor.model.flow import flow_of
from studio.graph_editor.model.layer_types import is_input
from studio.graph_editor.model.state import DocumentState


def bypass(
    state: DocumentState, node_ids: Iterable[str], bypassed: bool | None = None
) -> DocumentState:
    """Let data pass layers unchanged, or not any more; by default the other way round.

    Of several layers, all are bypassed unless all are already.

    Raises:
        GraphError: data enters at one of them.
        ShapeClash: what would pass does not fit a layer that follows.
    """
    layers = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].is_layer]
    wanted = not all(node.bypassed for node in layers) if bypassed is None else bypassed
    changed = [replace(node, bypassed=wanted) for node in layers if node.bypassed != wanted]
    for node in changed:
        if is_input(node):
            raise GraphError("data enters here, it cannot be bypassed", who=node.name)
    if not changed:
        return state
    after = state.with_nodes(changed)
    if wanted:
        _check_what_follows(state, after)
    return after


def _check_what_follows(before: DocumentState, after: DocumentState) -> None:
    """ShapeClash for the first layer whose rule held before and fails now."""
    old, new = flow_of(before), flow_of(after)
    for node_id in new.order:
        found = new.outcomes.get(node_id)
        was = old.outcomes.get(node_id)
        if found is None or found.error is None or (was is not None and was.error is not None):
            continue
        raise ShapeClash(
            f"{after.nodes[node_id].name!r} would not fit any more: {found.error.message}",
            who=after.nodes[node_id].name,
            hint="bypass that one too, or leave it as it is",
        )
