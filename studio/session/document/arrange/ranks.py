"""First step of a layered layout: the rank of every node, and bends where a wire spans several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Spot:
    """A node in a rank, or the bend of a long wire where it crosses a rank.

    Attributes:
        key: id of the node; empty for a bend.
        rank: its rank, from 0 up.
        before: spots in the rank before that it is wired to, by slot.
        after: spots in the rank behind.
        order: position within its rank.
    """

    key: str
    rank: int
    before: list[Spot] = field(default_factory=list)
    after: list[Spot] = field(default_factory=list)
    order: int = 0

    @property
    def is_bend(self) -> bool:
        """Whether it stands for a wire passing by."""
        return not self.key


def ranks_of(order: Sequence[str], inputs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The rank of each node: one behind the last that feeds it.

    Nodes that nothing feeds stand right before the first they feed.
    """
    ranks: dict[str, int] = {}
    followers: dict[str, list[str]] = {}
    for node_id in order:
        ranks[node_id] = max((ranks[s] + 1 for s in inputs[node_id]), default=0)
        for source in inputs[node_id]:
            followers.setdefault(source, []).append(node_id)
    for node_id in order:
        if not inputs[node_id] and node_id in followers:
            ranks[node_id] = min(ranks[i] for i in followers[node_id]) - 1
    return ranks


def spots_in_ranks(
    order: Sequence[str],
    inputs: Mapping[str, Sequence[str]],
    heights: Mapping[str, tuple[float, int]],
    ranks: Mapping[str, int],
) -> list[list[Spot]]:
    """Every rank with its spots, ordered as they lie now.

    Args:
        order: nodes so that each stands behind those that feed it.
        inputs: what feeds each, among these nodes.
        heights: where each lies now across the ranks, and its place among equals.
        ranks: the rank of each, from 0 up.
    """
    spots = {node_id: Spot(node_id, ranks[node_id]) for node_id in order}
    rows: list[list[Spot]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    level: dict[int, tuple[float, int]] = {}
    for node_id in order:
        spot = spots[node_id]
        rows[spot.rank].append(spot)
        level[id(spot)] = heights[node_id]
        for source in inputs[node_id]:
            at = spots[source]
            for rank in range(at.rank + 1, spot.rank):
                bend = Spot("", rank)
                # Between where the wire comes from and where it goes, as it is drawn now.
                share = (rank - spots[source].rank) / (spot.rank - spots[source].rank)
                first, last = heights[source], heights[node_id]
                level[id(bend)] = (first[0] + share * (last[0] - first[0]), last[1])
                rows[rank].append(bend)
                _link(at, bend)
                at = bend
            _link(at, spot)
    for row in rows:
        row.sort(key=lambda spot: level[id(spot)])
        for index, spot in enumerate(row):
            spot.order = index
    return rows


def _link(one: Spot, other: Spot) -> None:
    one.after.append(other)
    other.before.append(one)
