"""Shared layers: the same layer placed several times, with one set of weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import Port, free_name
from studio.session.document.edits.layers import put_after
from studio.session.document.edits.outputs import following_names
from studio.session.document.layer_types import checked_config, is_input, is_known
from studio.session.document.levels import TOP
from studio.session.document.naming import names_of, new_id
from studio.session.document.state import CanvasNode, DocumentState


def place_again(
    state: DocumentState,
    node_id: str,
    use_id: str = "",
    *,
    after: Port | str = "",
    at: tuple[float, float] | None = None,
    level: str = TOP,
) -> DocumentState:
    """Place a layer once more: name, options and weights are the same, its input is another.

    Args:
        state: what to change.
        node_id: any use of the layer.
        use_id: id of the new use; `next_use` gives one by default.
        after: what feeds it; nothing by default.
        at: where it stands; right of what feeds it by default.
        level: the block it stands in; that of ``after`` where that is given.

    Raises:
        GraphError: it is no layer, or one where data enters the network.
    """
    refused = why_not_again(state, node_id)
    if refused:
        raise GraphError(refused, who=state.node(node_id).name)
    node = state.node(node_id)
    use = CanvasNode(
        use_id or next_use(state, node_id), "layer", node.type_name, node.config,
        collapsed=node.collapsed, preview=node.preview, shares=node.shares or node.id,
    )  # fmt: skip
    return put_after(state, use, after, at, level)


def next_use(state: DocumentState, node_id: str) -> str:
    """The id the next use of a layer gets: the layer's name with a number."""
    return new_id(state, state.node(node_id).name)


def why_not_again(state: DocumentState, node_id: str) -> str:
    """Why a layer cannot be placed again; empty when it can."""
    node = state.node(node_id)
    if not node.is_layer:
        return f"a {node.kind} is not a layer"
    if not is_known(node.type_name):
        return "its plugin is not loaded"
    return "an input has no weights to share" if is_input(node) else ""


def owners_among(nodes: Iterable[CanvasNode]) -> Mapping[str, str]:
    """Which of some nodes are further uses of which other among them.

    The first use stands for an owner that is not among them, so that what shared its weights
    before shares them afterwards.
    """
    chosen = {node.id: node for node in nodes}
    owners: dict[str, str] = {}
    found: dict[str, str] = {}
    for node in chosen.values():
        if node.shares:
            first = node.shares if node.shares in chosen else node.id
            owner = owners.setdefault(node.shares, first)
            if owner != node.id:
                found[node.id] = owner
    return found


def give_own_layer(state: DocumentState, node_id: str) -> DocumentState:
    """A layer of its own, alike but with other parameters; GraphError where nothing is shared."""
    node = state.node(node_id)
    uses = [each for each in state.layers() if each.shares == node_id]
    if not node.is_layer or not (node.shares or uses):
        raise GraphError("it does not share its parameters", who=node.name)
    changed = []
    if not node.shares:
        successor, *others = uses
        changed = [
            replace(successor, shares=""),
            *(replace(o, shares=successor.id) for o in others),
        ]
    name = free_name(node.name, names_of(state))
    config = checked_config(node.type_name, {**node.config.plain(), "name": name})
    after = state.with_nodes([*changed, replace(node, shares="", config=config)])
    return following_names(state, after)
