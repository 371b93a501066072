"""How convolutions run: products over positions, taps and filters, without unrolled copies of x."""

from __future__ import annotations

from studio.engine.gl.column_sums import column_sums
from studio.engine.gl.products import Factor, Product, Products, product_variants
from studio.engine.gl.specs import Case, Variant
from studio.engine.gl.windows import geometry, pointwise


def _conv2d(case: Case) -> Products:
    kh, kw, channels, filters = case.shape("w")
    n, out_h, out_w, _ = case.shape("y")
    return (
        Product(
            "conv2d", n * out_h * out_w, filters, kh * kw * channels,
            Factor("x", True, case.layout("x").vector_rows),
            Factor("w", False, case.layout("w").vector_rows),
            case.ref("y"),
            bias=case.ref("b") if case.has("b") else None,
            defines=geometry(case),
        ),
    )  # fmt: skip


def _grads_conv2d(case: Case) -> Products:
    kh, kw, channels, filters = case.shape("w")
    n, height, width, _ = case.shape("x")
    _, out_h, out_w, _ = case.shape("y")
    dy = case.layout("dy").vector_rows
    found: Products = ()
    if case.wants("w"):
        found += (
            Product(
                "grads_conv2d_dw", kh * kw * channels, filters, n * out_h * out_w,
                Factor("x", False, case.layout("x").vector_rows),
                Factor("dy", False, dy),
                case.ref("dw"),
                adds=case.adds("dw"),
                fixed_depth=False,
                busy=not pointwise(case),
                defines=geometry(case),
            ),
        )  # fmt: skip
    if case.wants("b"):
        found += column_sums(case, "dy", "db")
    if case.wants("x"):
        found += (
            Product(
                "grads_conv2d_dx", n * height * width, channels, kh * kw * filters,
                Factor("dy", True, dy),
                Factor("w", True, case.layout("w").vector_rows),
                case.ref("dx"),
                adds=case.adds("dx"),
                defines=geometry(case),
            ),
        )  # fmt: skip
    return found


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "CONV2D": product_variants(_conv2d),
    "GRADS_CONV2D": product_variants(_grads_conv2d),
}
