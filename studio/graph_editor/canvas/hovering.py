"""What the pointer is over: told to all views, explained in a tip after a moment."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.engine.layers.graph import Port
from studio.graph_editor.editing.context import CANVAS, CanvasContext
from studio.graph_editor.editing.fix_offers import FixOffers
from studio.graph_editor.editing.picking import EMPTY, Target
from studio.graph_editor.items.marks import PortKey
from studio.session.document.cards.card import NodeCard, wire_card
from studio.session.document.cards.lines import shape_label
from studio.session.document.checks.lengths import shown_type
from studio.session.document.finding.outline import feeder_text
from studio.session.document.layer_types import input_name
from studio.session.document.report import Report
from studio.session.document.state import CanvasNode, DocumentState

_CURSORS = {
    "port": Qt.CursorShape.CrossCursor,
    "edge": Qt.CursorShape.CrossCursor,
    "handle": Qt.CursorShape.SizeFDiagCursor,
    "fix": Qt.CursorShape.PointingHandCursor,
}


class Hovering:
    """Follows the pointer while no button is down.

    Args:
        context: what it works with.
        fixes: show what they would do while the pointer is on one.
    """

    def __init__(self, context: CanvasContext, fixes: FixOffers) -> None:
        self._bus = context.bus
        self._graph = context.graph
        self._fixes = fixes
        self._viewport = context.view.viewport()
        self.target = EMPTY

    def over(self, target: Target) -> None:
        """The pointer is over this now."""
        if target == self.target:
            return
        self.target = target
        self._bus.hover(target.entity, CANVAS)
        self._fixes.hover(target.fix)
        cursor = _CURSORS.get(target.part)
        if cursor is None:
            self._viewport.unsetCursor()
        else:
            self._viewport.setCursor(cursor)

    def leave(self) -> None:
        """The pointer left, or a gesture began."""
        self.over(EMPTY)

    def tip(self) -> str:
        """A few words about what the pointer is over."""
        target, state, report = self.target, self._graph.state, self._graph.report
        if target.wire is not None and target.wire in self._graph.wires:
            card = wire_card(report, target.wire)
            ends = [state.nodes[i].name for i in (target.wire.source, target.wire.target)]
            return f"{' → '.join(ends)}\n{card.shape or 'shape unknown'}"
        if target.fix is not None:
            return target.fix.fix.label
        item = self._graph.nodes.get(target.node)
        if item is None or not (item.node.flows or item.node.is_block):
            return ""
        card_ = item.card
        if item.node.port:
            return _port_tip(state, report, item.node)
        if target.port is not None:
            return _layer_port_tip(state, card_, target.port)
        lines = [f"{card_.title}: {card_.subtitle}", *_port_names(card_)]
        if card_.condition != "ok":
            lines.append(card_.message or card_.condition)
        picture = self._graph.picture_of(target.node)
        if picture is not None:
            lines.append(f"{picture.output}: {picture.text}" if picture.output else picture.text)
        lines += [f"{p.message}\n{p.hint}".strip() for p in report.problems_of(target.node)
                  if p.message != card_.message]  # fmt: skip
        return "\n".join(lines)


def _port_names(card: NodeCard) -> list[str]:
    """The ports of a block by name: on its card there may not be room for all of a name."""
    sides = (("Inputs", card.ports_in), ("Outputs", card.ports_out))
    return [f"{side}: {', '.join(name for _, name in ports)}" for side, ports in sides if ports]


def _layer_port_tip(state: DocumentState, card: NodeCard, key: PortKey) -> str:
    """A port of a layer: which it is, the type of what passes it, what can be done with it."""
    if key.side == "out":
        which = f"Output {key.slot}" if card.outputs > 1 else "Output"
        found = shown_type(state, Port(card.node.id, key.slot))
        said = "type unknown" if found is None else str(found)
        return f"{which} of {card.title}\n{said}\nDrag to connect, Ctrl+drag to move all wires"
    which = f"Input {input_name(card.node, key.slot)} of {card.title}"
    hint = "Connect it by dragging from an output"
    wired = card.node.inputs[key.slot : key.slot + 1]
    if not wired:
        return f"{which}\n{hint}"
    found = shown_type(state, wired[0])
    said = "type unknown" if found is None else str(found)
    return f"{which}, from {feeder_text(state, wired[0])}\n{said}\n{hint}"


def _port_tip(state: DocumentState, report: Report, port: CanvasNode) -> str:
    """A port of a block: which it is and what passes it."""
    side = "Input" if port.port == "in" else "Output"
    block = state.nodes.get(port.parent)
    shape = report.status(port.id).shape
    said = f"{side} {port.name} of {block.name}" if block is not None else f"{side} {port.name}"
    if port.inputs:
        said = f"{said}, from {feeder_text(state, port.inputs[0])}"
    return f"{said}\n{'shape unknown' if shape is None else shape_label(shape)}"
