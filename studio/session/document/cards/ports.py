"""Where wires meet layers: outputs below each other on the right, inputs on the left."""

from __future__ import annotations

from studio.session.document.cards.geometry import (
    BLOCK_PORT_STEP,
    BLOCK_PORTS_TOP,
    COLLAPSED_HEIGHT,
    PORT_STEP,
    TITLE_HEIGHT,
    SizeOf,
    box_of,
    node_size,
)
from studio.session.document.levels import BLOCK_CARD
from studio.session.document.state import CanvasNode


def output_place(
    node: CanvasNode, size_of: SizeOf = node_size, output: int = 0
) -> tuple[float, float]:
    """Where wires leave an output of a layer or dot."""
    if node.kind == "dot":
        return node.x, node.y
    return box_of(node, size_of).right, _port_height(node, output, size_of)


def input_place(
    node: CanvasNode, slot: int = 0, size_of: SizeOf = node_size
) -> tuple[float, float]:
    """Where the wire of an input ends."""
    if node.kind == "dot":
        return node.x, node.y
    return node.x, _port_height(node, slot, size_of)


def _port_height(node: CanvasNode, place: int, size_of: SizeOf) -> float:
    """Height of a port by its place from above; a collapsed layer has all of them in its middle."""
    if node.collapsed:
        return node.y + port_offset(node)
    lowest = max(port_offset(node), size_of(node)[1] - PORT_STEP / 2)
    step = BLOCK_PORT_STEP if node.type_name == BLOCK_CARD else PORT_STEP
    return node.y + min(port_offset(node) + place * step, lowest)


def has_output(node: CanvasNode) -> bool:
    """Whether wires may leave it."""
    return node.flows


def port_offset(node: CanvasNode) -> float:
    """Height of the output, and of the first input, below the upper edge."""
    if node.type_name == BLOCK_CARD and not node.collapsed:
        return BLOCK_PORTS_TOP + BLOCK_PORT_STEP / 2
    return (COLLAPSED_HEIGHT if node.collapsed else TITLE_HEIGHT) / 2
