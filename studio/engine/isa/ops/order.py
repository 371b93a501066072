"""What depends on the order of elements along a dimension: reversing, ranking, running results."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, TensorType
from studio.engine.isa.fields import integer, integers, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf
from studio.engine.isa.ops.move import Move

NUMBERS = (DType.float32, DType.int32)
"""Element types that can be ranked and accumulated."""


def _check_numbers(ins: Instruction, x: TensorType) -> None:
    if x.dtype not in NUMBERS:
        raise ShapeError(
            f"expected float32 or int32, got {x.dtype.name}", who=ins.mnemonic, hint="CAST it first"
        )


class Reverse(Move, code=455, mnemonic="REVERSE", saves=(), since=2):
    """Turn dimensions round.

    y[…, k, …] = x[…, length - 1 - k, …] along each of ``axes``; none means all.
    """

    synopsis = "{y} = reverse({x}, {axes})"
    x = reads("Input.")
    y = writes("x turned round.")
    axes = integers("Dimensions turned round, ascending; none means all.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x."""
        x = of(self.x)
        rank = len(x.shape)
        if list(self.axes) != sorted(set(self.axes)) or any(not 0 <= a < rank for a in self.axes):
            raise ShapeError(
                f"axes must be ascending, inside rank {rank}: got {self.axes}", who=self.mnemonic
            )
        return (x,)


class Range(Move, code=458, mnemonic="RANGE", since=2):
    """Count up or down in equal steps.

    y[k] = start + k·delta for k in 0..count-1, a product rounded before the sum; whole numbers wrap
    around. No gradient.
    """

    synopsis = "{y} = {start} + {delta}·[0..{count})"
    start = reads("The first, a scalar of float32 or int32.", differentiable=False)
    delta = reads("From one to the next, a scalar of the same type.", differentiable=False)
    y = writes("The numbers [count].")
    count = integer("How many; -1 for as many as the batch has.", 1, low=-1, high=2**31 - 1)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[count]."""
        start, delta = of(self.start), of(self.delta)
        _check_numbers(self, start)
        if start.shape or delta != start:
            raise ShapeError(
                f"start and delta must be scalars of one type: got {start} and {delta}",
                who=self.mnemonic,
            )
        if self.count == 0:
            raise ShapeError("count may be 1 or more, or -1 for the batch", who=self.mnemonic)
        return (TensorType((BATCH if self.count < 0 else self.count,), start.dtype),)
