"""How fully connected layers run, forward and back."""

from __future__ import annotations

from math import prod

from studio.engine.gl.kernels.column_sums import column_sums
from studio.engine.gl.kernels.matmul.products import LATE_ROWS, Products, product_variants
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.specs import Case, Variant


def _linear(case: Case) -> Products:
    rows = prod(case.shape("x")[:-1])
    out, depth = case.shape("w")
    return (
        Product(
            "linear", rows, out, depth,
            Factor("x", True, case.layout("x").vector_rows),
            Factor("w", True, case.layout("w").vector_rows),
            case.ref("y"),
            bias=case.ref("b") if case.has("b") else None,
        ),
    )  # fmt: skip


def _grads_linear(case: Case) -> Products:
    rows = prod(case.shape("y")[:-1])
    out, inner = case.shape("w")
    dy = case.layout("dy").vector_rows
    found: Products = ()
    if case.wants("w"):
        found += (
            Product(
                "grads_linear_dw", out, inner, rows,
                Factor("dy", False, dy),
                Factor("x", False, case.layout("x").vector_rows),
                case.ref("dw"),
                adds=case.adds("dw"),
                fixed_depth=False,
                late=rows <= LATE_ROWS,
                defines={"OUT": out, "IN": inner},
            ),
        )  # fmt: skip
    if case.wants("b"):
        found += column_sums(case, "dy", "db")
    if case.wants("x"):
        found += (
            Product(
                "grads_linear_dx", rows, inner, out,
                Factor("dy", True, dy),
                Factor("w", False, case.layout("w").vector_rows),
                case.ref("dx"),
                adds=case.adds("dx"),
            ),
        )  # fmt: skip
    return found


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "LINEAR": product_variants(_linear),
    "GRADS_LINEAR": product_variants(_grads_linear),
}
