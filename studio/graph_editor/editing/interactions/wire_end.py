"""Where a wire that is being drawn would end: snapped to a port, on a body, nearly, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QPointF, QRectF

from studio.graph_editor.items.block_item import AnchorItem, BlockItem, PortItem
from studio.graph_editor.items.items import CanvasItem, DotItem
from studio.graph_editor.items.marks import PortKey, PortMark, Side
from studio.graph_editor.scene.scene import GraphScene
from studio.session.document.edits.link_offers import LinkOffer

SNAP_REACH, MISS_REACH = 16.0, 28.0
"""Distances on the screen: a wire snaps to a port, and was meant for one."""

EndPlace: TypeAlias = Literal["port", "body", "miss", "empty"]


class WireEnd(NamedTuple):
    """Where the loose end is.

    Attributes:
        place: on or near a port, on a layer, beside a port, or on nothing.
        node: the layer or dot there.
        port: the port there.
        offer: what would come of ending here.
    """

    place: EndPlace = "empty"
    node: str = ""
    port: PortKey | None = None
    offer: LinkOffer = LinkOffer()


class WireEnds:
    """Finds the end for a place of the pointer.

    Args:
        graph: the drawing.
        side: which ports count: inputs for a wire from an output.
        offers: what every layer and dot says.
    """

    def __init__(self, graph: GraphScene, side: Side, offers: Mapping[str, LinkOffer]) -> None:
        self._graph = graph
        self._side = side
        self._offers = offers

    def at(self, place: QPointF, zoom: float) -> WireEnd:
        """The end at a point of the canvas."""
        reach = MISS_REACH / zoom
        area = QRectF(place.x() - reach, place.y() - reach, 2 * reach, 2 * reach)
        near = [
            item
            for item in self._graph.nodes_near(area)
            if item.node.id in self._offers and self._is_open(item)
        ]
        port = self._nearest(near, place)
        if port is not None and port[0] <= SNAP_REACH / zoom:
            return self._end("port", port[1], port[2])
        for item in near:
            if item.holds(place):
                return self._end("body", item, None)
        free = self._free_port_of_card(area, place)
        if free is not None:
            return self._end("port", free, next(iter(free.spots())))
        if port is not None and port[0] <= reach:
            return self._end("miss", port[1], port[2])
        return WireEnd()

    def marks(
        self, end: WireEnd, blink: bool = False
    ) -> tuple[dict[str, dict[PortKey, PortMark]], list[str]]:
        """Marks of all ports while the wire is drawn, and the layers to dim."""
        ports: dict[str, dict[PortKey, PortMark]] = {}
        dimmed = []
        for node_id, offer in self._offers.items():
            if not offer.accepted:
                dimmed.append(node_id)
            elif (item := self._graph.nodes.get(node_id)) is not None:
                if not self._is_open(item):
                    continue
                keys = [k for k in item.spots() if k.side == self._side]
                ports[node_id] = dict.fromkeys(self._offered(keys, offer), "good")
        key = end.port or self._port_of(end)
        if end.place in ("port", "body") and key is not None:
            ports.setdefault(end.node, {})[key] = "snap" if end.offer.accepted else "bad"
        elif blink and key is not None:
            ports = {end.node: {key: "blink"}}
        return ports, [] if blink else dimmed

    def _free_port_of_card(self, area: QRectF, place: QPointF) -> PortItem | None:
        """Of the block at a place, the nearest port that nothing is connected to."""
        for card in self._graph.nodes_near(area):
            if not isinstance(card, BlockItem) or not card.holds(place):
                continue
            ports = [self._graph.nodes.get(port) for port in card.ports]
            free = [
                port
                for port in ports
                if isinstance(port, PortItem)
                and self._is_open(port)
                and not port.is_taken
                and self._offers.get(port.node.id, LinkOffer()).accepted
            ]
            return min(free, key=lambda port: abs(port.y() - place.y()), default=None)
        return None

    def _is_open(self, item: CanvasItem) -> bool:
        """Whether the wire may end at an item: of a block's port only one side is at this level."""
        is_port = isinstance(item, PortItem | AnchorItem)
        return not is_port or any(key.side == self._side for key in item.spots())

    def _port_of(self, end: WireEnd) -> PortKey | None:
        """The port a wire dropped on a body takes."""
        if end.offer.slot is None:
            return None
        return PortKey("out") if self._side == "out" else PortKey("in", end.offer.slot)

    def _offered(self, keys: list[PortKey], offer: LinkOffer) -> list[PortKey]:
        if self._side == "out":
            return keys
        slot = offer.slot
        return [k for k in keys if slot is not None and (k.slot <= slot or offer.replacing)]

    def _end(self, place: EndPlace, item: CanvasItem, port: PortKey | None) -> WireEnd:
        return WireEnd(place, item.node.id, port, self._offers[item.node.id])

    def _nearest(
        self, near: list[CanvasItem], place: QPointF
    ) -> tuple[float, CanvasItem, PortKey] | None:
        """The nearest port that counts; a dot's place is its port."""
        best: tuple[float, CanvasItem, PortKey] | None = None
        for item in near:
            for key, spot in item.spots().items():
                if key.side != self._side and not isinstance(item, DotItem):
                    continue
                gap = item.pos() + spot - place
                away = float((gap.x() ** 2 + gap.y() ** 2) ** 0.5)
                if best is None or away < best[0]:
                    best = away, item, PortKey(self._side, key.slot)
        return best
