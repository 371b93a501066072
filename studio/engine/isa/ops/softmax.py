"""Softmax over rows of consecutive elements."""

from __future__ import annotations

from math import prod

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.isa.families import Unary
from studio.engine.isa.fields import integer
from studio.engine.isa.instruction import TypeOf

TRAILING = -1
"""The axis of rows that lie without gaps."""


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


class AxisFunction(RowFunction):
    """A function of rows that may also lie along any one dimension.

    Where ``axis`` is -1, rows are ``step`` consecutive elements, as of all functions of rows.
    Any other axis is a dimension counted from the front, whose length is ``step``.
    """

    axis = integer(
        "Dimension of length step that rows lie along; -1 where their elements are consecutive.",
        TRAILING, low=TRAILING, high=5, tail=True, since=2,
    )  # fmt: skip

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x, when rows of step elements fit it."""
        if self.axis == TRAILING:
            return super().infer(of)
        x = of(self.x)
        if self.axis >= len(x.shape):
            raise ShapeError(f"axis {self.axis} is outside rank {len(x.shape)}", who=self.mnemonic)
        if x.shape[self.axis] != self.step:
            raise ShapeError(
                f"step {self.step} must be the length of dimension {self.axis} of {x}",
                who=self.mnemonic,
            )
        return (x,)

    def apart(self, shape: Shape) -> int:
        """How far apart two neighbours of a row are in row-major order."""
        return 1 if self.axis == TRAILING else prod(shape[self.axis + 1 :])


class Softmax(AxisFunction, code=6, mnemonic="SOFTMAX", saves=("y",)):
    """Softmax of each row.

    y = e^(x - max) / Σ e^(x - max). NaN or +Inf in a row makes the row NaN.
    """

    synopsis = "{y} = softmax({x})"


class SoftmaxLog(AxisFunction, code=8, mnemonic="SOFTMAX_LOG", saves=("y",)):
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
