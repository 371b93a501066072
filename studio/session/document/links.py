"""What a wire leaves, as `CanvasNode.inputs` holds it."""

from __future__ import annotations

from typing import TypeAlias

from studio.engine.layers.graph import Port
from studio.session.document.state import Wire

Link: TypeAlias = str


def link_to(node_id: str) -> Link:
    """The first output of a layer or dot."""
    return node_id


def link_of(wire: Wire) -> Link:
    """The output a wire leaves."""
    return wire.source


def node_of(link: Link) -> str:
    """The layer or dot an output belongs to."""
    return link


def output_of(link: Link) -> int:
    """The number of the output."""
    return port_of(link).output


def with_node(link: Link, node_id: str) -> Link:
    """The same output of another layer."""
    return link_to(node_id) if link else link


def port_of(link: Link) -> Port:
    """The output as the engine has it."""
    return Port(link)
