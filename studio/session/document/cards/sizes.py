"""How large things are in one state: layers have room for the outputs they have there."""

from __future__ import annotations

from studio.engine.layers.catalog import layer_class
from studio.engine.layers.layer import Layer
from studio.session.document.cards.geometry import Size, SizeOf, node_size
from studio.session.document.flow import flow_of
from studio.session.document.layer_types import is_known
from studio.session.document.levels import BLOCK_CARD
from studio.session.document.state import CanvasNode, DocumentState


def sizes_in(state: DocumentState) -> SizeOf:
    """The sizes of what a state holds, as it is drawn."""

    def size_of(node: CanvasNode) -> Size:
        if node.type_name == BLOCK_CARD and not node.collapsed:
            return node.width, node.height
        if not node.is_layer or node.collapsed:
            return node_size(node)
        return node_size(node, outputs_of(state, node))

    return size_of


def outputs_of(state: DocumentState, node: CanvasNode) -> int:
    """How many outputs of a layer are drawn."""
    return output_count(state, node.id, _known_outputs(state, node))


def output_count(state: DocumentState, node_id: str, known: int) -> int:
    """How many outputs are drawn: those that are known, and those that wires leave."""
    wired = max((wire.output for wire in state.wires_from(node_id)), default=0)
    return max(known, wired + 1)


def has_one_output(type_name: str) -> bool:
    """Whether layers of a type have one output whatever their options and inputs are."""
    if not is_known(type_name):
        return True
    found = layer_class(type_name)
    return found.arity == (0, 0) or found.output_types is Layer.output_types


def _known_outputs(state: DocumentState, node: CanvasNode) -> int:
    if has_one_output(node.type_name):
        # Most layers: nothing has to be worked out.
        return 1
    found = flow_of(state).outcomes.get(node.id)
    return 0 if found is None else len(found.types)
