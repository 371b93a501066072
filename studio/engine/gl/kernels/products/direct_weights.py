"""The gradient of a convolution's weights where channels and filters are few, without a product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from studio.engine.gl.kernels.column_sums import product_fold
from studio.engine.gl.kernels.products.windows import geometry
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec
from studio.engine.gl.shader.dispatch import groups_for

_MOST_FACTORS = 64
"""Channels and filters at most."""
_WIDEST = 5
"""Columns of a filter whose sums an invocation can keep."""
_MOST_LOCAL = 256
_GROUPS = 264
"""Work groups worth having."""
_FEWEST_GROUPS = 128
"""Work groups without which a tile has fewer rows."""
_ROWS = (4, 2, 1)
"""Rows of positions a tile may have, the more the better."""
_LONGEST = 32
"""Positions of a row a tile has at most."""
_ROOM = 24 << 10
"""Bytes of shared memory a tile may take."""


@dataclass(frozen=True)
class WeightGrid:
    """How work groups lie over the gradient of a convolution's weights.

    Attributes:
        quads: quadruples of filters a work group has.
        slots: shares of a tile's positions its invocations go over side by side.
        local: invocations of a work group.
        rows: rows of positions of a tile.
        span: positions of such a row.
        neighbours: positions an invocation takes at once.
        parts: work groups that share the tiles.
    """

    quads: int
    slots: int
    local: int
    rows: int
    span: int
    neighbours: int
    parts: int


def weight_grid(op: BoundInstruction) -> WeightGrid | None:
    """The grid for the gradient of the weights; None where the kernel cannot make it."""
    ins = op.ins
    kh, kw, channels, filters = op.shape("w")
    n, height, width, _ = op.shape("y")
    neighbours = next((p for p in (4, 2) if width % p == 0), 0)
    suits = (
        ins.value("dil_h") == ins.value("dil_w") == 1
        and neighbours > 0
        and 1 < kw <= _WIDEST
        and channels % 4 == filters % 4 == 0
        and max(channels, filters) <= _MOST_FACTORS
        and op.layout("x").vector_rows
        and op.layout("dy").vector_rows
    )
    each = kh * (channels // 4)
    quads = filters // 4
    while quads % 2 == 0 and each * quads > _MOST_LOCAL:
        quads //= 2
    if not suits or each * quads > _MOST_LOCAL:
        return None
    slots = max(_MOST_LOCAL // (each * quads), 1)
    blocks = filters // 4 // quads
    fitting = [
        (rows, span, n * groups_for(height, rows) * (width // span))
        for rows, span in _tiles(width, neighbours)
        if _room(op, rows, span, quads) <= _ROOM
    ]
    if not fitting:
        return None
    # The largest tile of which there are enough, the most tiles where there are never enough.
    enough = (one for one in fitting if one[2] * blocks >= _FEWEST_GROUPS)
    rows, span, tiles = next(enough, max(fitting, key=lambda one: one[2]))
    parts = max(min(_GROUPS // blocks, tiles), 1)
    return WeightGrid(quads, slots, each * quads * slots, rows, span, neighbours, parts)


def _tiles(width: int, neighbours: int) -> Iterator[tuple[int, int]]:
    """Rows and positions of a row that divide a width, long ones first."""
    for span in range(min(width, _LONGEST), 0, -1):
        if width % span == 0 and span % neighbours == 0:
            yield from ((rows, span) for rows in _ROWS)


def _room(op: BoundInstruction, rows: int, span: int, quads: int) -> int:
    """Bytes a tile of positions takes, with what it touches of x."""
    kh, kw, channels, _ = op.shape("w")
    high = (rows - 1) * int(op.ins.value("stride_h")) + kh
    wide = (span - 1) * int(op.ins.value("stride_w")) + kw
    return 4 * high * wide * channels + 16 * rows * span * quads


def weight_dispatches(op: BoundInstruction, grid: WeightGrid) -> tuple[DispatchSpec, DispatchSpec]:
    """The dispatches of the gradient of the weights: parts, and their sum."""
    count, filters = op.numel("w"), op.shape("w")[3]
    first = DispatchSpec(
        "grads_conv2d_dw_direct",
        groups=(filters // 4 // grid.quads * grid.parts, 1, 1),
        local=(grid.local, 1, 1),
        bind={"y": op.ref("dw")},
        adds=frozenset({"y"} if op.adds("dw") else ()),
        vector=("x", "dy"),
        defines={
            **geometry(op),
            "QUADS": grid.quads,
            "SLOTS": grid.slots,
            "TILE_ROWS": grid.rows,
            "SPAN": grid.span,
            "NEIGHBOURS": grid.neighbours,
        },
        launch=(grid.parts, 0),
        scratch=grid.parts * count,
        scratch_vec4=True,
    )
    return first, product_fold(op, first, grid.parts, filters, count)
