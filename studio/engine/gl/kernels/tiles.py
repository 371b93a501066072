"""The shipped table of product tiles, and the choice among them by shape and kind of device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from studio.engine.gl.shader.dispatch import groups_for


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
        resident: work groups a processor of a GPU works on at once.
        slices: invocations that share the sums of the same results, each with a part of every
            round's depth.
        wait: cycles a round waits for memory and barriers when no other group hides it.
        begin: cycles a work group costs beside its rounds.
        pipelined: whether reads of shared memory run ahead of the products, across rounds.
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
    slices: int = 1
    wait: int = 0
    begin: int = 0
    pipelined: bool = False

    @property
    def threads(self) -> int:
        """Invocations of a work group."""
        if not self.shared:
            return REGISTER_LANES
        return (self.rows // self.per_row) * (self.cols // self.per_col) * self.slices

    @property
    def share(self) -> int:
        """Fours of sums of each slice that fit into shared memory when the slices add up."""
        fours = self.per_row * self.per_col // 4 // self.slices
        room = self.shared_bytes() // 16
        while fours > 1 and self.threads * (self.slices - 1) * fours > room:
            fours //= 2
        return fours

    def shared_bytes(self, turned: int = 0) -> int:
        """Shared memory of a work group: two rounds of both factors.

        Args:
            turned: factors whose neighbours in storage follow the depth: blocks of theirs are
                turned, and shifts keep them off each other's banks.
        """
        quads = self.depth // 4
        shift = (quads - 1) * max(8 // quads, 1) * turned
        return 2 * 16 * (self.depth * (self.rows + self.cols) // 4 + shift)

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
            "SLICES": self.slices,
            "PIPELINED": int(self.pipelined),
            "SHARE": self.share if self.shared else 1,
        }


REGISTER_LANES = 8
"""Invocations of a work group of the register engine: one vector of a CPU."""

TILES = (
    Tile("128x128", 128, 128, 16, 8, 8, True, 0.71, wait=100, begin=3800),
    Tile("128x64s2", 128, 64, 16, 8, 8, True, 0.64, 1, 2, wait=80, begin=1700),
    Tile("128x64", 128, 64, 16, 8, 4, True, 0.58, 4, wait=40),
    Tile("64x64ps2", 64, 64, 16, 8, 8, True, 0.645, 2, 2, wait=530, begin=4000, pipelined=True),
    Tile("64x64x32s2", 64, 64, 32, 8, 4, True, 0.61, 5, 2, wait=90, begin=100),
    Tile("64x64s2", 64, 64, 16, 8, 4, True, 0.59, 2, 2, wait=300, begin=300),
    Tile("64x64", 64, 64, 16, 4, 4, True, 0.51, 2, wait=120),
    Tile("64x32s4", 64, 32, 16, 8, 4, True, 0.43, 2, 4, wait=240, begin=600),
    Tile("32x64", 32, 64, 16, 4, 4, True, 0.45, 3, wait=330),
    Tile("32x32s4", 32, 32, 32, 4, 4, True, 0.55, 2, 4, wait=630, begin=400),
    Tile("128x32", 128, 32, 16, 8, 4, True, 0.49, 2, wait=220),
    Tile("128x32s2", 128, 32, 16, 8, 4, True, 0.51, 2, 2, wait=190),
    Tile("128x16", 128, 16, 16, 8, 4, True, 0.45, 6, wait=600, begin=300),
    Tile("64x16", 64, 16, 16, 4, 4, True, 0.35, 8, wait=600, begin=300),
)
"""Shared-memory tiles for GPUs, the largest first, then narrow ones for results of few columns.

Fitted, as are the figures below, to what products of the benchmarks' networks and squares took on
an NVIDIA H200 on 21 November 2026, a hundred pairs of a shape and a tile, which stand in
``tests/engine/gl/test_tiles.py``. At 1.98 GHz half of the estimates lie within 6 % of the times;
those differ by up to 10 % between runs, and convolutions' gradients of inputs take half as long
again, whatever the tile. The tiles of 16 columns are estimates. A name ends in the number of
slices, after the depth of a round where nothing else tells a tile from another, or a ``p`` where
reads are pipelined.
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
FIRST_ROUNDS = 3
"""Rounds' time a work group takes before the first is multiplied and after the last."""
JOINING = 3500
"""Cycles it costs that parts of the depth are added up by the last work group at a tile."""
JOINING_PART = 180
"""Cycles that each part adds to it."""
MOST_JOINED = 32
"""Parts of the depth that the last work group at a tile adds up; more are a dispatch's work."""
EXTRA_DISPATCH = 8000
"""Cycles one more dispatch costs."""
BYTES_PER_CYCLE = 5200
"""Traffic of parts' sums of the whole device; what is read soon is still in the cache."""
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
    never less than memory lets one of them. Parts cost the traffic of their sums, and a dispatch
    where there are many.
    """
    groups = groups_for(tile.count(rows, cols, batches) * parts, PROCESSORS)
    rounds = groups_for(groups_for(depth, parts), tile.depth) + FIRST_ROUNDS
    work = tile.rows * tile.cols * tile.depth / PRODUCTS_PER_CYCLE / tile.rate
    total = 0.0
    while groups > 0:
        together = min(groups, tile.resident)
        waves = groups // together
        total += waves * (tile.begin + rounds * max(together * work, tile.wait + work))
        groups -= waves * together
    if parts > 1:
        total += JOINING + JOINING_PART * min(parts, MOST_JOINED)
        total += 8.0 * rows * cols * batches * parts / BYTES_PER_CYCLE
    if parts > MOST_JOINED:
        total += EXTRA_DISPATCH
    return total
