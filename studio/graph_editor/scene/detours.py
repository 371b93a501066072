"""The way of a wire that cannot lead straight on: right angles through the gaps between layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QPointF, QRectF

from studio.graph_editor.items.wire_paths import STUB

CLEAR = 8.0
"""How far a wire keeps away from layers that it passes."""

_LANE = 8.0
"""Distance of wires that run side by side."""

_LANES = 4
_SPANS, _COLUMNS = 6, 12
"""How many of the gaps between rows, and between columns, are tried: those nearest to the wire."""

_HIT, _SHARED = 1e7, 1e5
"""What a layer in the way, and a stretch together with another wire, cost beside a pixel of
length."""

_UNUSUAL = 4.0
"""What a pixel costs by which a turn is nearer to a port, or further away, than usual."""

Span = tuple[float, float]
Corners: TypeAlias = tuple[QPointF, ...]


class Block(NamedTuple):
    """The edges of a layer that may be in the way."""

    left: float
    top: float
    right: float
    bottom: float


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

    def touches(self, block: Block) -> bool:
        """Whether it comes nearer to a layer than wires may."""
        left, top, right, bottom = block
        if self.upright:
            inside = left - CLEAR < self.at - 1 and self.at + 1 < right + CLEAR
            return inside and top - 1 < self.last and self.first < bottom + 1
        inside = top - CLEAR < self.at - 1 and self.at + 1 < bottom + CLEAR
        return inside and left - 1 < self.last and self.first < right + 1


def stretches(corners: Sequence[QPointF]) -> list[Stretch]:
    """The straight parts of a way from corner to corner."""
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
    obstacles: Iterable[QRectF],
    taken: Sequence[Stretch] = (),
) -> Corners:
    """The best way from an output to an input that leaves to the right and comes from the left.

    Args:
        ends: the ports.
        hosts: the areas of the two layers.
        obstacles: areas of layers that may be in the way, those of the two as well.
        taken: where other wires run.
    """
    search = _Search(ends, hosts, obstacles, taken)
    lanes = _LANES if taken else 1
    search.try_turns(search.outs[:1], search.backs[:1], lanes)
    if search.cost >= _SHARED:
        search.try_turns(search.outs, search.backs, lanes)
    if search.cost >= _HIT:
        search.try_columns()
    return search.best


class _Search:
    """Tries ways of one wire and keeps the best."""

    def __init__(
        self,
        ends: tuple[QPointF, QPointF],
        hosts: tuple[QRectF, QRectF],
        obstacles: Iterable[QRectF],
        taken: Sequence[Stretch],
    ) -> None:
        self.start, self.end = ends
        self.outs = [self.start.x() + STUB + lane * _LANE for lane in (0, 1, -1)]
        self.backs = [self.end.x() - STUB - lane * _LANE for lane in (0, 1, -1)]
        self.best: Corners = ends
        self.cost = float("inf")
        self._hosts = [Block(a.left(), a.top(), a.right(), a.bottom()) for a in hosts]
        self._blocks = [Block(a.left(), a.top(), a.right(), a.bottom()) for a in obstacles]
        self._taken = taken

    def try_turns(self, outs: Sequence[float], backs: Sequence[float], lanes: int) -> None:
        """Ways along one gap between rows."""
        start, end = self.start, self.end
        for out, back in product(outs, backs):
            spans = self._nearest(self._gaps((out, back)), end.y())
            for span in spans if lanes == 1 or len(outs) == 1 else spans[:2]:
                for lane, level in enumerate(_levels(span, lanes)):
                    self._judge(
                        (start, QPointF(out, start.y()), QPointF(out, level),
                         QPointF(back, level), QPointF(back, end.y()), end), lane,
                    )  # fmt: skip

    def try_columns(self) -> None:
        """Ways with one more turn: past a whole row, through a gap in it or at its side."""
        start, end, out, back = self.start, self.end, self.outs[0], self.backs[0]
        left = min((block.left for block in self._blocks), default=back) - STUB
        right = max((block.right for block in self._blocks), default=out) + STUB
        columns = {left, right, out, back, *(block.right + STUB for block in self._blocks)}
        nearest = sorted(columns, key=lambda x: (abs(x - out) + abs(x - back), x))
        for column in dict.fromkeys((*nearest[:_COLUMNS], left, right)):
            leaving = self._nearest(self._gaps((out, column)), start.y())[:2]
            coming = self._nearest(self._gaps((column, back)), end.y())[:2]
            for first, second in product(leaving, coming):
                one, other = sum(first) / 2, sum(second) / 2
                self._judge(
                    (start, QPointF(out, start.y()), QPointF(out, one), QPointF(column, one),
                     QPointF(column, other), QPointF(back, other), QPointF(back, end.y()), end), 0,
                )  # fmt: skip

    def _judge(self, corners: Corners, lane: int) -> None:
        parts = stretches(corners)
        cost = sum(part.last - part.first for part in parts) + lane
        turns = (corners[1].x() - corners[0].x(), corners[-1].x() - corners[-2].x())
        cost += sum(_UNUSUAL * abs(turn - STUB) for turn in turns)
        cost += _SHARED * sum(p.shares(other) for p in parts[1:-1] for other in self._taken)
        for number, part in enumerate(parts):
            # The first and the last part leave the wire's own layers.
            inner = 0 < number < len(parts) - 1
            if cost >= self.cost:
                return
            met = [block for block in self._blocks if part.touches(block)]
            cost += _HIT * sum(inner or not _owns(part, block) for block in met)
        if cost < self.cost:
            self.best, self.cost = corners, cost

    def _gaps(self, across: Span) -> list[Span]:
        """Heights free of layers over a width: between the two layers, and above and below all."""
        low, high = min(across), max(across)
        upper, lower = sorted(self._hosts, key=lambda block: block.top)
        blocked = sorted(
            (block.top - CLEAR, block.bottom + CLEAR)
            for block in self._blocks
            if block.left - CLEAR < high and low < block.right + CLEAR
        )
        found: list[Span] = []
        at = upper.top
        for top, bottom in blocked:
            if top > at:
                found.append((at, top))
            at = max(at, bottom)
        at = max(at, lower.bottom + CLEAR, upper.bottom + CLEAR)
        top = min((span[0] for span in blocked), default=upper.top)
        return [*found, (at, at + 2 * STUB), (top - 2 * STUB, top)]

    def _nearest(self, spans: list[Span], height: float) -> list[Span]:
        """The gaps nearest to a height."""
        return sorted(spans, key=lambda span: abs(sum(span) / 2 - height))[:_SPANS]


def _owns(part: Stretch, block: Block) -> bool:
    """Whether a level part begins or ends at an edge of a layer."""
    return part.first >= block.right - 1 or part.last <= block.left + 1


def _levels(span: Span, count: int) -> Iterator[float]:
    """Heights within a gap, from its middle outward."""
    middle = (span[0] + span[1]) / 2
    yield middle
    for lane in range(1, count):
        for way in (-1, 1):
            at = middle + way * lane * _LANE
            if span[0] <= at <= span[1]:
                yield at
