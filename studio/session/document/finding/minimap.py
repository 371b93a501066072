"""The graph as a few rectangles, for the map in the corner of the canvas."""

from __future__ import annotations

from typing import NamedTuple

from studio.session.document.cards.families import Family, family_of
from studio.session.document.cards.geometry import Box, bounds, box_of
from studio.session.document.cards.sizes import sizes_in
from studio.session.document.level_view import layers_inside, worst_of
from studio.session.document.levels import TOP, members
from studio.session.document.report import NodeCondition, Report
from studio.session.document.state import CanvasNode, DocumentState, NodeKind

MARGIN = 80.0


class MapMark(NamedTuple):
    """One thing on the map."""

    id: str
    box: Box
    kind: NodeKind
    family: Family
    condition: NodeCondition


class GraphMap(NamedTuple):
    """The area the map covers, and what is on it; frames first, since they lie behind."""

    area: Box
    marks: tuple[MapMark, ...]

    def scale(self, width: float, height: float) -> float:
        """Pixels of the map for one of the canvas, so that the area fits."""
        return min(width / self.area.width, height / self.area.height)

    def to_map(self, box: Box, width: float, height: float) -> Box:
        """Where a rectangle of the canvas lies on a map of a size, centred."""
        scale = self.scale(width, height)
        left = (width - self.area.width * scale) / 2
        top = (height - self.area.height * scale) / 2
        return Box(
            left + (box.x - self.area.x) * scale,
            top + (box.y - self.area.y) * scale,
            box.width * scale,
            box.height * scale,
        )

    def to_canvas(self, x: float, y: float, width: float, height: float) -> tuple[float, float]:
        """The place on the canvas of a point on a map of a size."""
        scale = self.scale(width, height)
        left = (width - self.area.width * scale) / 2
        top = (height - self.area.height * scale) / 2
        return self.area.x + (x - left) / scale, self.area.y + (y - top) / scale

    def fits(self, seen: Box) -> bool:
        """Whether all of the graph is in sight, so that no map is needed."""
        return seen.contains(self.area.grown(-MARGIN))


def graph_map(state: DocumentState, report: Report, level: str = TOP) -> GraphMap | None:
    """The map of what stands at a level; None where that is nothing."""
    nodes, size_of = members(state, level), sizes_in(state)
    area = bounds(nodes, size_of)
    if area is None:
        return None
    marks = [
        MapMark(
            node.id,
            box_of(node, size_of),
            node.kind,
            "block" if node.is_block else family_of(node.type_name),
            _condition(state, report, node),
        )
        for node in nodes
    ]
    marks.sort(key=lambda mark: mark.kind != "frame")
    return GraphMap(area.grown(MARGIN), tuple(marks))


def _condition(state: DocumentState, report: Report, node: CanvasNode) -> NodeCondition:
    if node.is_block:
        return worst_of(report, layers_inside(state, node.id))
    return report.status(node.id).state if node.flows else "ok"
