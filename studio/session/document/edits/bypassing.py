"""Bypassing: a layer stays on the canvas, and data passes it unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studio.engine.core.errors import GraphError
from studio.session.document.layer_types import is_input
from studio.session.document.state import DocumentState


def bypass(
    state: DocumentState, node_ids: Iterable[str], bypassed: bool | None = None
) -> DocumentState:
    """Let data pass layers unchanged, or not any more; by default the other way round.

    Of several layers, all are bypassed unless all are already. Where what passes does not fit, the
    checks say so at the first layer that refuses it.

    Raises:
        GraphError: data enters at one of them.
    """
    layers = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].is_layer]
    wanted = not all(node.bypassed for node in layers) if bypassed is None else bypassed
    changed = [replace(node, bypassed=wanted) for node in layers if node.bypassed != wanted]
    for node in changed:
        if is_input(node):
            raise GraphError("data enters here, it cannot be bypassed", who=node.name)
    return state.with_nodes(changed) if changed else state
