"""Finds a way for a wire: straight to its input, past layers that stand between, or around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

from studio.graph_editor.model.geometry import NODE_WIDTH
from studio.graph_editor.view.items import CanvasItem
from studio.graph_editor.view.node_item import NodeItem
from studio.graph_editor.view.wire_paths import bridge_path, meets, wire_path

if TYPE_CHECKING:
    from studio.graph_editor.view.scene import GraphScene

_MARGIN = 24.0
_CLEAR = 14.0
_TRIES = 6


def route(
    graph: GraphScene, source: CanvasItem, target: CanvasItem, start: QPointF, end: QPointF
) -> QPainterPath:
    """The path of a wire between two ports."""
    style = graph.wire_style
    if style != "straight" and end.x() - start.x() > NODE_WIDTH:
        way = _past(graph, (source, target), start, end)
        if way is not None:
            level, left, right = way
            return bridge_path(start, end, style, level, left, right)
    below = max(source.scene_area.bottom(), target.scene_area.bottom()) + _MARGIN
    return wire_path(start, end, style, below)


def _past(
    graph: GraphScene, ends: tuple[CanvasItem, CanvasItem], start: QPointF, end: QPointF
) -> tuple[float, float, float] | None:
    """A free height, and where what is in the way begins and ends; None when nothing is."""
    area = QRectF(start, end).normalized().adjusted(0, -1, 0, 1)
    hit = _in_the_way(graph, ends, start, end, area)
    if hit.isEmpty():
        return None
    levels = [_level(graph, ends, hit, up) for up in (True, False)]
    middle = (start.y() + end.y()) / 2
    level = min(levels, key=lambda each: abs(each - middle))
    left = min(max(hit.left() - _CLEAR, start.x() + 8), end.x())
    right = max(min(hit.right() + _CLEAR, end.x() - 8), left)
    return level, left, right


def _level(graph: GraphScene, ends: tuple[CanvasItem, CanvasItem], hit: QRectF, up: bool) -> float:
    """A height above or below what is in the way that meets nothing else."""
    for _ in range(_TRIES):
        level = hit.top() - _CLEAR if up else hit.bottom() + _CLEAR
        line = QPointF(hit.left(), level), QPointF(hit.right(), level)
        area = QRectF(line[0], line[1]).adjusted(0, -1, 0, 1)
        more = _in_the_way(graph, ends, *line, area)
        if more.isEmpty():
            return level
        hit = hit.united(QRectF(hit.left(), more.top(), hit.width(), more.height()))
    return hit.top() - _CLEAR if up else hit.bottom() + _CLEAR


def _in_the_way(
    graph: GraphScene,
    ends: tuple[CanvasItem, CanvasItem],
    start: QPointF,
    end: QPointF,
    area: QRectF,
) -> QRectF:
    """The area of the layers a straight line would touch."""
    found = QRectF()
    for item in graph.nodes_near(area):
        if item in ends or not isinstance(item, NodeItem):
            continue
        if meets(start, end, item.scene_area.adjusted(-2, -6, 2, 6)):
            found = found.united(item.scene_area)
    return found
