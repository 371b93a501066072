"""The line a wire takes from an output to an input, in three styles, and how near a point is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

STUB = 24.0
"""How far a wire leaves a port straight on before it turns back."""

CORNER = 8.0
_CURVE_STEPS = 16


def wire_path(start: QPointF, end: QPointF, style: str, below: float | None = None) -> QPainterPath:
    """The path of a wire.

    Args:
        start: the output port.
        end: the input port.
        style: ``curve``, ``right-angle`` or ``straight``.
        below: for a wire that runs backward, a height free of both its layers.
    """
    if is_backward(start, end):
        return _around(start, end, below)
    if style == "straight":
        return _polyline([start, end], 0.0)
    if style == "right-angle":
        middle = (start.x() + end.x()) / 2
        corners = [start, QPointF(middle, start.y()), QPointF(middle, end.y()), end]
        return _polyline(corners, CORNER)
    return _curve(start, end)


def bridge_path(
    start: QPointF, end: QPointF, style: str, level: float, left: float, right: float
) -> QPainterPath:
    """The path of a forward wire past layers that stand in its way.

    Args:
        start: the output port.
        end: the input port.
        style: ``curve`` or ``right-angle``.
        level: a height free of them.
        left: where they begin.
        right: where they end.
    """
    if style == "right-angle":
        out, back = _between(start.x(), left), _between(end.x(), right)
        return _detour(start, end, (out, back), level)
    down, up = QPointF(left, level), QPointF(right, level)
    path = QPainterPath(start)
    pull = max(4.0, (left - start.x()) * 0.55)
    path.cubicTo(start + QPointF(pull, 0), down - QPointF(pull, 0), down)
    path.lineTo(up)
    pull = max(4.0, (end.x() - right) * 0.55)
    path.cubicTo(up + QPointF(pull, 0), end - QPointF(pull, 0), end)
    return path


def detour_path(corners: Sequence[QPointF]) -> QPainterPath:
    """The path of a wire in right angles through corners."""
    return _polyline(list(corners), CORNER)


def is_backward(start: QPointF, end: QPointF) -> bool:
    """Whether a wire has to turn back to reach its input."""
    away = abs(end.y() - start.y()) + abs(end.x() - start.x())
    return end.x() < start.x() + STUB and away > STUB


def loose_path(start: QPointF, end: QPointF, style: str, forward: bool) -> QPainterPath:
    """The path of a wire whose other end follows the pointer; it never routes around."""
    if not forward:
        start, end = end, start
    if style == "straight":
        return _polyline([start, end], 0.0)
    return _curve(start, end)


def samples(path: QPainterPath) -> list[QPointF]:
    """Points along the path, close enough to measure distances to it."""
    found: list[QPointF] = []
    index = 0
    while index < path.elementCount():
        element = path.elementAt(index)
        at = QPointF(element.x, element.y)
        if element.isCurveTo():
            second, last = path.elementAt(index + 1), path.elementAt(index + 2)
            found += _cubic(found[-1], at, QPointF(second.x, second.y), QPointF(last.x, last.y))
            index += 3
        else:
            found.append(at)
            index += 1
    return found


def distance(points: list[QPointF], at: QPointF) -> float:
    """Distance from a point to the line through ``points``."""
    return min((_to_segment(a, b, at) for a, b in pairwise(points)), default=float("inf"))


def crosses(points: list[QPointF], others: list[QPointF]) -> bool:
    """Whether two lines given by their points cross."""
    return any(
        _segments_cross(a, b, c, d)
        for a, b in pairwise(points)
        for c, d in pairwise(others)
        if _box(a, b).intersects(_box(c, d))
    )


def meets(start: QPointF, end: QPointF, area: QRectF) -> bool:
    """Whether the straight line between two points touches an area."""
    if area.contains(start) or area.contains(end):
        return True
    corners = [area.topLeft(), area.topRight(), area.bottomRight(), area.bottomLeft()]
    sides = pairwise([*corners, corners[0]])
    return any(_segments_cross(start, end, a, b) for a, b in sides)


def _between(port: float, obstacle: float) -> float:
    """A place for the vertical stretch between a port and what is in the way."""
    return port + max(-STUB, min(STUB, (obstacle - port) / 2))


def _curve(start: QPointF, end: QPointF) -> QPainterPath:
    path = QPainterPath(start)
    pull = max(STUB, min(abs(end.x() - start.x()) * 0.5, 160.0))
    path.cubicTo(start + QPointF(pull, 0), end - QPointF(pull, 0), end)
    return path


def _around(start: QPointF, end: QPointF, below: float | None) -> QPainterPath:
    """Right angles around both layers: out, along a free height, and in again."""
    level = below if below is not None else max(start.y(), end.y()) + 2 * STUB
    return _detour(start, end, (start.x() + STUB, end.x() - STUB), level)


def _detour(start: QPointF, end: QPointF, turns: tuple[float, float], level: float) -> QPainterPath:
    """Right angles: along at a height of its own between where it turns."""
    out, back = turns
    corners = [
        start,
        QPointF(out, start.y()),
        QPointF(out, level),
        QPointF(back, level),
        QPointF(back, end.y()),
        end,
    ]
    return _polyline(corners, CORNER)


def _polyline(points: list[QPointF], corner: float) -> QPainterPath:
    """Straight stretches between the points, corners rounded where there is room."""
    path = QPainterPath(points[0])
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(corner, _length(before, at) / 2, _length(at, after) / 2)
        if radius < 0.5:
            path.lineTo(at)
            continue
        path.lineTo(_towards(at, before, radius))
        path.quadTo(at, _towards(at, after, radius))
    path.lineTo(points[-1])
    return path


def _length(a: QPointF, b: QPointF) -> float:
    return abs(a.x() - b.x()) + abs(a.y() - b.y())


def _towards(start: QPointF, end: QPointF, step: float) -> QPointF:
    away = end - start
    share = step / (away.x() ** 2 + away.y() ** 2) ** 0.5
    return QPointF(start.x() + away.x() * share, start.y() + away.y() * share)


def _cubic(p0: QPointF, p1: QPointF, p2: QPointF, p3: QPointF) -> list[QPointF]:
    found = []
    for step in range(1, _CURVE_STEPS + 1):
        t = step / _CURVE_STEPS
        u = 1 - t
        found.append(p0 * (u**3) + p1 * (3 * u * u * t) + p2 * (3 * u * t * t) + p3 * (t**3))
    return found


def _to_segment(a: QPointF, b: QPointF, at: QPointF) -> float:
    along, away = b - a, at - a
    size = along.x() ** 2 + along.y() ** 2
    share = 0.0 if size == 0 else (away.x() * along.x() + away.y() * along.y()) / size
    gap = away - along * min(1.0, max(0.0, share))
    return float((gap.x() ** 2 + gap.y() ** 2) ** 0.5)


def _box(a: QPointF, b: QPointF) -> QRectF:
    # Boxes of level lines would be empty, and an empty box meets nothing.
    return QRectF(a, b).normalized().adjusted(-0.5, -0.5, 0.5, 0.5)


def _turn(a: QPointF, b: QPointF, c: QPointF) -> float:
    return (b.x() - a.x()) * (c.y() - a.y()) - (b.y() - a.y()) * (c.x() - a.x())


def _segments_cross(a: QPointF, b: QPointF, c: QPointF, d: QPointF) -> bool:
    return _turn(a, b, c) * _turn(a, b, d) <= 0 and _turn(c, d, a) * _turn(c, d, b) <= 0
