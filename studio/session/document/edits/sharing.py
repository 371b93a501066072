"""Ending the sharing of a layer: one of its uses gets parameters of its own."""

from __future__ import annotations

from dataclasses import replace

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import free_name
from studio.session.document.layer_types import checked_config
from studio.session.document.naming import names_of
from studio.session.document.state import DocumentState


def give_own_layer(state: DocumentState, node_id: str) -> DocumentState:
    """A layer of its own, alike but with other parameters; GraphError where nothing is shared."""
    node = state.node(node_id)
    uses = [each for each in state.layers() if each.shares == node_id]
    if not node.is_layer or not (node.shares or uses):
        raise GraphError("it shares its parameters with no other", who=node.name)
    changed = []
    if not node.shares:
        heir, *others = uses
        changed = [replace(heir, shares=""), *(replace(o, shares=heir.id) for o in others)]
    name = free_name(node.name, names_of(state))
    config = checked_config(node.type_name, {**node.config.plain(), "name": name})
    return state.with_nodes([*changed, replace(node, shares="", config=config)])
