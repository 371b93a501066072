"""The shipped table of product tiles, and the choice among them by shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.engine.gl.dispatch import groups_for


@dataclass(frozen=True)
class Tile:
    """One way to cut a product up.

    Attributes:
        name: ends the name of the variant that always takes it.
        rows: rows of the result a tile has.
        cols: columns.
        depth: depth of a round; parts of the depth are multiples of it.
        per_row: rows of the result one invocation has.
        per_col: columns.
        shared: whether a work group shares the tile through shared memory; otherwise the tile is
            one invocation's.
        rate: products a tile makes in a unit of time, against the others of its engine.
    """

    name: str
    rows: int
    cols: int
    depth: int
    per_row: int
    per_col: int
    shared: bool
    rate: float

    @property
    def threads(self) -> int:
        """Invocations of a work group."""
        if not self.shared:
            return REGISTER_LANES
        return (self.rows // self.per_row) * (self.cols // self.per_col)

    @property
    def lanes(self) -> int:
        """Tiles one work group makes."""
        return 1 if self.shared else REGISTER_LANES

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a work group: two rounds of both factors."""
        return 2 * self.depth * (self.rows + self.cols) * 4 if self.shared else 0

    def macros(self) -> dict[str, int | str]:
        """What the engine's text has to know."""
        return {
            "TILE_M": self.rows,
            "TILE_N": self.cols,
            "TILE_K": self.depth,
            "PER_M": self.per_row,
            "PER_N": self.per_col,
            "SHARED_TILES": int(self.shared),
        }


REGISTER_LANES = 8
"""Invocations of a work group of the register engine: one vector of a CPU."""

TILES = (
    Tile("128x128", 128, 128, 16, 8, 8, True, 1.0),
    Tile("128x64", 128, 64, 16, 8, 4, True, 0.8),
    Tile("64x64", 64, 64, 16, 4, 4, True, 0.62),
    Tile("32x64", 32, 64, 16, 4, 4, True, 0.5),
    Tile("32x32", 32, 32, 16, 4, 4, True, 0.38),
)
"""Shared-memory tiles for GPUs, the largest first."""

REGISTER_TILES = (
    Tile("8x8", 8, 8, 4, 8, 8, False, 1.0),
    Tile("4x8", 4, 8, 4, 4, 8, False, 0.85),
    Tile("4x4", 4, 4, 4, 4, 4, False, 0.42),
)
"""Register tiles for software renderers, the largest first; rates as measured on llvmpipe.

8x16 is a little faster still, but its text takes llvmpipe seconds to compile.
"""

SLOTS = {True: 16, False: 264}
"""Tiles worked on at once: lanes of a software renderer, work groups of a large GPU."""
DEEPEST = {True: 1024, False: 128}
"""A part of the depth is at least this long, where the depth is."""
MOST_PARTS = 64


def best_tile(
    rows: int, cols: int, depth: int, batches: int, tiles: Sequence[Tile], *, software: bool
) -> tuple[Tile, int]:
    """The tile expected to be fastest, and into how many parts to cut the depth.

    The model: tiles run in waves of ``SLOTS``; a wave lasts as long as a tile's depth and size say,
    divided by its rate; parts cost one more write and read of the result.

    Args:
        rows: rows of the result.
        cols: columns of the result.
        depth: length of the sums.
        batches: independent products.
        tiles: those to choose from.
        software: whether a CPU does the work.
    """
    slots = SLOTS[software]
    best: tuple[float, Tile, int] | None = None
    for tile in tiles:
        count = groups_for(rows, tile.rows) * groups_for(cols, tile.cols) * batches
        longest = max(1, min(MOST_PARTS, depth // DEEPEST[software]))
        parts = max(1, min(longest, slots // max(count, 1)))
        waves = groups_for(count * parts, slots)
        length = groups_for(depth, parts) + tile.depth
        cost = waves * length * tile.rows * tile.cols / tile.rate
        if parts > 1:
            cost += 2.0 * rows * cols * batches * parts / slots + 20000.0 * (not software)
        if best is None or cost < best[0]:
            best = (cost, tile, parts)
    if best is None:
        raise ValueError("there is no tile to choose from")
    return best[1], best[2]
