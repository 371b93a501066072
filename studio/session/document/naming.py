"""New ids and names: the stem, or the stem with the first free number."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from studio.engine.core.errors import GraphError
from studio.engine.layers.graph import free_name
from studio.engine.layers.layer import check_name
from studio.session.document.layer_types import checked_config, layer_of, starting_config
from studio.session.document.state import DocumentState


def names_of(state: DocumentState) -> set[str]:
    """The names of all layers."""
    return {node.name for node in state.layers()}


def new_name(
    state: DocumentState, type_name: str, config: Mapping[str, object] | None = None
) -> str:
    """The name a new layer gets: free as a name and as an id.

    Raises:
        ParameterError: an unknown type or a wrong option.
    """
    given = {key: value for key, value in (config or {}).items() if key != "name"}
    made = layer_of(type_name, checked_config(type_name, starting_config(type_name, given)))
    return free_name(made.first_name(), names_of(state) | state.nodes.keys())


def new_id(state: DocumentState, stem: str, also_taken: Collection[str] = ()) -> str:
    """An id nothing on the canvas has; names of layers are avoided too, so that both agree."""
    return free_name(stem, {*state.nodes, *names_of(state), *also_taken})


def check_free_name(state: DocumentState, name: str, node_id: str) -> str:
    """The name, if it can name a layer and no other layer has it; a StudioError otherwise."""
    checked = check_name(name.strip())
    owner = state.node(node_id).shares or node_id
    for node in state.layers():
        if node.name == checked and (node.shares or node.id) != owner:
            raise GraphError(
                f"the name {checked!r} is taken",
                who=state.node(node_id).name,
                hint=f"free: {free_name(checked, names_of(state))}",
            )
    return checked
