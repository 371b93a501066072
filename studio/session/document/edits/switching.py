"""Another type of layer in place: wires, name and the options both understand stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from studio.engine.core.errors import GraphError
from studio.engine.layers.catalog import all_layers
from studio.engine.layers.operator import Operator
from studio.session.document.edits.layers import common_options, set_option, with_default_name
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import (
    checked_config,
    inputs_taken,
    starting_config,
)
from studio.session.document.naming import new_name
from studio.session.document.state import CanvasNode, DocumentState


def switch_type(
    state: DocumentState, node_id: str, type_name: str, given: Mapping[str, object] | None = None
) -> DocumentState:
    """Make a layer one of another type, keeping wires and common options.

    ``given`` are options it is to have, such as the operation of an Operator; one of that type
    changes its own options to them.

    A name that was made from the old type is made again from the new one; a name of the user's own
    stays, and so does the id.

    Raises:
        GraphError: the new type does not take as many inputs, or gives where nothing comes in.
        ParameterError: an unknown type.
    """
    node = state.node(node_id)
    if not node.is_layer:
        raise GraphError(f"a {node.kind} is not a layer", who=node.name)
    if node.type_name == type_name:
        for name, value in (given or {}).items():
            state = set_option(state, node_id, name, value)
        return state
    owner = node.shares or node.id
    uses = [each for each in state.layers() if owner in (each.id, each.shares)]
    for use in uses:
        reason = why_not(use, type_name, given)
        if reason:
            raise GraphError(reason, who=node.name, hint="disconnect wires first")
    kept = {**common_options(node.config, type_name), **(given or {})}
    if with_default_name(node):
        kept["name"] = new_name(state, type_name, kept)
    config = checked_config(type_name, starting_config(type_name, kept))
    return state.with_nodes([replace(use, type_name=type_name, config=config) for use in uses])


def switchable(state: DocumentState, node_id: str) -> tuple[str, ...]:
    """The types a layer may become, in the order of the catalogue.

    Operations are none of them: there are too many to list; `why_not` tells which may do.
    """
    node = state.node(node_id)
    return tuple(
        cls.__name__
        for cls in all_layers()
        if cls.__name__ not in (node.type_name, Operator.__name__)
        and not why_not(node, cls.__name__)
    )


def why_not(node: CanvasNode, type_name: str, given: Mapping[str, object] | None = None) -> str:
    """Why the wires of a layer do not fit another type; empty when they do."""
    high = inputs_taken(type_name, _starting(type_name, FrozenConfig(given or {})))[1]
    if high is not None and len(node.inputs) > high:
        wires = f"{high} wire{'' if high == 1 else 's'}" if high else "no wires"
        return f"{type_name} takes {wires}, {len(node.inputs)} are connected"
    if high == 0 and node.bypassed:
        return f"{type_name} cannot be bypassed"
    return ""


@lru_cache(maxsize=1000)
def _starting(type_name: str, given: FrozenConfig) -> FrozenConfig:
    return checked_config(type_name, starting_config(type_name, given))
