"""Layers of the engine's catalogue, made from the plain configuration that canvas nodes hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from studio.engine.core.options import Option
from studio.engine.core.stand_ins import StandIn
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.inputs import Input
from studio.engine.layers.layer import Layer
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.state import CanvasNode

OWN_FIELDS = ("name", "trainable")
"""Parts of a configuration that are no declared options."""


def new_layer(type_name: str, config: Mapping[str, object]) -> Layer:
    """A layer of its own; ParameterError for an unknown type or a wrong option."""
    return layer_class(type_name).from_config(config)


@lru_cache(maxsize=20_000)
def layer_of(type_name: str, config: FrozenConfig) -> Layer:
    """The layer of a configuration to ask for shapes and parameters; it is shared: do not change
    it."""
    return new_layer(type_name, config)


def layer_at(node: CanvasNode) -> Layer:
    """The layer of a node, to ask for shapes and parameters."""
    return layer_of(node.type_name, node.config)


def is_known(type_name: str) -> bool:
    """Whether there is such a layer."""
    return type_name in Layer.members


def absent_plugin(type_name: str) -> str:
    """The plugin a layer comes from, where that is not loaded; empty otherwise.

    Such a layer can be drawn, linked and saved; it has no shape and cannot be computed.
    """
    found = Layer.members.find(type_name)
    return str(found.home) if found is not None and issubclass(found, StandIn) else ""


def is_input(node: CanvasNode) -> bool:
    """Whether data enters the network here."""
    return (
        node.is_layer
        and is_known(node.type_name)
        and issubclass(layer_class(node.type_name), Input)
    )


def arity(node: CanvasNode) -> tuple[int, int | None]:
    """Fewest and most inputs; None for any number."""
    if node.kind == "dot":
        return 1, 1
    return inputs_taken(node.type_name, node.config) if node.is_layer else (0, 0)


def inputs_taken(type_name: str, config: FrozenConfig) -> tuple[int, int | None]:
    """Fewest and most inputs of a layer with a checked configuration; None for any number."""
    found = layer_class(type_name)
    if found.inputs_taken is Layer.inputs_taken:
        return found.arity
    return layer_of(type_name, config).inputs_taken


def kind_text(node: CanvasNode) -> str:
    """What kind of layer a node is, in a few characters: its type, or its operation."""
    if not is_known(node.type_name) or absent_plugin(node.type_name):
        return node.type_name
    return layer_at(node).kind_text


def input_name(node: CanvasNode, slot: int) -> str:
    """What an input is called: its own name where the layer has one for it, or its number."""
    known = node.is_layer and is_known(node.type_name) and not absent_plugin(node.type_name)
    names = layer_at(node).input_names if known else ()
    return names[slot] if slot < len(names) and names[slot][0] != "*" else str(slot + 1)


def input_count(node: CanvasNode) -> int:
    """How many inputs are drawn: those with a wire, and a free one where another may come."""
    unknown = node.is_layer and not is_known(node.type_name)
    if not node.flows or (unknown and not absent_plugin(node.type_name)):
        return len(node.inputs)
    low, high = arity(node)
    wanted = max(low, len(node.inputs) + (high is None))
    return wanted if high is None else min(wanted, high)


def checked_config(type_name: str, config: Mapping[str, object]) -> FrozenConfig:
    """The configuration as the layer itself states it: checked, defaults left out."""
    return FrozenConfig(new_layer(type_name, config).config())


def with_layers_renamed(node: CanvasNode, names: Mapping[str, str]) -> CanvasNode:
    """The node with options that name other layers following new names, by the old ones."""
    options = layer_class(node.type_name).layer_options if is_known(node.type_name) else ()
    found = {name: names.get(str(node.config.get(name))) for name in options}
    changed = {name: after for name, after in found.items() if after is not None}
    if not changed:
        return node
    return replace(node, config=checked_config(node.type_name, {**node.config.plain(), **changed}))


def starting_config(type_name: str, given: Mapping[str, object] | None = None) -> dict[str, object]:
    """Values a new layer begins with: those given, and one for every option that needs one."""
    return layer_class(type_name).first_config(given or {})


def option_of(type_name: str, name: str) -> Option[Any]:
    """The declaration of an option; ParameterError when the layer has none of that name."""
    return layer_class(type_name).option(name)
