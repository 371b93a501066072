"""Names what a kernel computes and how its operands lie, so that a measured choice is found again.

A signature begins with words for people and ends with a hash of everything else that a kernel's
speed hangs on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.product import Factor, Product
from studio.engine.gl.kernels.specs import BoundInstruction

_DIGITS = 10


def product_signature(op: BoundInstruction, product: Product) -> str:
    """What tells one dense product from another: sizes, factors, layouts, macros of its kernel."""
    size = f"{product.rows}x{product.cols}x{product.depth}"
    words = [product.kernel, size if product.batches == 1 else f"{product.batches}x {size}"]
    words += ["adds"] if product.adds else []
    words += ["bias"] if product.bias is not None else []
    left, right = product.left, product.right
    lie = [_lie(op, _stored(op, product, factor)) for factor in (left, right)]
    rest = [left, right, *lie, _lie(op, product.result), product.fixed_depth, product.busy]
    return _signed(words, [*map(repr, rest), *(f"{k}={v}" for k, v in _sorted(product))])


def op_signature(op: BoundInstruction) -> str:
    """What tells one instruction from another: operands, attributes, which gradients are set."""
    present = [(spec.name, ref) for spec, ref in op.ins.named_operands() if ref.present]
    shapes = [f"{name}[{','.join(map(str, op.shape_of(ref)))}]" for name, ref in present]
    facts = [f"{key}={value!r}" for key, value in sorted(op.ins.attrs.items())]
    return _signed([op.ins.mnemonic, *shapes], [*facts, *(_lie(op, r) for _, r in present)])


def _stored(op: BoundInstruction, product: Product, factor: Factor) -> Ref:
    bound = product.bind.get(factor.name)
    return op.ref(factor.name) if bound is None else bound


def _lie(op: BoundInstruction, ref: Ref) -> str:
    return str(op.layout_of(ref))


def _sorted(product: Product) -> list[tuple[str, int | str]]:
    return sorted(product.defines.items())


def _signed(words: Iterable[str], facts: Iterable[str]) -> str:
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:_DIGITS]
    return f"{' '.join(words)} #{digest}"
