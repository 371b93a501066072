"""Reductions over chosen dimensions."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import TensorType
from studio.engine.isa.fields import flag, integer, integers, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf


class Reduce(Instruction, category="reduction"):
    """Operands and shape rule of reductions; no axes means all of them.

    Attributes:
        takes: element types it reduces; the result has that of what is reduced.
    """

    takes: ClassVar[tuple[DType, ...]] = tuple(DType)

    x = reads("Input.")
    y = writes("Result without the reduced dimensions (length 1 with keepdims).")
    axes = integers("Dimensions reduced, ascending; none means all.")
    keepdims = flag("Keep reduced dimensions with length 1.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape without the reduced dimensions."""
        x = of(self.x)
        if x.dtype not in self.takes:
            raise ShapeError(
                f"expected {' or '.join(dtype.name for dtype in self.takes)}, got {x.dtype.name}",
                who=self.mnemonic,
                hint="CAST it first",
            )
        rank = len(x.shape)
        if list(self.axes) != sorted(set(self.axes)) or any(not 0 <= a < rank for a in self.axes):
            raise ShapeError(
                f"axes must be ascending, inside rank {rank}: got {self.axes}", who=self.mnemonic
            )
        axes = set(self.axes or range(rank))
        kept = [1 if i in axes else d for i, d in enumerate(x.shape)]
        if not self.keepdims:
            kept = [d for i, d in enumerate(x.shape) if i not in axes]
        return (TensorType(tuple(kept), x.dtype),)

    def flops(self, of: TypeOf) -> int:
        """One operation per input element."""
        return of(self.x).numel


class ReduceSum(Reduce, code=270, mnemonic="REDUCE_SUM", saves=()):
    """Sum over dimensions.

    y = Σ x; whole numbers wrap around.
    """

    synopsis = "{y} = sum({x})"
    takes = (DType.float32, DType.float16, DType.int32)


class ReduceMean(Reduce, code=271, mnemonic="REDUCE_MEAN", saves=()):
    """Mean over dimensions.

    y = Σ x / count, of floats.
    """

    synopsis = "{y} = mean({x})"
    takes = (DType.float32, DType.float16)


class ReduceMax(Reduce, code=272, mnemonic="REDUCE_MAX", saves=("x", "y")):
    """Maximum over dimensions.

    y = max x; NaN wins. At ties the gradient goes to the first in row-major order.
    """

    synopsis = "{y} = max({x})"


class ReduceMin(Reduce, code=273, mnemonic="REDUCE_MIN", saves=("x", "y")):
    """Minimum over dimensions.

    y = min x; NaN wins. At ties the gradient goes to the first in row-major order.
    """

    synopsis = "{y} = min({x})"


class ReduceProd(Reduce, code=484, mnemonic="REDUCE_PROD", saves=("x",), since=2):
    """Product over dimensions.

    y = Π x; whole numbers wrap around. The gradient of an element is dy times the product of the
    others, which is right where some are 0.
    """

    synopsis = "{y} = product({x})"
    takes = (DType.float32, DType.float16, DType.int32)


class ArgExtreme(Instruction, category="reduction"):
    """Operands and shape rule of the places of extremes along one dimension."""

    x = reads("Input, rank at least 1.", differentiable=False)
    y = writes("Indices, without the dimension.")
    axis = integer(
        "The dimension; negative ones count from the end.", -1, low=-6, high=5, tail=True, since=2
    )

    def axis_of(self, rank: int) -> int:
        """The dimension, counted from the front; ShapeError outside the rank."""
        axis = self.axis + rank if self.axis < 0 else self.axis
        if not 0 <= axis < rank:
            raise ShapeError(f"axis {self.axis} is outside rank {rank}", who=self.mnemonic)
        return axis

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape without that dimension, as int32."""
        shape = of(self.x).shape
        axis = self.axis_of(len(shape))
        return (TensorType((*shape[:axis], *shape[axis + 1 :]), DType.int32),)

    def flops(self, of: TypeOf) -> int:
        """One comparison per input element."""
        return of(self.x).numel


class ArgMax(ArgExtreme, code=274, mnemonic="ARGMAX"):
    """Index of the largest element along a dimension.

    y = argmax x as int32; the first of equals; the first NaN wins. No gradient.
    """

    synopsis = "{y} = argmax({x})"


class ArgMin(ArgExtreme, code=483, mnemonic="ARGMIN", since=2):
    """Index of the smallest element along a dimension.

    y = argmin x as int32; the first of equals; the first NaN wins. No gradient.
    """

    synopsis = "{y} = argmin({x})"


class OneHot(Instruction, code=275, mnemonic="ONE_HOT", category="move"):
    """Rows with a 1 at an index.

    y[…, i] = 1 where i = x[…], else 0; an index outside gives a row of zeros. No gradient.
    """

    synopsis = "{y} = one_hot({x}, {depth})"
    x = reads("Indices, int32.", differentiable=False)
    y = writes("Rows [..., depth], float32.")
    depth = integer("Length of a row.", 2, low=1)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x with depth behind it, as float32."""
        return (TensorType((*of(self.x).shape, self.depth)),)
