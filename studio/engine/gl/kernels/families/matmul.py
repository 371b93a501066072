"""How batched matrix products and their gradients run: one kernel over strides."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from studio.engine.core.tensor import Shape
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.products.dense_products import Products, product_variants
from studio.engine.gl.kernels.specs import BoundInstruction, Variant


@dataclass(frozen=True)
class Side:
    """One matrix operand: its name and which of its last two dimensions is which index.

    Attributes:
        name: accessor name of the operand.
        outer: dimension that is the row or column of the result, -2 or -1.
    """

    name: str
    outer: int

    @property
    def depth(self) -> int:
        """The dimension summed over."""
        return -3 - self.outer


def _array(numbers: list[str]) -> str:
    return f"int[{len(numbers)}]({', '.join(numbers)})"


def _lead_strides(op: BoundInstruction, name: str, count: int) -> list[int]:
    """Strides along the leading dimensions of the product, 0 where the operand repeats."""
    layout = op.layout(name)
    own = [
        stride if size != 1 else 0
        for size, stride in zip(layout.sizes[:-2], layout.strides[:-2], strict=True)
    ]
    return [0] * (count - len(own)) + own


def _product(op: BoundInstruction, left: Side, right: Side, target: str) -> Product:
    """The product of two sides into ``target``, summed over what repeats in it."""
    whole = op.layout("y")
    count = whole.rank - 2
    sizes = [whole.size_text(d) for d in range(count)]
    bound = op.shape("y")[:-2]
    missing = count - (len(op.shape(target)) - 2)
    kept = [
        d for d in range(count) if d >= missing and not _repeats(op, target, d - missing, bound[d])
    ]
    summed = [d for d in range(count) if d not in kept]
    a, b = op.layout(left.name), op.layout(right.name)
    defines: dict[str, int | str] = {
        "ROWS_M": a.size_text(a.rank + left.outer),
        "COLS_N": b.size_text(b.rank + right.outer),
        "DEPTH_K": a.size_text(a.rank + left.depth),
        "LEFT_M": a.strides[left.outer],
        "LEFT_K": a.strides[left.depth],
        "RIGHT_N": b.strides[right.outer],
        "RIGHT_K": b.strides[right.depth],
        "LEFT_BASE": a.offset,
        "RIGHT_BASE": b.offset,
        "LEAD": max(len(kept), 1),
        "SUMMED": max(len(summed), 1),
        "REPEATS": int(bool(summed)),
        "LEAD_SIZES": _array([sizes[d] for d in kept] or ["1"]),
        "SUMMED_SIZES": _array([sizes[d] for d in summed] or ["1"]),
    }
    for side, operand in (("LEFT", left), ("RIGHT", right)):
        steps = _lead_strides(op, operand.name, count)
        defines[f"{side}_LEAD"] = _array([str(steps[d]) for d in kept] or ["0"])
        defines[f"{side}_SUMMED"] = _array([str(steps[d]) for d in summed] or ["0"])
    depth = op.shape(left.name)[left.depth]
    return Product(
        "matmul",
        op.shape(left.name)[left.outer],
        op.shape(right.name)[right.outer],
        depth * prod(bound[d] for d in summed),
        Factor("left", left.outer == -2, a.vector_rows),
        Factor("right", right.outer == -2, b.vector_rows),
        op.ref(target),
        adds=op.adds(target),
        batches=prod(bound[d] for d in kept),
        fixed_depth=not _depth_varies(whole.sizes, summed, a.sizes, left.depth),
        bind={"left": op.ref(left.name), "right": op.ref(right.name)},
        defines=defines,
    )


def _repeats(op: BoundInstruction, target: str, dimension: int, size: int) -> bool:
    """Whether the target has length 1 along a leading dimension of the product that has more."""
    return op.shape(target)[dimension] == 1 and op.layout(target).sizes[dimension] == 1 != size


def _depth_varies(whole: Shape, summed: list[int], left: Shape, depth: int) -> bool:
    return left[depth] < 0 or any(whole[d] < 0 for d in summed)


def _sides(op: BoundInstruction) -> tuple[int, int, int, int]:
    """Dimensions of a: rows, inner; of b: inner, columns."""
    ta, tb = op.ins.value("ta"), op.ins.value("tb")
    a = (-1, -2) if ta else (-2, -1)
    b = (-1, -2) if tb else (-2, -1)
    return (*a, *b)


def _matmul(op: BoundInstruction) -> Products:
    rows, _, _, cols = _sides(op)
    return (_product(op, Side("a", rows), Side("b", cols), "y"),)


def _grads_matmul(op: BoundInstruction) -> Products:
    rows, inner_a, inner_b, cols = _sides(op)
    found: Products = ()
    if op.wants("a"):
        sides = (Side("dy", -2), Side("b", inner_b))
        found += (_product(op, *(sides if rows == -2 else sides[::-1]), "da"),)
    if op.wants("b"):
        sides = (Side("a", inner_a), Side("dy", -1))
        found += (_product(op, *(sides if cols == -1 else sides[::-1]), "db"),)
    return found


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "MATMUL": product_variants(_matmul),
    "GRADS_MATMUL": product_variants(_grads_matmul),
}
