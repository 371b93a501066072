"""Layers from the palette: dragged as data, or added after the selection."""

from __future__ import annotations

from PySide6.QtCore import QMimeData

from studio.engine.layers.graph import Port
from studio.session.compile.selection import SelectionBus
from studio.session.core import entities
from studio.session.document.adding.published_blocks import place_block
from studio.session.document.adding.quick_add import NOWHERE, Entry, Place, add_at_place, entries
from studio.session.document.cards.sizes import outputs_of
from studio.session.document.edits.chains import NewLayer
from studio.session.document.levels import ports_out
from studio.session.document.state import CanvasNode, DocumentState, Wire
from studio.session.studio import Studio

MIME = "application/x-glassbox-layer"
BLOCK_MIME = "application/x-glassbox-block"


def place_of(bus: SelectionBus, state: DocumentState) -> Place:
    """Where a new layer goes: on the selected wire, behind what is selected, or anywhere."""
    primary = bus.drawn.primary
    if primary is None:
        return NOWHERE
    if primary.kind == "wire":
        wire = Wire(*entities.wire_ends(primary))
        return Place(wire=wire) if wire in state.wires_from(wire.source) else NOWHERE
    node = state.nodes.get(primary.key) if primary.kind == "node" else None
    if node is None:
        return NOWHERE
    if node.port == "out":
        # Behind an output of the open block is outside: the layer goes in front of it.
        wires = state.wires_into(node.id)
        return next((Place(wire=wire) for wire in wires), Place(target=node.id, slot=0))
    others = (state.nodes[i] for i in bus.drawn.of_kind("node") if i in state.nodes)
    found = [_first_output(state, other) for other in others if other.id != node.id]
    own = _first_output(state, node)
    found.append(_output_of(bus, state, node) if own is not None and node.flows else own)
    sources = [port for port in found if port is not None]
    return Place(source=sources[-1], beside=tuple(sources[:-1])) if sources else NOWHERE


def _first_output(state: DocumentState, node: CanvasNode) -> Port | None:
    """The first output of a layer, dot or block; None where it has none at its level."""
    if node.is_block:
        return next((Port(port.id) for port in ports_out(state, node.id)), None)
    return Port(node.id) if node.flows and node.port != "out" else None


def _output_of(bus: SelectionBus, state: DocumentState, node: CanvasNode) -> Port:
    """The output that was chosen to act on, where the layer still has it; else the first."""
    chosen = bus.acting_output
    if chosen is None or chosen.node != node.id or chosen.output >= outputs_of(state, node):
        return Port(node.id)
    return chosen


def add_after_selection(studio: Studio, layer: NewLayer, source: str) -> str:
    """Add a layer as one step; its id.

    Args:
        studio: the models.
        layer: what to add.
        source: the view it was asked for in.

    Raises:
        StudioError: it cannot go there.
    """
    document = studio.document
    place = place_of(studio.bus, document.state)
    made = add_at_place(document.state, [layer], place, level=document.open_block)
    studio.quick_add.took(document.state, layer.type_name, place)
    document.apply(f"Add {made.ids[-1]}", made.state)
    studio.palette.used(layer.type_name, layer.config)
    studio.bus.select([entities.node(made.ids[-1])], source=source)
    return made.ids[-1]


def add_block_after_selection(studio: Studio, entry: Entry, source: str) -> str:
    """Add a published block as one step; its id.

    Args:
        studio: the models.
        entry: the block in the palette.
        source: the view it was asked for in.

    Raises:
        StudioError: it cannot go there.
    """
    document = studio.document
    place = place_of(studio.bus, document.state)
    made = place_block(document.state, entry.block, place, level=document.open_block)
    block = made.block
    document.apply(f"Add {made.state.nodes[block].name}", made.state)
    studio.bus.select([entities.node(block)], source=source)
    return block


def layer_data(entry: Entry) -> QMimeData:
    """An entry of the palette as something that can be dragged."""
    data = QMimeData()
    if entry.block:
        data.setData(BLOCK_MIME, entry.block.encode())
        data.setText(entry.title)
        return data
    data.setData(MIME, entry.title.encode())
    data.setText(entry.title)
    return data


def layer_in(data: QMimeData) -> NewLayer | None:
    """The layer that is dragged; None for anything else."""
    if not data.hasFormat(MIME):
        return None
    title = bytes(data.data(MIME).data()).decode("utf-8", "replace")
    for entry in entries():
        if entry.title == title:
            return NewLayer(entry.type_name, entry.config)
    return None


def block_in(data: QMimeData) -> str:
    """The published block that is dragged, as copied text; empty for anything else."""
    return bytes(data.data(BLOCK_MIME).data()).decode("utf-8", "replace")
