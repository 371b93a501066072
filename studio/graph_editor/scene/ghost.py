"""Ghosts: how the drawing would look after an edit that has not been made."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from studio.graph_editor.items.block_item import AnchorItem, BlockItem, PortItem, host_of
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import FADED, OVER_LEVEL, CanvasItem, DotItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_item import NodeItem
from studio.graph_editor.items.wire_paths import wire_path
from studio.graph_editor.scene.scene import GraphScene
from studio.session.document.cards.card import NodeCard, card_of
from studio.session.document.report import Report
from studio.session.document.state import CanvasNode, DocumentState, Wire

_FAINT = 0.85


class GhostItem(NodeItem):
    """A layer that is not there yet."""

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        super().paint(painter, option, widget)
        _paint_border(painter, self)


class GhostBlock(BlockItem):
    """A block that is not there yet."""

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        super().paint(painter, option, widget)
        _paint_border(painter, self)


def _paint_border(painter: QPainter, item: NodeItem) -> None:
    painter.setPen(item.colours.ghost_pen)
    painter.setBrush(item.colours.nothing)
    painter.drawRoundedRect(item.area.adjusted(-2, -2, 2, 2), 10, 10)


class Ghost:
    """The layers and wires an edit would add or change, drawn over the graph.

    Args:
        scene: what they are drawn over.
    """

    def __init__(self, scene: GraphScene) -> None:
        self._scene = scene
        self._nodes: dict[str, CanvasItem] = {}
        self._ports: dict[str, PortItem] = {}
        self._wires: list[QGraphicsPathItem] = []
        self._faded: list[str] = []
        self._hidden: list[Wire] = []

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self._nodes)

    @property
    def wires(self) -> tuple[QGraphicsPathItem, ...]:
        return tuple(self._wires)

    def area(self) -> QRectF:
        """The smallest rectangle around the ghosts of layers."""
        area = QRectF()
        for item in self._nodes.values():
            area = area.united(item.scene_area)
        return area

    def show(
        self, before: DocumentState, after: DocumentState, report: Report, colours: CanvasColours
    ) -> None:
        """Show what differs between two states: new and changed layers, new wires, wires gone."""
        self.clear()
        changed = [
            node_id
            for node_id, node in after.nodes.items()
            if self._is_drawn_here(node)
            and (node_id not in before.nodes or _looks(node) != _looks(before.nodes[node_id]))
        ]
        for node_id in changed:
            item = _ghost_of(card_of(after, report, node_id), colours)
            self._nodes[node_id] = item
            self._add(item)
            if isinstance(item, GhostBlock):
                for port_id in item.ports:
                    port = PortItem(card_of(after, report, port_id), colours, item)
                    port.show_taken(bool(port.node.inputs))
                    self._ports[port_id] = port
                    self._add(port)
        old, new = set(before.wires()), set(after.wires())
        moved = {*self._nodes, *self._ports}
        touched = {w for w in new & old if w.target in moved or w.source in moved}
        for wire in sorted((new - old) | touched):
            self._add_wire(wire, colours)
        gone = [i for i in before.nodes if i not in after.nodes]
        self._fade([*changed, *self._ports, *gone], (old - new) | touched)
        self._tell()

    def _is_drawn_here(self, node: CanvasNode) -> bool:
        """Whether it stands at the level in sight; ports of its blocks come with these."""
        item = self._scene.nodes.get(node.id)
        return node.parent == self._scene.level if item is None else not isinstance(item, PortItem)

    def clear(self) -> None:
        """Take the ghosts away."""
        for item in (*self._nodes.values(), *self._ports.values(), *self._wires):
            self._scene.removeItem(item)
        for wire in self._hidden:
            if wire in self._scene.wires:
                self._scene.wires[wire].setOpacity(1.0)
                self._scene.wires[wire].chip.setOpacity(1.0)
        for node_id in self._faded:
            if node_id in self._scene.nodes:
                self._scene.nodes[node_id].fade(False)
        self._faded.clear()
        self._nodes.clear()
        self._ports.clear()
        self._wires.clear()
        self._hidden.clear()
        self._tell()

    def _fade(self, node_ids: Iterable[str], wires: Iterable[Wire]) -> None:
        """Let what would change or go be hardly seen where it is now."""
        for node_id in node_ids:
            if node_id in self._scene.nodes:
                self._scene.nodes[node_id].fade(True)
                self._faded.append(node_id)
        for wire in wires:
            item = self._scene.wires.get(wire)
            if item is not None:
                item.setOpacity(FADED)
                item.chip.setOpacity(FADED)
                self._hidden.append(wire)

    def _tell(self) -> None:
        if self._scene.ghosts != len(self._nodes):
            self._scene.ghosts = len(self._nodes)
            self._scene.ghosts_changed.emit()

    def paint_far(self, painter: QPainter) -> None:
        """Draw the ghosts as blocks, where the graph is one picture."""
        for item in self._nodes.values():
            painter.fillRect(item.scene_area, item.colours.accent)

    def _add(self, item: CanvasItem) -> None:
        item.setOpacity(_FAINT)
        item.setZValue(OVER_LEVEL)
        self._scene.addItem(item)

    def _add_wire(self, wire: Wire, colours: CanvasColours) -> None:
        start, end = self._item(wire.source), self._item(wire.target)
        if start is None or end is None:
            return
        slot = PortKey("in", wire.slot)
        path = wire_path(
            start.port_place(PortKey("out", wire.output)),
            end.port_place(slot if slot in end.spots() else PortKey("in")),
            self._scene.wire_style,
            max(host_of(start).scene_area.bottom(), host_of(end).scene_area.bottom()) + 24,
        )
        item = QGraphicsPathItem(path)
        item.setPen(colours.ghost_pen)
        item.setZValue(OVER_LEVEL - 1)
        self._wires.append(item)
        self._scene.addItem(item)

    def _item(self, node_id: str) -> CanvasItem | None:
        drawn = self._scene.nodes.get(node_id)
        return self._nodes.get(node_id) or self._ports.get(node_id) or drawn


def _ghost_of(card: NodeCard, colours: CanvasColours) -> CanvasItem:
    if card.node.kind == "dot":
        return AnchorItem(card, colours) if card.node.port else DotItem(card, colours)
    return GhostBlock(card, colours) if card.node.is_block else GhostItem(card, colours)


def _looks(node: CanvasNode) -> tuple[object, ...]:
    return (node.config, node.type_name, node.bypassed, node.x, node.y)
