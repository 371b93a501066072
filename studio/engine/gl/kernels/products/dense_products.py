"""Plans dense products: which engine, which tile, how many parts the depth is cut into."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.column_sums import product_fold
from studio.engine.gl.kernels.partial_sums import PartGrid
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Plan, Variant
from studio.engine.gl.kernels.tiles import (
    BUSY_LOADS,
    MOST_JOINED,
    MOST_LOADS,
    REGISTER_TILES,
    TILES,
    Tile,
    best_tile,
)
from studio.engine.gl.shader.dispatch import groups_for

LATE_ROWS = 256
"""Rows up to which gradients of a dense layer's weights wait for the next level; longer sums fill
a device by themselves."""


SHARED_BYTES = 32 << 10
"""Shared memory of a work group that OpenGL 4.3 promises."""
_FLAG_BYTES = 16

Products = tuple[Product | DispatchSpec, ...]


def product_dispatches(
    op: BoundInstruction, product: Product, tiles: tuple[Tile, ...]
) -> tuple[DispatchSpec, ...]:
    """The dispatches of a product: one, or a partial one and the sum of the parts.

    Args:
        op: the instruction.
        product: what is multiplied.
        tiles: those to choose from; all of one engine.
    """
    size = (product.rows, product.cols, product.depth, product.batches)
    fit = affordable(product, tiles, op.caps.shared_bytes)
    tuned = op.caps.choices.tile(op, product, fit)
    tile, parts = tuned or best_tile(*size, fit, software=op.caps.is_software)
    if product.depths:
        # Sums of parts in a dispatch of their own would not know where the rows lie.
        parts = min(parts, MOST_JOINED) if _joins(op, product, tile, 1) else 1
    chunk = groups_for(groups_for(product.depth, parts), tile.depth) * tile.depth
    parts = max(groups_for(product.depth, chunk), 1)
    joins = parts > 1 and _joins(op, product, tile, parts)
    room = parts * product.batches * product.rows * product.cols if parts > 1 else 0
    tiles_in_all = tile.count(product.rows, product.cols, product.batches)
    if joins:
        room = tiles_in_all * parts * tile.rows * tile.cols
    out_vector = op.layout_of(product.result).vector_rows
    bind: dict[str, Ref] = {"y": product.result, **product.bind}
    if product.bias is not None:
        bind["bias"] = product.bias
    vector = [f.name for f in (product.left, product.right) if f.vector]
    count = tile.count(product.rows, product.cols, product.batches) * parts
    main = DispatchSpec(
        product.kernel,
        groups=(groups_for(count, tile.lanes), 1, 1),
        local=(tile.threads, 1, 1),
        bind=bind,
        adds=frozenset({"y"} if product.adds else ()),
        vector=(*vector, *(("y", "bias") if out_vector else ())),
        defines={**_macros(product, tile, out_vector), "JOINS": int(joins)},
        launch=(parts, chunk),
        scratch=room,
        fills_scratch=parts > 1,
        tickets=tiles_in_all if joins else 0,
        partial=parts > 1 and not joins,
        sum_grid=_part_grid(op, product, tile) if parts == 1 or joins else None,
        slack=int(product.late),
    )
    if parts == 1 or joins:
        return (main,)
    count = product.batches * product.rows * product.cols
    return main, product_fold(op, main, parts, product.cols, count, product.bias)


def _part_grid(op: BoundInstruction, product: Product, tile: Tile) -> PartGrid | None:
    """How a tile's work group takes sums along: of four columns an invocation."""
    if not tile.shared or tile.per_col != 4:
        return None
    if product.batches > 1 and not _cut_evenly(op, product, tile):
        return None
    # Each invocation hands four sums at a time over through shared memory.
    has_room = shared_bytes(product, tile) + 16 * tile.threads <= op.caps.shared_bytes
    return PartGrid(tile.rows, tile.cols // 4) if has_room else None


def _cut_evenly(op: BoundInstruction, product: Product, tile: Tile) -> bool:
    """Whether tiles of several products cut the rows of one result into parts of one length."""
    rows = prod(op.shape_of(product.result)[:-1])
    all_there = rows == product.rows * product.batches
    return bool(product.depths) and all_there and product.rows % tile.rows == 0


def _joins(op: BoundInstruction, product: Product, tile: Tile, parts: int) -> bool:
    """Whether the work group that comes last at a tile adds up its few parts itself."""
    storages = 5 + (product.bias is not None) + op.tail_storages
    few = parts <= MOST_JOINED
    return tile.shared and few and storages <= op.caps.offered_blocks


def affordable(
    product: Product, tiles: tuple[Tile, ...], shared: int = SHARED_BYTES
) -> tuple[Tile, ...]:
    """Tiles whose text stays small for this product; the smallest in any case.

    Narrow ones are for results they cover from side to side: else rows would be read repeatedly.

    Args:
        product: what is multiplied.
        tiles: those to choose from.
        shared: bytes of shared memory a work group may have.
    """
    vectors = (product.left.vector, product.right.vector)
    most = MOST_LOADS - (BUSY_LOADS if product.busy else 0)
    found = tuple(
        t
        for t in tiles
        if (shared_bytes(product, t) <= shared if t.shared else t.loads(*vectors) <= most)
        and not (t.narrow and t.cols < product.cols)
    )
    return found or tiles[-1:]


def shared_bytes(product: Product, tile: Tile) -> int:
    """Shared memory of a work group, the flag by which parts are joined included."""
    turned = sum(factor.along_depth for factor in (product.left, product.right))
    return tile.shared_bytes(turned) + _FLAG_BYTES


def _macros(product: Product, tile: Tile, out_vector: bool) -> dict[str, int | str]:
    even = all(depth % tile.depth == 0 for depth in product.depths or (product.depth,))
    return {
        **tile.macros(),
        "LEFT_VEC": int(product.left.vector),
        "RIGHT_VEC": int(product.right.vector),
        "LEFT_ALONG_K": int(product.left.along_depth),
        "RIGHT_ALONG_K": int(product.right.along_depth),
        "LEFT_GAPS": int(product.gaps),
        "OUT_VEC": int(out_vector),
        "EVEN_DEPTH": int(product.fixed_depth and even),
        "HAS_BIAS": int(product.bias is not None),
        **product.defines,
    }


def planned(
    op: BoundInstruction, found: Products, tiles: tuple[Tile, ...]
) -> tuple[DispatchSpec, ...]:
    """The dispatches of products and of what stands between them."""
    dispatches: list[DispatchSpec] = []
    for one in found:
        dispatches += product_dispatches(op, one, tiles) if isinstance(one, Product) else (one,)
    return tuple(dispatches)


def product_variants(describe: Callable[[BoundInstruction], Products]) -> tuple[Variant, ...]:
    """The engines and tiles that can run what ``describe`` says.

    ``registers`` and ``tiles`` choose a tile by the table of ``tiles.py``; the others are each one
    tile of that table, for a measurement to compare.
    """

    def plan(tiles: tuple[Tile, ...]) -> Plan:
        return partial(_plan, describe, tiles)

    return (
        Variant("registers", plan(REGISTER_TILES), software=2, hardware=1),
        Variant("tiles", plan(TILES), software=1, hardware=2),
        *(Variant(f"tiles_{t.name}", plan((t,))) for t in TILES),
        *(Variant(f"registers_{t.name}", plan((t,))) for t in REGISTER_TILES),
    )


def _plan(
    describe: Callable[[BoundInstruction], Products], tiles: tuple[Tile, ...], op: BoundInstruction
) -> tuple[DispatchSpec, ...]:
    return planned(op, describe(op), tiles)
