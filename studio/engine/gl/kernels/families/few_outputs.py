"""How fully connected layers with few outputs run on a GPU: no tile would be full of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

from studio.engine.compiler.target import GL
from studio.engine.gl.kernels.families.losses import rows_weighed
from studio.engine.gl.kernels.products.dense_products import LATE_ROWS
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for

MOST_OUTPUTS = GL.row_outputs
FURTHER = 2
"""Levels that gradients of weights may wait where rows are many; where they are few it is one."""
_MOST_DEPTH = GL.row_inputs
"""Longer sums are better cut into parts."""
_MOST_ROWS = {"LINEAR": 4096, "GRADS_LINEAR": 1024}
"""With more rows a tile reads the weights less often, and the sums of dw are worth more groups."""
_LOCAL = 256
_SLICES = 16
"""Invocations that share a sum."""
_FULL = 512
"""Work groups from which on rows rather share what is read."""
_FEW_ROWS = 256
"""Rows up to which work groups of dw have twice the columns."""
_LARGEST_COVER = 4


def _few(op: BoundInstruction) -> bool:
    """Whether outputs, rows and depth suit."""
    out, depth = op.shape("w")
    rows = prod(op.shape("y")[:-1])
    most = _MOST_ROWS[op.ins.mnemonic]
    return out <= MOST_OUTPUTS and depth <= _MOST_DEPTH and 0 < rows <= most


def _cover(out: int, least: int) -> int:
    """The power of two that covers the outputs."""
    cover = least
    while cover < out:
        cover *= 2
    return cover


def _rows_each(units: int) -> int:
    """Rows an invocation has, where so many work groups would have one each."""
    each = 1
    while each < _LARGEST_COVER and units > _FULL * each:
        each *= 2
    return each


def _linear(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    rows = prod(op.shape("y")[:-1])
    cover = _cover(op.shape("w")[0], 1)
    lines = _LOCAL // (_SLICES * cover)
    each = _rows_each(groups_for(rows, lines))
    return (
        DispatchSpec(
            "linear_few",
            groups=(groups_for(rows, lines * each), 1, 1),
            local=(_LOCAL, 1, 1),
            vector=("x", "w"),
            defines={
                **_sizes(op, "x", "w"),
                "COVER": cover,
                "SLICES": _SLICES,
                "ROWS_EACH": each,
                "ROW_LOSS": 0,
                "ROW_DX": 0,
            },
        ),
    )


def _with_row_loss(
    op: BoundInstruction,
    row: BoundInstruction,
    gradient: BoundInstruction | None,
    back: BoundInstruction | None,
) -> DispatchSpec:
    """The layer with the loss of its rows, and what follows of it, in one dispatch.

    Args:
        op: the layer, which this variant runs.
        row: the loss of its rows.
        gradient: the gradient of that loss for the rows.
        back: the gradient of the layer for its input.
    """
    (plain,) = _linear(op)
    bind = {"row_t": row.ref("t"), "row_y": row.ref("y")}
    positions = prod(op.shape("y")[1:-1])
    share = "float(Y_NUMEL / OUT)"
    if row.has("weights"):
        bind["row_weights"] = row.ref("weights")
        op.see_as(row.ins)
    if gradient is not None:
        bind |= {"row_dp": gradient.ref("dp"), "row_dy": gradient.ref("dy")}
        # With Dylann's sum the gradient leaves the batch length out, not the positions.
        share = f"float({positions})" if gradient.ins.value("dylann_sum") else share
    if back is not None:
        bind["row_dx"] = back.ref("dx")
    defines: dict[str, int | str] = {
        "ROW_LOSS": 2 if row.ins.mnemonic == "ROW_CE" else 1,
        "ROW_VALUES": _LOCAL // _SLICES * int(plain.defines["ROWS_EACH"]),
        "ROW_GRADIENT": int(gradient is not None),
        "ROW_DX": int(back is not None),
        "FOUR_ROW_DX": int(back is not None and back.layout("dx").vector_rows),
        "ROW_WEIGHTS": int(row.has("weights")),
        "ROW_POSITIONS": rows_weighed(row),
        "ROW_SHARE": share,
    }
    return replace(
        plain,
        vector=(*plain.vector, "row_dx"),
        bind=bind,
        saves_dispatch=True,
        defines={**plain.defines, **defines},
    )


def _sizes(op: BoundInstruction, *vectors: str) -> dict[str, int | str]:
    out, depth = op.shape("w")
    four = {f"FOUR_{name.upper()}": int(op.layout(name).vector_rows) for name in vectors}
    return {"OUT": out, "IN": depth, **four}


def _grads_linear(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    rows = prod(op.shape("y")[:-1])
    out, depth = op.shape("w")
    quads = 4 if rows <= _FEW_ROWS else 2
    blocks = groups_for(depth, 4 * quads) if op.wants("w") else int(op.wants("b"))
    units = groups_for(rows * groups_for(depth, 4), _LOCAL)
    each = _rows_each(units)
    units = groups_for(groups_for(rows, each) * groups_for(depth, 4), _LOCAL)
    make = partial(
        DispatchSpec,
        local=(_LOCAL, 1, 1),
        vector=("x", "w", "dw", "dx"),
        defines={
            **_sizes(op, "x", "w", "dw", "dx"),
            "COVER": _cover(out, 4),
            "QUADS": quads,
            "ROWS_EACH": each,
        },
    )
    # One dispatch each: that of the weights takes longer than that of x and is wanted later.
    dispatches = []
    if blocks:
        # With few rows the level behind has room; with many it is full, and the last ones are not.
        levels = 1 if op.batch <= LATE_ROWS else FURTHER
        dispatches.append(make("grads_linear_few_dw", groups=(blocks, 1, 1), slack=levels))
    if op.wants("x"):
        dispatches.append(make("grads_linear_few_dx", groups=(units, 1, 1)))
    return tuple(dispatches)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "LINEAR": (Variant("few", _linear, _few, hardware=3, row_loss=_with_row_loss),),
    "GRADS_LINEAR": (Variant("few", _grads_linear, _few, hardware=3),),
}
