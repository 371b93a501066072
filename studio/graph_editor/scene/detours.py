"""The way of a wire that cannot lead straight on: right angles through the gaps between layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF

from studio.graph_editor.items.wire_paths import STUB

CLEAR = 8.0
"""How far a wire keeps away from layers that it passes."""

_LANE = 8.0
"""Distance of wires that run side by side."""

_LANES = 4
_HIT, _SHARED, _NEAR = 1e6, 2e3, 1e4
"""What a layer in the way, a stretch together with another wire, and a turn too near to a port
cost beside a pixel of length."""

_UNUSUAL = 4.0
"""What a pixel costs by which a turn is nearer to a port, or further away, than usual."""

Span = tuple[float, float]


class Stretch(NamedTuple):
    """A straight part of a wire: along x at a height, or along y where ``upright``."""

    upright: bool
    at: float
    first: float
    last: float

    def shares(self, other: Stretch) -> bool:
        """Whether the two cannot be told apart somewhere."""
        return (
            self.upright == other.upright
            and abs(self.at - other.at) < _LANE - 2
            and self.first < other.last
            and other.first < self.last
        )

    def touches(self, area: QRectF) -> bool:
        """Whether it comes nearer to an area than wires may."""
        across = (area.left(), area.right()) if self.upright else (area.top(), area.bottom())
        along = (area.top(), area.bottom()) if self.upright else (area.left(), area.right())
        return (
            across[0] - CLEAR + 1 < self.at < across[1] + CLEAR - 1
            and along[0] - 1 < self.last
            and self.first < along[1] + 1
        )


class Detour(NamedTuple):
    """A way in right angles.

    Attributes:
        corners: from port to port.
        cost: what is wrong with it.
    """

    corners: tuple[QPointF, ...]
    cost: float


def stretches(corners: Sequence[QPointF]) -> list[Stretch]:
    """The parts of a way between its ends, which every wire of a port has in common."""
    found = []
    for one, other in pairwise(corners):
        upright = one.x() == other.x()
        at = one.x() if upright else one.y()
        ends = (one.y(), other.y()) if upright else (one.x(), other.x())
        found.append(Stretch(upright, at, min(ends), max(ends)))
    return found


def find_detour(
    ends: tuple[QPointF, QPointF],
    hosts: tuple[QRectF, QRectF],
    obstacles: Sequence[QRectF],
    taken: Sequence[Stretch],
) -> tuple[QPointF, ...]:
    """The best way from an output to an input that leaves to the right and comes from the left.

    Args:
        ends: the ports.
        hosts: the areas of the two layers.
        obstacles: areas of layers that may be in the way, those of the two as well.
        taken: where other wires run.
    """
    start, end = ends
    outs = [start.x() + STUB + lane * _LANE for lane in (0, 1, -1)]
    backs = [end.x() - STUB - lane * _LANE for lane in (0, 1, -1)]
    spans = _gaps(hosts, obstacles, (min(backs[0], outs[0]), max(backs[0], outs[0])))
    levels = [(lane, at) for span in spans for lane, at in enumerate(_lanes(span))]
    best = Detour((start, end), float("inf"))
    for (lane, level), out, back in product(levels, outs, backs):
        corners: tuple[QPointF, ...] = (
            start, QPointF(out, start.y()), QPointF(out, level), QPointF(back, level),
            QPointF(back, end.y()), end,
        )  # fmt: skip
        best = min(best, _judged(corners, obstacles, taken, lane), key=_cost)
    if best.cost >= _HIT:
        for corners in _through_columns(ends, hosts, obstacles, outs[0], backs[0]):
            best = min(best, _judged(corners, obstacles, taken, 0), key=_cost)
    return best.corners


def _cost(detour: Detour) -> float:
    return detour.cost


def _judged(
    corners: tuple[QPointF, ...],
    obstacles: Sequence[QRectF],
    taken: Sequence[Stretch],
    lane: int,
) -> Detour:
    parts = stretches(corners)
    cost = sum(part.last - part.first for part in parts) + lane
    for number, part in enumerate(parts):
        # The first and the last part leave the wire's own layers.
        inner = 0 < number < len(parts) - 1
        met = [area for area in obstacles if part.touches(area)]
        cost += _HIT * sum(inner or not _owns(part, area) for area in met)
        cost += _SHARED * sum(part.shares(other) for other in taken) if inner else 0.0
    turns = (corners[1].x() - corners[0].x(), corners[-1].x() - corners[-2].x())
    cost += _NEAR * sum(turn < STUB - _LANE for turn in turns)
    cost += _UNUSUAL * sum(abs(turn - STUB) for turn in turns)
    return Detour(corners, cost)


def _owns(part: Stretch, area: QRectF) -> bool:
    """Whether a level part begins or ends at an edge of an area."""
    return part.first >= area.right() - 1 or part.last <= area.left() + 1


def _gaps(hosts: tuple[QRectF, QRectF], obstacles: Iterable[QRectF], across: Span) -> list[Span]:
    """Heights free of layers over a width: between the two layers, then above and below all."""
    upper, lower = sorted(hosts, key=lambda area: area.top())
    blocked = sorted(
        (area.top() - CLEAR, area.bottom() + CLEAR)
        for area in obstacles
        if area.left() - CLEAR < across[1] and across[0] < area.right() + CLEAR
    )
    found: list[Span] = []
    at = upper.top()
    for top, bottom in blocked:
        if top > at:
            found.append((at, top))
        at = max(at, bottom)
    bottom = max(lower.bottom(), upper.bottom()) + CLEAR
    found.append((max(at, bottom), max(at, bottom) + 2 * STUB))
    top = min((span[0] for span in blocked), default=upper.top())
    found.append((top - 2 * STUB, top))
    return found


def _lanes(span: Span) -> Iterator[float]:
    """Heights within a gap, from its middle outward."""
    middle = (span[0] + span[1]) / 2
    yield middle
    for lane in range(1, _LANES):
        for way in (-1, 1):
            at = middle + way * lane * _LANE
            if span[0] <= at <= span[1]:
                yield at


def _through_columns(
    ends: tuple[QPointF, QPointF],
    hosts: tuple[QRectF, QRectF],
    obstacles: Sequence[QRectF],
    out: float,
    back: float,
) -> Iterator[tuple[QPointF, ...]]:
    """Ways with one more turn: past a whole row of layers, where there is a gap or at its side."""
    start, end = ends
    left = min((area.left() for area in obstacles), default=back) - STUB
    right = max((area.right() for area in obstacles), default=out) + STUB
    columns = {left, right, out, back, *(area.right() + STUB for area in obstacles)}
    leaving = _gaps(hosts, obstacles, (start.x(), out))
    for column in sorted(columns, key=lambda x: abs(x - out) + abs(x - back)):
        coming = _gaps(hosts, obstacles, tuple(sorted((column, back))))  # type: ignore[arg-type]
        leaving = _gaps(hosts, obstacles, tuple(sorted((out, column))))  # type: ignore[arg-type]
        for first, second in product(leaving, coming):
            one, other = sum(first) / 2, sum(second) / 2
            yield (
                start, QPointF(out, start.y()), QPointF(out, one), QPointF(column, one),
                QPointF(column, other), QPointF(back, other), QPointF(back, end.y()), end,
            )  # fmt: skip
