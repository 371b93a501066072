"""The ways of wires past the layers of a drawing, and which wires to lead again after a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

from studio.engine.layers.graph import Port
from studio.graph_editor.items.block_item import host_of
from studio.graph_editor.items.items import CanvasItem
from studio.graph_editor.items.node_item import NodeItem
from studio.graph_editor.items.wire_paths import (
    bridge_path,
    detour_path,
    is_backward,
    meets,
    samples,
    wire_path,
)
from studio.graph_editor.scene.detours import Corners, Stretch, find_detour, stretches
from studio.session.document.cards.geometry import NODE_WIDTH
from studio.session.document.state import Wire

if TYPE_CHECKING:
    from studio.graph_editor.scene.scene import GraphScene

_AROUND = 64.0
"""How far beyond the two layers of a wire its detour may lead."""

_CLEAR = 14.0
_TOUCH = (-2.0, -6.0, 2.0, 6.0)
"""How much larger than a layer the area is that a wire keeps out of."""

_TRIES = 6
"""How often a free height for a wire is looked for."""

_MANY = 64
"""Of more changed areas, the one around all of them counts: asking for each would take longer."""


class _Sought(NamedTuple):
    """What the detour of a wire was looked for in, and the one that was found."""

    ends: tuple[QPointF, QPointF]
    hosts: tuple[QRectF, QRectF]
    obstacles: Sequence[QRectF]
    corners: Corners


class WireWays:
    """Finds the ways of wires, and knows whose way is affected by what.

    A wire depends on the layers on the straight line between its ends, and where these are in the
    way, on those above and below that its detour was chosen by.

    Args:
        graph: the drawing.
    """

    def __init__(self, graph: GraphScene) -> None:
        self.are_held = False
        self._graph = graph
        self._changed: set[str] = set()
        self._stood: dict[str, QRectF] = {}
        self._searched: dict[Wire, QRectF] = {}
        self._detours: dict[Wire, _Sought] = {}
        self._led: dict[Wire, Corners] = {}
        self._beside: dict[Wire, tuple[_Sought, list[Stretch], Corners]] = {}
        self._are_apart = True

    def note(self, node_id: str) -> None:
        """Something was added, removed, moved or changed in size."""
        self._changed.add(node_id)

    def settle(self) -> None:
        """All wires have been led past what stands now."""
        self.are_held = False
        self._changed_areas()

    def forget(self, wire: Wire) -> None:
        """A wire is gone."""
        self._searched.pop(wire, None)
        if self._detours.pop(wire, None) is not None:
            self._are_apart = False
        self._led.pop(wire, None)
        self._beside.pop(wire, None)

    def passing(self, changed: Iterable[str]) -> set[Wire]:
        """The wires that may have another way since things changed; none while ways are held."""
        self._changed.update(changed)
        if self.are_held:
            return set()
        found: set[Wire] = set()
        areas = [area.adjusted(*_TOUCH) for area in self._changed_areas()]
        if len(areas) > _MANY:
            areas = [_around(areas)]
        for area in areas:
            found.update(item.wire for item in self._graph.wires_near(area))
            found.update(w for w, searched in self._searched.items() if searched.intersects(area))
        return found

    def path(self, wire: Wire, start: QPointF, end: QPointF) -> QPainterPath:
        """The path of a wire: straight to its input, past layers that stand between, or around."""
        graph, style = self._graph, self._graph.wire_style
        source, target = (host_of(graph.nodes[each]) for each in (wire.source, wire.target))
        self.forget(wire)
        if is_backward(start, end):
            return self._detour(wire, (start, end), (source.scene_area, target.scene_area))
        if style != "straight" and end.x() - start.x() > NODE_WIDTH:
            search = _Search(graph, (source, target))
            way = search.way_past(start, end)
            if way is not None:
                self._searched[wire] = _around(search.areas)
                if _is_in_another_row(source.scene_area, target.scene_area):
                    return self._detour(wire, (start, end), (source.scene_area, target.scene_area))
                level, left, right = way
                return bridge_path(start, end, style, level, left, right)
        path = wire_path(start, end, style)
        hosts = source.scene_area, target.scene_area
        if style != "straight" and _is_in_another_row(*hosts) and self._meets_layers(path, hosts):
            return self._detour(wire, (start, end), hosts)
        return path

    def _meets_layers(self, path: QPainterPath, hosts: tuple[QRectF, QRectF]) -> bool:
        """Whether a path leads behind layers other than those it joins."""
        areas = [
            item.scene_area.adjusted(*_TOUCH)
            for item in self._graph.nodes_near(path.boundingRect())
            if isinstance(item, NodeItem) and item.scene_area not in hosts
        ]
        points = samples(path) if areas else []
        return any(meets(*ends, area) for ends in pairwise(points) for area in areas)

    def _detour(
        self, wire: Wire, ends: tuple[QPointF, QPointF], hosts: tuple[QRectF, QRectF]
    ) -> QPainterPath:
        """A way through the gaps between layers; `side_by_side` keeps several apart."""
        area = _around(hosts).adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND)
        near = [i.scene_area for i in self._graph.nodes_near(area) if isinstance(i, NodeItem)]
        obstacles = [each for each in near if each.intersects(area)]
        corners = find_detour(ends, hosts, obstacles)
        self._searched[wire] = area
        self._detours[wire] = _Sought(ends, hosts, obstacles, corners)
        self._led[wire] = corners
        self._are_apart = False
        return detour_path(corners)

    def side_by_side(self) -> dict[Wire, QPainterPath]:
        """Other ways for wires that would lie on those of other outputs.

        Each gives way to those before it in one order, so that ways do not depend on what happened
        before.
        """
        found: dict[Wire, QPainterPath] = {}
        if self._are_apart or self.are_held:
            return found
        self._are_apart = True
        taken: list[tuple[Port, Stretch]] = []
        for wire in sorted(self._detours):
            sought = self._detours[wire]
            others = [part for port, part in taken if port != wire.port]
            corners, parts = sought.corners, stretches(sought.corners)[1:-1]
            if any(part.shares(other) for part in parts for other in others):
                corners = self._way_beside(wire, sought, others)
                parts = stretches(corners)[1:-1]
            taken += [(wire.port, part) for part in parts]
            if corners != self._led[wire]:
                self._led[wire] = corners
                found[wire] = detour_path(corners)
        return found

    def _way_beside(self, wire: Wire, sought: _Sought, others: list[Stretch]) -> Corners:
        """A detour apart from others; it is looked for again only when these are elsewhere."""
        kept = self._beside.get(wire)
        if kept is None or kept[0] is not sought or kept[1] != others:
            corners = find_detour(sought.ends, sought.hosts, sought.obstacles, others)
            kept = self._beside[wire] = sought, others, corners
        return kept[2]

    def _changed_areas(self) -> list[QRectF]:
        """Where what changed stood and stands, as far as wires keep clear of it."""
        found: list[QRectF] = []
        for node_id in self._changed:
            item = self._graph.nodes.get(node_id)
            now = item.scene_area if isinstance(item, NodeItem) else None
            before = self._stood.pop(node_id, None)
            if now is not None:
                self._stood[node_id] = now
            if now != before:
                found += [area for area in (before, now) if area is not None]
        self._changed.clear()
        return found


class _Search:
    """Looks for the way of one wire.

    Args:
        graph: the drawing.
        ends: what the wire joins; it never is in the way.

    Attributes:
        areas: where was looked.
    """

    def __init__(self, graph: GraphScene, ends: tuple[CanvasItem, CanvasItem]) -> None:
        self.areas: list[QRectF] = []
        self._graph = graph
        self._ends = ends

    def way_past(self, start: QPointF, end: QPointF) -> tuple[float, float, float] | None:
        """A free height, and where what is in the way begins and ends; None when nothing is."""
        hit = self._in_the_way(start, end)
        if hit.isEmpty():
            return None
        levels = [self._level(hit, up=up) for up in (True, False)]
        middle = (start.y() + end.y()) / 2
        level = min(levels, key=lambda each: abs(each - middle))
        left = min(max(hit.left() - _CLEAR, start.x() + 8), end.x())
        right = max(min(hit.right() + _CLEAR, end.x() - 8), left)
        return level, left, right

    def _level(self, hit: QRectF, *, up: bool) -> float:
        """A height above or below what is in the way that meets nothing else."""
        for _ in range(_TRIES):
            level = hit.top() - _CLEAR if up else hit.bottom() + _CLEAR
            more = self._in_the_way(QPointF(hit.left(), level), QPointF(hit.right(), level))
            if more.isEmpty():
                return level
            hit = hit.united(QRectF(hit.left(), more.top(), hit.width(), more.height()))
        return hit.top() - _CLEAR if up else hit.bottom() + _CLEAR

    def _in_the_way(self, start: QPointF, end: QPointF) -> QRectF:
        """The area of the layers a straight line would touch."""
        area = QRectF(start, end).normalized().adjusted(0, -1, 0, 1)
        self.areas.append(area)
        found = QRectF()
        for item in self._graph.nodes_near(area):
            if item in self._ends or not isinstance(item, NodeItem):
                continue
            if meets(start, end, item.scene_area.adjusted(*_TOUCH)):
                found = found.united(item.scene_area)
        return found


def _is_in_another_row(one: QRectF, other: QRectF) -> bool:
    return one.bottom() <= other.top() or other.bottom() <= one.top()


def _around(areas: Iterable[QRectF]) -> QRectF:
    found = QRectF()
    for area in areas:
        found = found.united(area)
    return found
