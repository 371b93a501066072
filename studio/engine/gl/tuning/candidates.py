"""What can be tried for an instruction: other variants, other tiles, other cuts of the depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studio.engine.gl.choices.measured_choices import tile_variant
from studio.engine.gl.kernels.families import all_variants, choose
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.specs import BoundInstruction, DeviceCaps, Variant
from studio.engine.gl.kernels.tiles import (
    MOST_PARTS,
    REGISTER_TILES,
    SLIM_PART,
    TILES,
    Tile,
    best_tile,
    hardware_cost,
    software_cost,
)
from studio.engine.gl.plan.scratch import ROOM

TileChoice = tuple[Tile, int]
"""A tile, and into how many parts the depth is cut."""

PROMISING = 3.0
"""How many times what the shipped choice is expected to take a tile may be expected to take."""

_SINGLE_TILES = frozenset(map(tile_variant, (*TILES, *REGISTER_TILES)))


def other_variants(op: BoundInstruction) -> tuple[str, ...]:
    """Variants that could run an instruction beside the one the shipped table chooses.

    Those of a single tile are left out, since tiles are tried by product; so are those made for the
    other kind of device, which a software renderer compiles for seconds and a GPU crawls through.
    """
    default = choose(op).name
    return tuple(
        one.name
        for one in all_variants().get(op.ins.mnemonic, ())
        if one.name != default
        and one.name not in _SINGLE_TILES
        and not _is_for_others(one, op.caps)
        and one.applies(op)
    )


def _is_for_others(variant: Variant, caps: DeviceCaps) -> bool:
    here, there = variant.software, variant.hardware
    return there > here if caps.is_software else here > there


def shipped_tile(product: Product, tiles: Sequence[Tile], *, software: bool) -> TileChoice:
    """What the shipped table chooses among the tiles."""
    size = (product.rows, product.cols, product.depth, product.batches)
    return best_tile(*size, tiles, software=software)


def first_tiles(
    product: Product, tiles: Sequence[Tile], *, software: bool
) -> tuple[TileChoice, ...]:
    """Every tile that is not hopeless, cut as is expected to suit it; the shipped choice first."""
    cost = software_cost if software else hardware_cost
    size = (product.rows, product.cols, product.depth, product.batches)
    default = shipped_tile(product, tiles, software=software)
    most = PROMISING * cost(*size, *default)
    others = (shipped_tile(product, (tile,), software=software) for tile in tiles)
    return (
        default,
        *(
            cut
            for cut in others
            if cut[0] != default[0] and cost(*size, *cut) <= most and _fits(product, cut, default)
        ),
    )


def finer_and_coarser(
    product: Product, cut: TileChoice, default: TileChoice, *, software: bool
) -> tuple[Iterator[TileChoice], Iterator[TileChoice]]:
    """Cuts of the same tile into twice, four times, … as many parts, and into half, a quarter, …"""
    tile, parts = cut

    def finer() -> Iterator[TileChoice]:
        more = 2 * parts
        while more <= MOST_PARTS[software] and product.depth // more >= SLIM_PART[software]:
            if not _fits(product, (tile, more), default):
                return
            yield tile, more
            more *= 2

    def coarser() -> Iterator[TileChoice]:
        fewer = parts // 2
        while fewer >= 1:
            yield tile, fewer
            fewer //= 2

    return finer(), coarser()


def _fits(product: Product, cut: TileChoice, default: TileChoice) -> bool:
    """Whether the parts take no more room than the shipped choice or the usual scratch storage."""
    room = 4 * product.rows * product.cols * product.batches
    return cut[1] == 1 or room * cut[1] <= max(ROOM, room * default[1])
