"""How fully connected layers run, forward and back."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.column_sums import column_sums
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.products.dense_products import LATE_ROWS, Products, product_variants
from studio.engine.gl.kernels.specs import BoundInstruction, Variant


def _linear(op: BoundInstruction) -> Products:
    rows = prod(op.shape("x")[:-1])
    out, depth = op.shape("w")
    return (
        Product(
            "linear", rows, out, depth,
            Factor("x", True, op.layout("x").vector_rows),
            Factor("w", True, op.layout("w").vector_rows),
            op.ref("y"),
            bias=op.ref("b") if op.has("b") else None,
        ),
    )  # fmt: skip


def _grads_linear(op: BoundInstruction) -> Products:
    rows = prod(op.shape("y")[:-1])
    out, inner = op.shape("w")
    dy = op.layout("dy").vector_rows
    found: Products = ()
    if op.wants("w"):
        found += (
            Product(
                "grads_linear_dw", out, inner, rows,
                Factor("dy", False, dy),
                Factor("x", False, op.layout("x").vector_rows),
                op.ref("dw"),
                adds=op.adds("dw"),
                fixed_depth=False,
                late=rows <= LATE_ROWS,
                defines={"OUT": out, "IN": inner},
            ),
        )  # fmt: skip
    if op.wants("b"):
        found += column_sums(op, "dy", "db")
    if op.wants("x"):
        found += (
            Product(
                "grads_linear_dx", rows, inner, out,
                Factor("dy", True, dy),
                Factor("w", False, op.layout("w").vector_rows),
                op.ref("dx"),
                adds=op.adds("dx"),
            ),
        )  # fmt: skip
    return found


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "LINEAR": product_variants(_linear),
    "GRADS_LINEAR": product_variants(_grads_linear),
}
