"""Third step of a layered layout: places across the ranks, wires as straight as order allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from studio.session.document.arrange.ranks import Spot

SWEEPS = 10
_NODE, _BEND = 4.0, 1.0
_STRAIGHT = 1e6
"""Weight of the main line, beside which its side branches do not bend it by a part of a pixel."""


@dataclass
class Block:
    """Neighbours that touch each other, while a row is placed: total weight, sum, length."""

    weight: float
    total: float
    count: int

    @property
    def mean(self) -> float:
        """Where the block would like to be."""
        return self.total / self.weight


def place_across(
    rows: Sequence[Sequence[Spot]],
    size: Callable[[Spot], float],
    gap: float,
    port: Callable[[Spot], float],
) -> dict[int, float]:
    """The upper edge of every spot, by its ``id()``.

    Args:
        rows: ranks in their final order.
        size: length of a spot across the ranks.
        gap: least distance between two in a rank.
        port: where wires meet a spot, from its upper edge.
    """
    place: dict[int, float] = {}
    for row in rows:
        at = 0.0
        for spot in row:
            place[id(spot)] = at
            at += size(spot) + gap
    main = _main_line(rows)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 1
        for row in rows if forward else rows[::-1]:
            wanted = [_wanted(spot, forward, place, port, main) for spot in row]
            _settle(row, wanted, place, size, gap, main)
    return place


def _wanted(
    spot: Spot,
    forward: bool,
    place: dict[int, float],
    port: Callable[[Spot], float],
    main: set[int],
) -> float:
    """Where a spot's wires to one side would be straight."""
    neighbours = spot.before if forward else spot.after
    if not neighbours:
        return place[id(spot)]
    weights = [_STRAIGHT if id(spot) in main and id(n) in main else 1.0 for n in neighbours]
    total = sum(w * (place[id(n)] + port(n)) for w, n in zip(weights, neighbours, strict=True))
    return total / sum(weights) - port(spot)


def _settle(
    row: Sequence[Spot],
    wanted: Sequence[float],
    place: dict[int, float],
    size: Callable[[Spot], float],
    gap: float,
    main: set[int],
) -> None:
    """Places nearest to those wanted that keep order and distance (pooled neighbours)."""
    offset, at = [], 0.0
    for spot in row:
        offset.append(at)
        at += size(spot) + gap
    blocks: list[Block] = []
    for index, spot in enumerate(row):
        weight = (_BEND if spot.is_bend else _NODE) * (_STRAIGHT if id(spot) in main else 1.0)
        blocks.append(Block(weight, weight * (wanted[index] - offset[index]), 1))
        while len(blocks) > 1 and blocks[-2].mean > blocks[-1].mean:
            last = blocks.pop()
            blocks[-1].weight += last.weight
            blocks[-1].total += last.total
            blocks[-1].count += last.count
    index = 0
    for block in blocks:
        for _ in range(block.count):
            place[id(row[index])] = block.mean + offset[index]
            index += 1


def _main_line(rows: Sequence[Sequence[Spot]]) -> set[int]:
    """The longest chain that passes most layers; it is drawn straight."""
    best: dict[int, tuple[int, Spot | None]] = {}
    for row in rows:
        for spot in row:
            own = 0 if spot.is_bend else 1
            before = max(
                ((best[id(each)][0], -index, each) for index, each in enumerate(spot.before)),
                key=lambda found: found[:2],
                default=None,
            )
            best[id(spot)] = (own, None) if before is None else (own + before[0], before[2])
    ends = [spot for row in rows for spot in row if not spot.after]
    at = max(ends, key=lambda spot: best[id(spot)][0], default=None)
    line: set[int] = set()
    while at is not None:
        line.add(id(at))
        at = best[id(at)][1]
    return line
