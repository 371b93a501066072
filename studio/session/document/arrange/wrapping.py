"""Where the ranks of a layout begin another row, so that it is seen large in a room of a shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

RANK_GAP = 72.0
"""Space between ranks in a row: a wire, and what is written on it."""
ROW_GAP = 48.0
"""Space between rows, for the wires that lead from one to the next."""
NEIGHBOUR_GAP = 32.0
"""Space between neighbours within a rank."""
BEND = 12.0
"""What a wire takes that passes a rank."""

_MORE_ROWS = 0.03
"""What a drawing in rows must gain to be preferred to a single line."""
_CROSSING = 0.015
"""What it must gain for each wire beside the main line that leads into another row."""
_MOST_CROSSINGS = 10
_LOOK_BACK = 0.4
"""Share of a row that may stay empty for a better place to break it."""


class Room(NamedTuple):
    """The free part of a canvas in pixels: its shape chooses the flow of a layout."""

    width: float
    height: float

    def zoom(self, width: float, height: float) -> float:
        """How large a drawing of a size is seen in it; 1 at most."""
        return min(1.0, self.width / max(width, 1.0), self.height / max(height, 1.0))


class Ranked(NamedTuple):
    """Linked nodes by rank, as far as choosing rows needs it.

    Attributes:
        widths: of each rank, along the flow.
        heights: of each rank, across it, with the wires that pass.
        crossing: for each rank, how many outputs before it feed it or something behind it.
    """

    widths: tuple[float, ...]
    heights: tuple[float, ...]
    crossing: tuple[int, ...]


def ranked(
    ranks: Mapping[str, int],
    inputs: Mapping[str, Sequence[str]],
    sizes: Mapping[str, tuple[float, float]],
) -> Ranked:
    """The ranks of linked nodes."""
    count = max(ranks.values(), default=-1) + 1
    widths, heights, crossing = [0.0] * count, [-NEIGHBOUR_GAP] * count, [0] * count
    for node_id, rank in ranks.items():
        widths[rank] = max(widths[rank], sizes[node_id][0])
        heights[rank] += sizes[node_id][1] + NEIGHBOUR_GAP
    last: dict[str, int] = {}
    for node_id, sources in inputs.items():
        for source in sources:
            last[source] = max(last.get(source, 0), ranks[node_id])
    for source, end in last.items():
        for rank in range(ranks[source] + 1, end + 1):
            crossing[rank] += 1
            heights[rank] += BEND + NEIGHBOUR_GAP if rank < end else 0.0
    return Ranked(tuple(widths), tuple(heights), tuple(crossing))


def row_lengths(longest: int) -> list[int]:
    """How many ranks a row may have, so that each choice makes another number of rows."""
    return sorted({-(-longest // rows) for rows in range(1, longest + 1)}, reverse=True)


def rows_of(piece: Ranked, length: int, *, tidy: bool) -> tuple[int, ...]:
    """The ranks that begin a row, with at most ``length`` in each.

    Args:
        piece: the ranks.
        length: of a row at most.
        tidy: break rows where few wires lead into the next, even if that leaves room.
    """
    starts, count = [0], len(piece.widths)
    while starts[-1] + length < count:
        at = starts[-1] + length
        if tidy:
            least = starts[-1] + max(1, round(length * (1 - _LOOK_BACK)))
            at = min(range(least, at + 1), key=lambda rank: (piece.crossing[rank], -rank))
        starts.append(at)
    return tuple(starts)


def size_in_rows(piece: Ranked, starts: Sequence[int]) -> tuple[float, float]:
    """About how large linked nodes are in rows."""
    ends = (*starts[1:], len(piece.widths))
    columns = column_widths(piece.widths, starts)
    height = sum(max(piece.heights[at:end]) for at, end in zip(starts, ends, strict=True))
    return (
        sum(columns) + RANK_GAP * (len(columns) - 1),
        height + ROW_GAP * (len(starts) - 1),
    )


def column_widths(widths: Sequence[float], starts: Sequence[int]) -> list[float]:
    """How wide each column is: ranks below each other in rows have the same middle."""
    ends = (*starts[1:], len(widths))
    columns = [0.0] * max(end - at for at, end in zip(starts, ends, strict=True))
    for at, end in zip(starts, ends, strict=True):
        for place, width in enumerate(widths[at:end]):
            columns[place] = max(columns[place], width)
    return columns


def worth(zoom: float, pieces: Sequence[Ranked], rows: Sequence[Sequence[int]]) -> float:
    """How good a drawing is: as large as it is seen, less for what makes it harder to follow."""
    loss = _MORE_ROWS if any(len(starts) > 1 for starts in rows) else 0.0
    breaks = sum(
        piece.crossing[at] - 1
        for piece, starts in zip(pieces, rows, strict=True)
        for at in starts[1:]
    )
    return zoom * (1 - loss - _CROSSING * min(_MOST_CROSSINGS, breaks))
