"""Dense products: the fully connected layer and the batched matrix product."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import TensorType, shape_text
from studio.engine.isa.families import (
    broadcast_shapes,
    require_equal,
    require_products,
    require_rank,
)
from studio.engine.isa.fields import flag, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf


class Linear(Instruction, code=2, mnemonic="LINEAR", category="linear", saves=("w", "x")):
    """Fully connected layer.

    y = x·wᵀ + b over the last dimension of x. w is [out,in], b is [out] or absent.
    """

    synopsis = "{y} = {x}·{w}ᵀ + {b}"

    w = reads("Weights [out,in].")
    b = reads("Bias [out], or 0x- for none.", optional=True)
    x = reads("Input [N,…,in].")
    y = writes("Output [N,…,out].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x with the last dimension replaced by out."""
        require_products(self.mnemonic, of, self.w, self.b, self.x)
        w, x = of(self.w), of(self.x)
        require_rank(self.mnemonic, "w", w, 2)
        if len(x.shape) < 2 or x.shape[-1] != w.shape[1]:
            raise ShapeError(
                f"the last dimension of x must equal in = {w.shape[1]}: got {shape_text(x.shape)}",
                who=self.mnemonic,
                hint="flatten the input, or change the number of inputs",
            )
        if self.b.present:
            require_equal(self.mnemonic, "b", of(self.b).shape, (w.shape[0],))
        return (TensorType((*x.shape[:-1], w.shape[0]), x.dtype),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per weight and row, plus the bias."""
        y = of(self.y).numel
        return 2 * y * of(self.w).shape[1] + (y if self.b.present else 0)


class MatMul(Instruction, code=240, mnemonic="MATMUL", category="linear", saves=("a", "b")):
    """Batched matrix product.

    y = op(a)·op(b) over the last two dimensions, where op transposes if ta or tb is set; leading
    dimensions broadcast.
    """

    synopsis = "{y} = {a}·{b}"

    a = reads("Left matrices [..., rows, inner].")
    b = reads("Right matrices [..., inner, cols].")
    y = writes("Products [..., rows, cols].")
    ta = flag("Transpose the last two dimensions of a first.")
    tb = flag("Transpose the last two dimensions of b first.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """Rows of a by columns of b under the broadcast leading dimensions."""
        require_products(self.mnemonic, of, self.a, self.b)
        a, b = of(self.a), of(self.b)
        if len(a.shape) < 2 or len(b.shape) < 2:
            raise ShapeError(
                f"both operands need at least rank 2: got {a} and {b}", who=self.mnemonic
            )
        rows, inner = _matrix(a.shape, self.ta)
        inner_b, cols = _matrix(b.shape, self.tb)
        if inner != inner_b:
            raise ShapeError(
                f"inner sizes must match: got {inner} and {inner_b} (a {a}, b {b})",
                who=self.mnemonic,
            )
        lead = broadcast_shapes(self.mnemonic, a.shape[:-2], b.shape[:-2])
        return (TensorType((*lead, rows, cols), a.dtype),)

    def flops(self, of: TypeOf) -> int:
        """A product and a sum per inner step of each result."""
        return 2 * of(self.y).numel * _matrix(of(self.a).shape, self.ta)[1]


def _matrix(shape: tuple[int, ...], transposed: bool) -> tuple[int, int]:
    rows, cols = shape[-2], shape[-1]
    return (cols, rows) if transposed else (rows, cols)
