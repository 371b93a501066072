"""Second step of a layered layout: an order within ranks in which fewer wires cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

from studio.session.document.arrange.ranks import Spot

MOST_SWEEPS = 12


def count_crossings(rows: Sequence[Sequence[Spot]]) -> int:
    """How many pairs of wires cross between neighbouring ranks."""
    return sum(_between(upper) for upper, _ in pairwise(rows))


def reduce_crossings(rows: list[list[Spot]]) -> int:
    """Reorder spots within their ranks; an order is only given up for one with fewer crossings."""
    best = count_crossings(rows)
    kept = [list(row) for row in rows]
    idle = 0
    for sweep in range(MOST_SWEEPS):
        if best == 0 or idle == 4:
            break
        _sweep(rows, forward=sweep % 2 == 0)
        found = count_crossings(rows)
        idle += 1
        if found < best:
            best, idle = found, 0
            kept = [list(row) for row in rows]
    for row, order in zip(rows, kept, strict=True):
        row[:] = order
        _number(row)
    return best


def _sweep(rows: list[list[Spot]], *, forward: bool) -> None:
    """Put each spot at the mean of its neighbours in the rank visited before; ties stay."""
    for row in rows[1:] if forward else rows[-2::-1]:
        row.sort(key=lambda spot: _mean(spot, spot.before if forward else spot.after))
        _number(row)


def _mean(spot: Spot, neighbours: Sequence[Spot]) -> float:
    if not neighbours:
        return float(spot.order)
    return sum(each.order for each in neighbours) / len(neighbours)


def _between(upper: Sequence[Spot]) -> int:
    """Crossings behind one rank: pairs of wires whose ends are in opposite order."""
    seen: list[int] = []
    crossings = 0
    for spot in upper:
        ends = sorted(each.order for each in spot.after)
        crossings += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return crossings


def _number(row: Sequence[Spot]) -> None:
    for index, spot in enumerate(row):
        spot.order = index
