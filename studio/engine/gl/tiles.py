"""The shipped table of product tiles, and the choice among them by shape and kind of device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        rate: share of the device's products a second that a full device reaches with it.
        resident: work groups a processor of a GPU holds at once.
    """

    name: str
    rows: int
    cols: int
    depth: int
    per_row: int
    per_col: int
    shared: bool
    rate: float
    resident: int = 1

    @property
    def threads(self) -> int:
        """Invocations of a work group."""
        if not self.shared:
            return REGISTER_LANES
        return (self.rows // self.per_row) * (self.cols // self.per_col)

    @property
    def narrow(self) -> bool:
        """Whether it is for results of few columns."""
        return self.shared and self.cols * 4 <= self.rows

    @property
    def lanes(self) -> int:
        """Tiles one work group makes."""
        return 1 if self.shared else REGISTER_LANES

    def count(self, rows: int, cols: int, batches: int) -> int:
        """Tiles that cover a result."""
        return groups_for(rows, self.rows) * groups_for(cols, self.cols) * batches

    def loads(self, left_vector: bool, right_vector: bool) -> int:
        """Accesses an invocation makes for four steps of the depth."""
        return self.per_row * (1 if left_vector else 4) + self.per_col * (1 if right_vector else 4)

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
    Tile("128x128", 128, 128, 16, 8, 8, True, 0.70, 2),
    Tile("128x64", 128, 64, 16, 8, 4, True, 0.60, 3),
    Tile("64x64", 64, 64, 16, 4, 4, True, 0.50, 4),
    Tile("32x64", 32, 64, 16, 4, 4, True, 0.42, 8),
    Tile("32x32", 32, 32, 16, 4, 4, True, 0.35, 12),
    Tile("128x32", 128, 32, 16, 8, 4, True, 0.50, 5),
    Tile("128x16", 128, 16, 16, 8, 4, True, 0.45, 6),
    Tile("64x16", 64, 16, 16, 4, 4, True, 0.35, 8),
)
"""Shared-memory tiles for GPUs, the largest first, then narrow ones for results of few columns.

Rates and residents are estimates. Quads of rows and of columns are powers of two.
"""

REGISTER_TILES = (
    Tile("8x8", 8, 8, 4, 8, 8, False, 1.0),
    Tile("4x8", 4, 8, 4, 4, 8, False, 0.85),
    Tile("4x4", 4, 4, 4, 4, 4, False, 0.42),
)
"""Register tiles for software renderers, the largest first; rates as measured on llvmpipe.

8x16 is a little faster still, but its text takes llvmpipe seconds to compile.
"""

PROCESSORS = 132
"""Processors of the GPU the table is made for."""
PRODUCTS_PER_CYCLE = 128
"""Multiplications and additions one processor makes in a cycle."""
LATENCY = 800
"""Cycles a round waits for memory and barriers when nothing else hides it."""
EXTRA_DISPATCH = 5000
"""Cycles one more dispatch costs."""
BYTES_PER_CYCLE = 2048
"""Memory traffic of the whole device."""
SLIM_PART = {True: 1024, False: 64}
"""A part of the depth is at least this long on a software renderer and on a GPU."""
MOST_PARTS = {True: 16, False: 256}
SOFTWARE_SLOTS = 16
"""Tiles a software renderer works on at once."""
MOST_LOADS = 32
"""Accesses for four steps of the depth, above which llvmpipe compiles for seconds."""
BUSY_LOADS = 18
"""How many of them divisions for a place in the depth count for; measured, it halves 8x8."""


def best_tile(
    rows: int, cols: int, depth: int, batches: int, tiles: Sequence[Tile], *, software: bool
) -> tuple[Tile, int]:
    """The tile expected to be fastest, and into how many parts to cut the depth.

    Args:
        rows: rows of the result.
        cols: columns of the result.
        depth: length of the sums.
        batches: independent products.
        tiles: those to choose from.
        software: whether a CPU does the work.
    """
    cost = software_cost if software else hardware_cost
    choices = [(tile, parts) for tile in tiles for parts in _cuts(depth, software)]
    return min(choices, key=lambda choice: cost(rows, cols, depth, batches, *choice))


def _cuts(depth: int, software: bool) -> Iterator[int]:
    parts = 1
    while parts == 1 or (parts <= MOST_PARTS[software] and depth // parts >= SLIM_PART[software]):
        yield parts
        parts *= 2


def software_cost(rows: int, cols: int, depth: int, batches: int, tile: Tile, parts: int) -> float:
    """Time of a product on a CPU: tiles run in waves, each as long as its area and rate say."""
    waves = groups_for(tile.count(rows, cols, batches) * parts, SOFTWARE_SLOTS)
    length = groups_for(depth, parts) + tile.depth
    fold = 4.0 * rows * cols * batches * parts / SOFTWARE_SLOTS if parts > 1 else 0.0
    return waves * length * tile.rows * tile.cols / tile.rate + fold


def hardware_cost(rows: int, cols: int, depth: int, batches: int, tile: Tile, parts: int) -> float:
    """Cycles of a product on a GPU.

    A processor holds some groups at once; a round of theirs takes as long as their arithmetic, and
    never less than memory lets one of them. Parts cost a dispatch and the traffic of their sums.
    """
    groups = groups_for(tile.count(rows, cols, batches) * parts, PROCESSORS)
    rounds = groups_for(groups_for(depth, parts), tile.depth) + 1
    work = tile.rows * tile.cols * tile.depth / PRODUCTS_PER_CYCLE / tile.rate
    total = 0.0
    while groups > 0:
        together = min(groups, tile.resident)
        waves = groups // together
        total += waves * rounds * max(together * work, LATENCY + work)
        groups -= waves * together
    if parts > 1:
        total += EXTRA_DISPATCH + 8.0 * rows * cols * batches * parts / BYTES_PER_CYCLE
    return total
