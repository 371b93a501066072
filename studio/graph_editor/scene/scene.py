"""The drawing as items: made from a document, kept in step with it, asked what lies where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from PySide6.QtCore import QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QGraphicsScene

from studio.engine.core.signal import Signal
from studio.graph_editor.items.block_item import AnchorItem, BlockItem, PortItem
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.items import CanvasItem, DotItem, FrameItem, NoteItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_item import NodeItem
from studio.graph_editor.items.node_picture import NodePicture, PictureOf, no_picture
from studio.graph_editor.items.wire_item import CHIP_ZOOM, WireItem
from studio.graph_editor.items.wire_paths import wire_path
from studio.graph_editor.scene.wire_ways import WireWays
from studio.session.document.cards.card import card_of, wire_card
from studio.session.document.change import Change
from studio.session.document.level_view import drawn_at, level_state
from studio.session.document.levels import TOP, blocks_around, level_of_wire, shown_at
from studio.session.document.report import Report
from studio.session.document.state import DocumentState, Wire

_BOXES = Qt.ItemSelectionMode.IntersectsItemBoundingRect


class GraphScene(QGraphicsScene):
    """Items for everything at one level of a document: at the top, or in the open block.

    Args:
        colours: what they paint with.
        parent: owner.
    """

    def __init__(
        self,
        colours: CanvasColours,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.redrawn: Signal[[]] = Signal()
        self.ghosts_changed: Signal[[]] = Signal()
        self.level_changed: Signal[[]] = Signal()
        self.ghosts = 0
        self.colours = colours
        self.nodes: dict[str, CanvasItem] = {}
        self.wires: dict[Wire, WireItem] = {}
        self._state = DocumentState()
        self._report = Report()
        self._level = TOP
        self._picture_of: PictureOf = no_picture
        self._style = "curve"
        self._near = True
        self._by_node: dict[str, set[Wire]] = {}
        self._ways = WireWays(self)
        self._content: QRectF | None = None

    def use_pictures(self, picture_of: PictureOf) -> None:
        """Set where previews of layers come from."""
        self._picture_of = picture_of

    def picture_of(self, node_id: str) -> NodePicture | None:
        return self._picture_of(node_id)

    @property
    def state(self) -> DocumentState:
        return self._state

    @property
    def report(self) -> Report:
        return self._report

    @property
    def level(self) -> str:
        """The id of the open block; empty at the top."""
        return self._level

    @property
    def seen(self) -> DocumentState:
        """What is drawn, as a state of its own, blocks as layers."""
        return level_state(self._state, self._level)

    def show_state(self, state: DocumentState, report: Report) -> None:
        """Draw another document, from its top."""
        self._draw(state, report, TOP)

    def open_level(self, level: str) -> None:
        """Draw what is inside a block; the top for an empty id."""
        if level != self._level:
            self._draw(self._state, self._report, level)

    def _draw(self, state: DocumentState, report: Report, level: str) -> None:
        for wire in tuple(self.wires):
            self._remove_wire(wire)
        for node_id in tuple(self.nodes):
            self._remove_node(node_id)
        self._state, self._report = state, report
        entered, self._level = level != self._level, level
        for node_id in drawn_at(state, level):
            self._add_node(node_id)
        for wire in state.wires():
            if self._is_here(wire):
                self._add_wire(wire)
        self._ways.settle()
        self._keep_apart()
        if entered:
            self.level_changed.emit()
        self._told()

    def apply(self, change: Change, *, is_final: bool = True) -> None:
        """Follow one step of the document; conditions follow with `show_report`.

        Until the step is final, as while something is dragged, wires keep their ways past what
        moved: it may be meant to go into one of them. `settle_wires` leads them on.
        """
        way = (self._level, *blocks_around(change.before, self._level))
        still = next((i for i in way if i in change.after.nodes), TOP)
        if still != self._level:
            # The open block is gone: what it stood in is shown.
            self._draw(change.after, self._report, still)
            return
        self._state = change.after
        self._ways.are_held = not is_final
        drawn = drawn_at(change.after, self._level)
        touched = {*change.added, *change.removed, *change.modified}
        for wire in tuple(self.wires):
            is_seen = wire.source in drawn and wire.target in drawn
            if not is_seen or (wire.target in touched and not self._exists(wire)):
                self._remove_wire(wire)
        for node_id in [i for i in self.nodes if i not in drawn]:
            self._remove_node(node_id)
        moved = {node_id for node_id in drawn if node_id not in self.nodes}
        for node_id in drawn:
            if node_id in moved:
                self._add_node(node_id)
        # A port comes into sight with its block and is not changed itself.
        fed = {*change.added, *change.modified, *moved}
        for node_id in self._blocks_around(change):
            if self._update_node(node_id):
                moved.add(node_id)
        for node_id in change.modified:
            if node_id in self.nodes and self._update_node(node_id):
                moved.add(node_id)
        self._settle_ports(moved)
        for node_id in (i for i in drawn if i in fed):
            for wire in change.after.wires_into(node_id):
                if wire not in self.wires and self._is_here(wire):
                    self._add_wire(wire)
        self._reroute(moved)
        self._told()

    def show_report(self, report: Report) -> None:
        """Show how every layer and wire is."""
        self._report = report
        moved = {
            node_id
            for node_id, item in self.nodes.items()
            if item.show_card(card_of(self._state, report, node_id))
        }
        self._settle_ports(moved)
        for wire, item in self.wires.items():
            card = wire_card(report, wire)
            item.show_state(card.condition, card.shape)
        self._reroute(moved)
        self._told()

    def show_colours(self, colours: CanvasColours) -> None:
        """Paint with other colours."""
        self.colours = colours
        for item in self.nodes.values():
            item.show_colours(colours)
        for wire in self.wires.values():
            wire.show_colours(colours)
        self._told()

    def set_wire_style(self, style: str) -> None:
        """Draw wires as curves, right angles or straight lines."""
        self._style = style
        self._reroute(set(self.nodes))
        self._told()

    @property
    def wire_style(self) -> str:
        return self._style

    def place(self, places: Mapping[str, QPointF], *, is_final: bool) -> None:
        """Draw things elsewhere for a moment, their wires led straight on; at the end as ever."""
        for node_id, at in places.items():
            if node_id in self.nodes:
                self.nodes[node_id].setPos(at)
        moved = set(places)
        self._settle_ports(moved)
        if is_final:
            self._reroute(moved)
            self._told()
            return
        for wire in {w for node_id in moved for w in self._by_node.get(node_id, ())}:
            start, end = self._ends(wire)
            beside = self.nodes[wire.source].room_beside_outputs()
            self.wires[wire].route(wire_path(start, end, self._style), start, end, beside)

    def settle_wires(self) -> None:
        """Lead wires past what was moved while they kept their ways."""
        if self._ways.are_held:
            self._ways.are_held = False
            self._reroute(set())

    def set_zoom(self, zoom: float) -> None:
        """Wires carry their shapes only where they can be read."""
        near = zoom >= CHIP_ZOOM
        if near != self._near:
            self._near = near
            for item in self.wires.values():
                item.chip.set_near(near)

    def refresh_pictures(self, node_ids: Iterable[str]) -> None:
        """Draw layers again whose preview changed."""
        for node_id in node_ids:
            if node_id in self.nodes:
                self.nodes[node_id].update()

    # -- asking ---------------------------------------------------------------------------------

    def content_area(self) -> QRectF:
        """The smallest rectangle around everything in the document."""
        if self._content is None:
            self._content = self.area_of(self.nodes)
        return self._content

    def area_of(self, node_ids: Iterable[str]) -> QRectF:
        """The smallest rectangle around some things."""
        area = QRectF()
        for node_id in node_ids:
            if node_id in self.nodes:
                area = area.united(self.nodes[node_id].scene_area)
        return area

    def port_place(self, node_id: str, key: PortKey) -> QPointF:
        return self.nodes[node_id].port_place(key)

    def nodes_near(self, area: QRectF) -> Iterator[CanvasItem]:
        """Things of the document whose surroundings meet an area, uppermost first; no ghosts."""
        for item in self.items(area, _BOXES):
            if isinstance(item, CanvasItem) and self.nodes.get(item.node.id) is item:
                yield item

    def wires_near(self, area: QRectF) -> Iterator[WireItem]:
        """Wires whose bounding rectangle meets an area, uppermost first."""
        return (item for item in self.items(area, _BOXES) if isinstance(item, WireItem))

    def wires_within(self, at: QPointF, reach: float) -> list[tuple[Wire, float]]:
        """Wires nearer to a point than ``reach`` and how far they are, nearest first."""
        area = QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach)
        found = [(item.wire, item.distance_to(at)) for item in self.wires_near(area)]
        return sorted((f for f in found if f[1] <= reach), key=lambda f: f[1])

    def _told(self) -> None:
        self._content = None
        self.redrawn.emit()

    # -- keeping in step ------------------------------------------------------------------------

    def _is_here(self, wire: Wire) -> bool:
        """Whether a wire is drawn at this level."""
        return (
            wire.source in self.nodes
            and wire.target in self.nodes
            and level_of_wire(self._state, wire) == self._level
        )

    def _blocks_around(self, change: Change) -> list[str]:
        """Cards of blocks that something was changed in."""
        found: dict[str, None] = {}
        for state, ids in (
            (change.before, change.removed), (change.before, change.modified),
            (change.after, change.added), (change.after, change.modified),
        ):  # fmt: skip
            for node_id in ids:
                card = shown_at(state, node_id, self._level)
                if card != node_id and card in self.nodes:
                    found[card] = None
        return list(found)

    def _settle_ports(self, moved: set[str]) -> None:
        """Put the ports of cards that were moved where these have them; they count as moved."""
        for node_id in tuple(moved):
            block = self.nodes.get(node_id)
            if isinstance(block, BlockItem):
                ports = [self.nodes[i] for i in block.ports if i in self.nodes]
                for port in ports:
                    if isinstance(port, PortItem):
                        port.settle()
                moved.update(port.node.id for port in ports)

    def _exists(self, wire: Wire) -> bool:
        node = self._state.nodes.get(wire.target)
        return (
            node is not None
            and wire.slot < len(node.inputs)
            and node.inputs[wire.slot] == wire.port
            and level_of_wire(self._state, wire) == self._level
        )

    def _add_node(self, node_id: str) -> None:
        card = card_of(self._state, self._report, node_id)
        block = self.nodes.get(card.node.parent)
        item: CanvasItem
        if card.node.port and isinstance(block, BlockItem):
            item = PortItem(card, self.colours, block)
        elif card.node.port:
            item = AnchorItem(card, self.colours)
        elif card.node.kind == "block":
            item = BlockItem(card, self.colours, self.picture_of)
        elif card.node.kind == "dot":
            item = DotItem(card, self.colours)
        elif card.node.kind == "note":
            item = NoteItem(card, self.colours)
        elif card.node.kind == "frame":
            item = FrameItem(card, self.colours)
        else:
            item = NodeItem(card, self.colours, self.picture_of)
        self.nodes[node_id] = item
        self._ways.note(node_id)
        self.addItem(item)

    def _update_node(self, node_id: str) -> bool:
        """Show a node's new state with the old report; whether its ports are elsewhere."""
        item = self.nodes[node_id]
        node = self._state.nodes[node_id]
        card = card_of(self._state, self._report, node_id)
        is_same = node.config is item.node.config and node.inputs is item.node.inputs
        if is_same and node.kind != "block" and not node.port:
            card = replace(item.card, node=node)
        return item.show_card(card)

    def _remove_node(self, node_id: str) -> None:
        self.removeItem(self.nodes.pop(node_id))
        self._ways.note(node_id)
        self._by_node.pop(node_id, None)

    def _add_wire(self, wire: Wire) -> None:
        item = WireItem(wire, self.colours)
        item.chip.set_near(self._near)
        card = wire_card(self._report, wire)
        item.show_state(card.condition, card.shape)
        self.wires[wire] = item
        for end in (wire.source, wire.target):
            self._by_node.setdefault(end, set()).add(wire)
        self._route(item)
        self.addItem(item)
        self.addItem(item.chip)
        self._choose_leading(wire.source)
        self._show_taken(wire.target)

    def _show_taken(self, node_id: str) -> None:
        """A port of a card is filled while a wire ends there."""
        item = self.nodes.get(node_id)
        if isinstance(item, PortItem):
            item.show_taken(any(wire.target == node_id for wire in self._by_node.get(node_id, ())))

    def _remove_wire(self, wire: Wire) -> None:
        item = self.wires.pop(wire)
        self._ways.forget(wire)
        for end in (wire.source, wire.target):
            self._by_node.get(end, set()).discard(wire)
        self.removeItem(item.chip)
        self.removeItem(item)
        self._choose_leading(wire.source)
        self._show_taken(wire.target)

    def _choose_leading(self, source: str) -> None:
        """Of the wires that leave an output, the first carries their shape."""
        seen: set[int] = set()
        for wire in self._state.wires_from(source):
            if wire in self.wires:
                self.wires[wire].chip.set_leading(wire.output not in seen)
                seen.add(wire.output)

    def _reroute(self, node_ids: set[str]) -> None:
        """Lead the wires of things again, and those that pass by where these stood or stand."""
        wires = {w for node_id in node_ids for w in self._by_node.get(node_id, ())}
        for wire in wires | self._ways.passing(node_ids):
            self._route(self.wires[wire])
        self._keep_apart()

    def _keep_apart(self) -> None:
        """Lead wires beside each other that would lie on each other."""
        for wire, path in self._ways.side_by_side().items():
            self._lead(self.wires[wire], path)

    def _route(self, item: WireItem) -> None:
        self._lead(item, self._ways.path(item.wire, *self._ends(item.wire)))

    def _lead(self, item: WireItem, path: QPainterPath) -> None:
        beside = self.nodes[item.wire.source].room_beside_outputs()
        item.route(path, *self._ends(item.wire), beside)

    def _ends(self, wire: Wire) -> tuple[QPointF, QPointF]:
        source, target = self.nodes[wire.source], self.nodes[wire.target]
        start = source.port_place(PortKey("out", wire.output))
        return start, target.port_place(PortKey("in", wire.slot))
