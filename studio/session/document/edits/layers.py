"""Edits of layers: add, set options, rename, freeze, bypass and how they are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.engine.core.errors import GraphError, ParameterError
from studio.engine.core.options import Plain
from studio.engine.layers.graph import Port
from studio.session.document.cards.geometry import (
    COLUMN,
    NODE_WIDTH,
    SizeOf,
    bounds,
    box_of,
    free_place,
)
from studio.session.document.cards.sizes import has_one_output, sizes_in
from studio.session.document.edits.annotations import with_layer_renamed
from studio.session.document.edits.outputs import following_marks, following_names
from studio.session.document.edits.wires import connect, free_inputs
from studio.session.document.flow import flow_of
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.layer_types import (
    OWN_FIELDS,
    checked_config,
    inputs_taken,
    is_input,
    layer_at,
    option_of,
    starting_config,
    with_layers_renamed,
)
from studio.session.document.levels import TOP, card_of_output, level_of_output, members
from studio.session.document.naming import check_free_name, new_name
from studio.session.document.state import CanvasNode, DocumentState, PreviewMode, as_port

WIRE_ROOM = COLUMN - NODE_WIDTH
"""Space between a layer and the next, for the wire and what is written on it."""


def add_layer(
    state: DocumentState,
    type_name: str,
    *,
    after: Port | str = "",
    at: tuple[float, float] | None = None,
    config: Mapping[str, object] | None = None,
    level: str = TOP,
) -> DocumentState:
    """Add a layer with a new name, fed by the output ``after`` where it takes an input.

    Its id is the name `naming.new_name` gives. Required options that ``config`` leaves out get
    starting values. Without ``at`` it stands right of ``after``, or right of everything. It stands
    in the block where wires from ``after`` run, or in the block ``level``.

    Raises:
        ParameterError: an unknown type or a wrong option.
    """
    name = new_name(state, type_name, config)
    given = {key: value for key, value in (config or {}).items() if key != "name"}
    made = checked_config(type_name, {**starting_config(type_name, given), "name": name})
    node = CanvasNode(name, "layer", type_name, made)
    return put_after(state, node, after, at, level)


def set_option(state: DocumentState, node_id: str, name: str, value: object) -> DocumentState:
    """Set one declared option of a layer; ParameterError for a value that is not allowed.

    ``None`` sets an option that is optional to none, any other back to what it begins with. A
    name that followed from the option, as that of an operation, follows it again.
    """
    node = _layer(state, node_id)
    was_default = with_default_name(node)
    after = with_config(state, node_id, layer_at(node).config_with(name, value))
    made = after.nodes[node_id]
    if was_default and not with_default_name(made):
        return rename(after, node_id, new_name(after, made.type_name, made.config))
    return after


def set_options(state: DocumentState, node_id: str, values: Mapping[str, object]) -> DocumentState:
    """Set several options at once, so that they are checked together."""
    node = _layer(state, node_id)
    for name in values:
        option_of(node.type_name, name)
    return with_config(state, node_id, {**node.config.plain(), **values})


def rename(state: DocumentState, node_id: str, name: str) -> DocumentState:
    """Give a layer another name; its id stays. StudioError for a name that is wrong or taken.

    Settings and data given by the names of inputs and outputs follow, and layers that name it.
    """
    node = _layer(state, node_id)
    free = check_free_name(state, name, node_id)
    if free == node.name:
        return state
    after = with_config(state, node_id, {**node.config.plain(), "name": free})
    followed = [
        found
        for each in after.layers()
        if (found := with_layers_renamed(each, {node.name: free})) is not each
    ]
    after = after.with_nodes(followed) if followed else after
    return with_layer_renamed(following_names(state, after), node.name, free)


def freeze(
    state: DocumentState, node_ids: Iterable[str], frozen: bool | None = None
) -> DocumentState:
    """Keep parameters as they are in training, or train them; by default the other way round.

    Of several layers, all are frozen unless all are frozen already.
    """
    layers = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].is_layer]
    wanted = not all(node.frozen for node in layers) if frozen is None else frozen
    for node in layers:
        config = node.config.plain()
        config.pop("trainable", None)
        state = with_config(state, node.id, {**config, "trainable": not wanted})
    return state


def mark_output(
    state: DocumentState, source: Port | str, marked: bool | None = None
) -> DocumentState:
    """Make an output of a layer one of the network, or not any more; by default the other way
    round. Of an id the first output is meant.

    What is given by name for an output that is none any more goes with it.
    """
    port = as_port(source)
    _layer(state, port.node)
    is_marked = port in state.outputs
    wanted = not is_marked if marked is None else marked
    if wanted == is_marked:
        return state
    others = tuple(each for each in state.outputs if each != port)
    after = state.replaced(outputs=(*others, port) if wanted else others)
    return following_marks(state, after)


def collapse(
    state: DocumentState, node_ids: Iterable[str], collapsed: bool | None = None
) -> DocumentState:
    """Draw only the titles of layers, or all of them; by default the other way round."""
    layers = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].is_layer]
    wanted = not all(node.collapsed for node in layers) if collapsed is None else collapsed
    changed = [replace(node, collapsed=wanted) for node in layers if node.collapsed != wanted]
    return state.with_nodes(changed) if changed else state


def pin(state: DocumentState, node_ids: Iterable[str], pinned: bool | None = None) -> DocumentState:
    """Keep layers and dots where they are in layouts; by default the other way round."""
    nodes = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].flows]
    wanted = not all(node.pinned for node in nodes) if pinned is None else pinned
    changed = [replace(node, pinned=wanted) for node in nodes if node.pinned != wanted]
    return state.with_nodes(changed) if changed else state


def set_preview(state: DocumentState, node_ids: Iterable[str], mode: PreviewMode) -> DocumentState:
    """Choose what layers show of their output."""
    layers = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].is_layer]
    changed = [replace(node, preview=mode) for node in layers if node.preview != mode]
    return state.with_nodes(changed) if changed else state


def with_config(state: DocumentState, node_id: str, config: Mapping[str, object]) -> DocumentState:
    """A layer with another configuration, checked; other uses of the same layer follow.

    Raises:
        ParameterError: an option is wrong.
        GraphError: with these options it takes fewer inputs than are connected.
    """
    node = _layer(state, node_id)
    made = checked_config(node.type_name, config)
    owner = node.shares or node.id
    most = inputs_taken(node.type_name, made)[1]
    wired = max(len(e.inputs) for e in state.layers() if owner in (e.id, e.shares))
    if most is not None and wired > most:
        raise GraphError(
            f"that leaves {most} input{'' if most == 1 else 's'}, {wired} are connected",
            who=node.name, hint="disconnect wires first",
        )  # fmt: skip
    changed = [
        replace(each, config=made)
        for each in state.layers()
        if owner in (each.id, each.shares) and each.config != made
    ]
    return state.with_nodes(changed) if changed else state


def common_options(config: FrozenConfig, type_name: str) -> dict[str, Plain]:
    """The part of a configuration another type of layer understands too."""
    found: dict[str, Plain] = {k: config[k] for k in OWN_FIELDS if k in config}
    for name, value in config.items():
        if name in OWN_FIELDS:
            continue
        try:
            option_of(type_name, name).check(value, type_name)
        except ParameterError:
            continue
        found[name] = value
    return found


def with_default_name(node: CanvasNode) -> bool:
    """Whether a layer still has the name its type gave it."""
    stem = re.escape(layer_at(node).first_name())
    return re.fullmatch(rf"{stem}(_\d+)?", node.name) is not None


def _layer(state: DocumentState, node_id: str) -> CanvasNode:
    node = state.node(node_id)
    if not node.is_layer:
        raise GraphError(f"a {node.kind} is not a layer", who=node.name)
    return node


def put_after(
    state: DocumentState,
    node: CanvasNode,
    after: Port | str,
    at: tuple[float, float] | None,
    level: str = TOP,
) -> DocumentState:
    """Put a new layer on the canvas, fed by ``after`` and at its level, where that is given."""
    before = as_port(after).node
    node = replace(node, parent=level_of_output(state, before) if before else level)
    fed = state.with_nodes([node])
    if before and state.node(before).flows and free_inputs(node) != 0:
        fed = connect(fed, after, node.id, check_shapes=False)
    # What feeds it says how many outputs it has, and so how high it is.
    sized = state if has_one_output(node.type_name) else fed
    x, y = place_for(state, node, before, at, sizes_in(sized))
    return fed.with_nodes([replace(fed.nodes[node.id], x=x, y=y)])


def place_for(
    state: DocumentState,
    node: CanvasNode,
    after: str,
    at: tuple[float, float] | None,
    size_of: SizeOf,
) -> tuple[float, float]:
    """Where a new thing goes: ``at``, or right of ``after``, or right of all that is beside it."""
    if at is not None:
        return at
    if after:
        card = state.node(card_of_output(state, after))
        before = box_of(card, size_of)
        middle = before.y + before.height / 2 - size_of(node)[1] / 2
        y = middle if card.kind == "dot" else before.y
        return free_place(state, before.right + WIRE_ROOM, y, node, size_of)
    beside = [n for n in members(state, node.parent) if n.flows or n.is_block]
    all_of_it = bounds(beside, size_of)
    if all_of_it is None:
        return 0.0, 0.0
    ids = {n.id for n in beside}
    last = [i for i in flow_of(state).order if i in ids][-1:]
    y = state.nodes[last[0]].y if last else all_of_it.y
    return all_of_it.right + WIRE_ROOM, y


def bypass(
    state: DocumentState, node_ids: Iterable[str], bypassed: bool | None = None
) -> DocumentState:
    """Let data pass layers unchanged, or not any more; by default the other way round.

    Of several layers, all are bypassed unless all are already. Where what passes does not fit, the
    checks say so at the first layer that refuses it. What is given by name for an output follows to
    the layer that is the output then.

    Raises:
        GraphError: data enters at one of them.
    """
    layers = [state.nodes[i] for i in node_ids if i in state.nodes and state.nodes[i].is_layer]
    wanted = not all(node.bypassed for node in layers) if bypassed is None else bypassed
    changed = [replace(node, bypassed=wanted) for node in layers if node.bypassed != wanted]
    for node in changed:
        if is_input(node):
            raise GraphError("an input cannot be bypassed", who=node.name)
    return following_names(state, state.with_nodes(changed)) if changed else state
