"""How convolutions run: products over positions, taps and filters, without unrolled copies of x."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.column_sums import column_sums
from studio.engine.gl.kernels.partial_sums import PartGrid
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.products.dense_products import Products, planned, product_variants
from studio.engine.gl.kernels.products.direct_convolution import direct_dispatch, is_direct
from studio.engine.gl.kernels.products.direct_weights import (
    WeightGrid,
    weight_dispatches,
    weight_grid,
)
from studio.engine.gl.kernels.products.phases import PhaseGrid
from studio.engine.gl.kernels.products.windows import covered, geometry, pointwise
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.kernels.tiles import TILES
from studio.engine.gl.shader.dispatch import groups_for

_FEW_TAPS = 28
"""Cells of a window, channels counted, whose weights for four filters an invocation keeps."""
_FEW_SUMS = 16
"""The same of cells whose sums it keeps; with more of them tiles of a product are faster."""
_FEW_CHANNELS = 4
_FEW_LOCAL = 256
_POSITIONS = (4, 2)
"""Positions an invocation goes over with the weights it has read, where there are many."""
_FEW_STEPS = 8
"""Positions an invocation sums at least, where there are that many."""
_MOST_FEW_PARTS = 528
_FEW_LANES = 32
"""Invocations that share a sum over the parts."""


def _conv2d(op: BoundInstruction) -> Products:
    kh, kw, channels, filters = op.shape("w")
    n, out_h, out_w, _ = op.shape("y")
    return (
        Product(
            "conv2d", n * out_h * out_w, filters, kh * kw * channels,
            Factor("x", True, op.layout("x").vector_rows),
            Factor("w", False, op.layout("w").vector_rows),
            op.ref("y"),
            bias=op.ref("b") if op.has("b") else None,
            gaps=not covered(op),
            defines=geometry(op),
        ),
    )  # fmt: skip


def _grads_conv2d(op: BoundInstruction) -> Products:
    return (*_grad_w(op), *_grad_b(op), *_grad_x(op))


def _grad_w(op: BoundInstruction) -> Products:
    if not op.wants("w"):
        return ()
    kh, kw, channels, filters = op.shape("w")
    n, out_h, out_w, _ = op.shape("y")
    return (
        Product(
            "grads_conv2d_dw", kh * kw * channels, filters, n * out_h * out_w,
            Factor("x", False, op.layout("x").vector_rows),
            Factor("dy", False, op.layout("dy").vector_rows),
            op.ref("dw"),
            adds=op.adds("dw"),
            fixed_depth=False,
            gaps=not covered(op),
            busy=not pointwise(op),
            defines=geometry(op),
        ),
    )  # fmt: skip


def _grad_b(op: BoundInstruction) -> Products:
    return column_sums(op, "dy", "db") if op.wants("b") else ()


def _grad_x(op: BoundInstruction) -> Products:
    if not op.wants("x"):
        return ()
    kh, kw, channels, filters = op.shape("w")
    n, height, width, _ = op.shape("x")
    rows, depth, batches = n * height * width, kh * kw * filters, 1
    depths: tuple[int, ...] = ()
    defines = geometry(op)
    grid = PhaseGrid(op)
    if grid.count > 1:
        rows, batches = n * grid.pixels, grid.count
        depths = tuple(taps * filters for taps in grid.taps)
        depth = depths[0]
        defines |= grid.macros()
    return (
        Product(
            "grads_conv2d_dx", rows, channels, depth,
            Factor("dy", True, op.layout("dy").vector_rows),
            Factor("w", True, op.layout("w").vector_rows),
            op.ref("dx"),
            adds=op.adds("dx"),
            batches=batches,
            depths=depths,
            gaps=not pointwise(op),
            defines=defines,
        ),
    )  # fmt: skip


def _keeps_weights(op: BoundInstruction) -> bool:
    """Whether an invocation has what it needs of the weights; neighbours must share what is read.

    Windows further apart are better read once by a tile of a product than by each for itself.
    """
    apart = {op.ins.value("stride_h"), op.ins.value("stride_w")} != {1}
    return not apart and _has_few_taps(op, "y", _FEW_TAPS)


def _keeps_sums(op: BoundInstruction) -> bool:
    return op.wants("w") and _has_few_taps(op, "dy", _FEW_SUMS)


def _has_few_taps(op: BoundInstruction, result: str, most: int) -> bool:
    """Whether a filter's numbers for one window fit into an invocation's registers, four times."""
    quads, rest = divmod(op.shape("w")[3], 4)
    power_of_two = quads & (quads - 1) == 0
    return (
        prod(op.shape("w")[:3]) <= most
        and op.shape("w")[2] <= _FEW_CHANNELS
        and rest == 0
        and 0 < quads <= _FEW_LOCAL // 8
        and power_of_two
        and op.layout(result).vector_rows
    )


def _conv2d_few(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    filters = op.shape("w")[3]
    positions = op.numel("y") // filters
    at_once = _FEW_LOCAL * 4 // filters
    busy = positions // (_MOST_FEW_PARTS * at_once)
    steps = next((k for k in _POSITIONS if k <= busy), 1)
    each = at_once * steps
    return (
        DispatchSpec(
            "conv2d_few",
            groups=(groups_for(positions, each), 1, 1),
            local=(_FEW_LOCAL, 1, 1),
            vector=("w", "b", "y"),
            defines={**geometry(op), "STEPS": steps},
            sum_grid=PartGrid(each, filters // 4),
        ),
    )


def _grads_conv2d_few(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    filters = op.shape("w")[3]
    positions = op.numel("y") // filters
    at_once = _FEW_LOCAL * 4 // filters
    parts = min(groups_for(positions, _FEW_STEPS * at_once), _MOST_FEW_PARTS)
    chunk = groups_for(groups_for(positions, parts), at_once) * at_once
    parts = groups_for(positions, chunk)
    sums = op.numel("w") + (filters if op.wants("b") else 0)
    lanes, local = _FEW_LANES, _FEW_LOCAL
    defines = {**geometry(op), "HAS_DB": int(op.wants("b"))}
    return (
        DispatchSpec(
            "grads_conv2d_few",
            groups=(parts, 1, 1),
            local=(_FEW_LOCAL, 1, 1),
            vector=("dy",),
            defines=defines,
            launch=(parts, chunk),
            scratch=parts * sums,
        ),
        DispatchSpec(
            "grads_conv2d_few_fold",
            groups=(groups_for(sums, local // lanes), 1, 1),
            local=(local, 1, 1),
            defines={**defines, "LANES": lanes},
            launch=(parts, 0),
            scratch=parts * sums,
            slack=1,
        ),
        *planned(op, _grad_x(op), TILES),
    )


def _direct_gradients(op: BoundInstruction) -> tuple[WeightGrid | None, bool]:
    """The grid of the weights' gradient, and whether that of x can be made, without products."""
    grid = weight_grid(op) if op.wants("w") else None
    return grid, op.wants("x") and is_direct(op, gradient=True)


def _grads_conv2d_direct(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    grid, turned = _direct_gradients(op)
    weights = _grad_w(op) if grid is None else weight_dispatches(op, grid)
    inputs = (direct_dispatch(op, gradient=True),) if turned else _grad_x(op)
    return planned(op, (*weights, *_grad_b(op), *inputs), TILES)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "CONV2D": (
        *product_variants(_conv2d),
        Variant("few_taps", _conv2d_few, _keeps_weights, hardware=4),
        Variant("direct", lambda op: (direct_dispatch(op),), is_direct, hardware=3),
    ),
    "GRADS_CONV2D": (
        *product_variants(_grads_conv2d),
        Variant("few_taps", _grads_conv2d_few, _keeps_sums, hardware=4),
        Variant(
            "direct",
            _grads_conv2d_direct,
            lambda op: _direct_gradients(op) != (None, False),
            hardware=3,
        ),
    ),
}
