"""Softmax over rows of consecutive elements."""

from __future__ import annotations

from math import prod

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import TensorType
from studio.engine.isa.families import Unary
from studio.engine.isa.fields import integer
from studio.engine.isa.instruction import TypeOf


class RowFunction(Unary, category="activation"):
    """A function of rows of ``step`` consecutive elements; rows never cross a batch entry."""

    elementwise = False
    step = integer("Elements in a row; the product of trailing dimensions.", 1, low=1)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x, when step divides the elements of an entry."""
        x = of(self.x)
        if prod(x.shape[1:]) % self.step:
            raise ShapeError(f"step {self.step} must divide the entries of {x}", who=self.mnemonic)
        return (x,)

    def flops(self, of: TypeOf) -> int:
        """Maximum, subtraction, exponential, sum and division per element."""
        return 5 * of(self.y).numel


class Softmax(RowFunction, code=6, mnemonic="SOFTMAX", saves=("y",)):
    """Softmax of each row.

    y = e^(x - max) / Σ e^(x - max). NaN or +Inf in a row makes the row NaN.
    """

    synopsis = "{y} = softmax({x})"


class SoftmaxLog(RowFunction, code=8, mnemonic="SOFTMAX_LOG", saves=("y",)):
    """Logarithm of the softmax of each row.

    y = x - max - ln Σ e^(x - max).
    """

    synopsis = "{y} = log_softmax({x})"


class SoftmaxCE(RowFunction, code=13, mnemonic="SOFTMAX_CE", saves=()):
    """Softmax whose gradient arrives already taken with respect to the logits.

    Forward as SOFTMAX; the gradient instruction passes dy on unchanged, because the cross-entropy
    behind it wrote (y - t).
    """

    synopsis = "{y} = softmax({x})"
