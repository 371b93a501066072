"""What lies under the pointer, as the hand means it: hit areas are larger than what is drawn."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QTransform

from studio.graph_editor.editing.fix_chips import FixChip
from studio.graph_editor.items.block_item import AnchorItem, PortItem
from studio.graph_editor.items.items import CanvasItem, CommentItem
from studio.graph_editor.items.marks import PortKey
from studio.graph_editor.items.node_item import NodeItem
from studio.graph_editor.scene.scene import GraphScene
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.state import Wire

PORT_REACH = 12.0
"""Half the side of a port's hit area, on the screen."""

WIRE_REACH = 7.0
EDGE = 7.0
"""How far inside a layer its edge can be taken hold of, to draw a wire."""

Part: TypeAlias = Literal[
    "empty", "port", "edge", "title", "corner", "body", "dot", "handle", "fix", "wire"
]


class Target(NamedTuple):
    """One thing under the pointer.

    Attributes:
        part: which part of it.
        node: its layer, dot, note or frame, or empty.
        port: its port, for ports and edges.
        wire: the wire.
        fix: the repair offered there.
    """

    part: Part = "empty"
    node: str = ""
    port: PortKey | None = None
    wire: Wire | None = None
    fix: FixChip | None = None

    @property
    def entity(self) -> Entity | None:
        """The layer or wire, as the selection knows it."""
        if self.wire is not None:
            return entities.wire(*self.wire)
        return entities.node(self.node) if self.node else None


EMPTY = Target()


def pick(scene: GraphScene, at: QPointF, seen: QTransform) -> Target:
    """What is at a point of the canvas, as the view shows it."""
    zoom = seen.m11()
    reach = PORT_REACH / zoom
    area = QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach)
    order = Qt.SortOrder.DescendingOrder
    for chip in scene.items(at, Qt.ItemSelectionMode.IntersectsItemBoundingRect, order, seen):
        if isinstance(chip, FixChip):
            return Target("fix", chip.node_id, fix=chip)
    near = list(scene.nodes_near(area))
    return (
        pick_port(near, at, reach)
        or next((_part(item, at, zoom) for item in near if item.holds(at)), None)
        or pick_wire(scene, at, WIRE_REACH / zoom)
        or EMPTY
    )


def pick_port(near: list[CanvasItem], at: QPointF, reach: float) -> Target | None:
    """The nearest port within reach; a dot is taken by its middle, not by its ports."""
    best: tuple[float, Target] | None = None
    for item in near:
        if not isinstance(item, NodeItem | PortItem | AnchorItem):
            continue
        depth = min(reach, item.area.width() / 6)
        inside = item.scene_area.adjusted(depth, 0, -depth, 0).contains(at)
        inside = inside and not isinstance(item, PortItem)
        for key, spot in item.spots().items():
            gap = item.pos() + spot - at
            if inside or max(abs(gap.x()), abs(gap.y())) > reach:
                continue
            away = gap.x() ** 2 + gap.y() ** 2
            if best is None or away < best[0]:
                best = away, Target("port", item.node.id, port=key)
    return None if best is None else best[1]


def pick_wire(scene: GraphScene, at: QPointF, reach: float) -> Target | None:
    """The nearest wire within reach."""
    found = scene.wires_within(at, reach)
    return Target("wire", wire=found[0][0]) if found else None


def _part(item: CanvasItem, at: QPointF, zoom: float) -> Target:
    node_id = item.node.id
    if isinstance(item, CommentItem):
        return Target("handle" if item.handle().contains(at) else "body", node_id)
    if isinstance(item, PortItem):
        return Target("port", node_id, next(iter(item.spots())))
    if isinstance(item, AnchorItem):
        return Target("title", node_id)
    if not isinstance(item, NodeItem):
        return Target("dot", node_id)
    area = item.scene_area
    reach = EDGE if zoom >= 1 else EDGE / zoom
    wide = area.width() > 4 * reach
    if wide and item.card.has_output and at.x() > area.right() - reach:
        return Target("edge", node_id, PortKey("out"))
    if wide and item.card.inputs and at.x() < area.left() + reach:
        return Target("edge", node_id, PortKey("in", min(item.card.filled, item.card.inputs - 1)))
    if item.corner_area().contains(at):
        return Target("corner", node_id)
    return Target("title" if item.title_area().contains(at) else "body", node_id)
