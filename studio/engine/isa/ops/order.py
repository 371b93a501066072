"""What depends on the order of elements along a dimension: reversing, ranking, running results."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, Shape, TensorType
from studio.engine.isa.fields import choice, flag, integer, integers, reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf
from studio.engine.isa.ops.move import Move

NUMBERS = (DType.float32, DType.int32)
"""Element types that can be ranked and accumulated."""


def _axis(ins: Instruction, shape: Shape) -> int:
    """The dimension an instruction goes along, counted from the front."""
    axis, rank = int(ins.value("axis")), len(shape)
    found = axis + rank if axis < 0 else axis
    if not 0 <= found < rank:
        raise ShapeError(f"axis {axis} is outside rank {rank}", who=ins.mnemonic)
    return found


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


class TopK(Instruction, code=456, mnemonic="TOPK", category="reduction", saves=(), since=2):
    """Find the largest elements along a dimension, the largest first.

    y holds the k largest and i their places; of equal elements the one with the lower place comes
    first. With ``order=smallest`` the smallest come first. NaN counts as larger than any number.
    With k as long as the axis it sorts. The gradient goes to the places found.
    """

    synopsis = "{y}, {i} = top {k} of {x} along {axis}"
    x = reads("Input, float32 or int32.")
    y = writes("The elements found, k along the axis.")
    i = writes("Their places, int32.", kept=True)
    k = integer("How many.", 1, low=1)
    axis = integer("Dimension ranked.", -1, low=-6, high=5)
    order = choice("Which come first.", "largest", "smallest")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """k along the axis, for elements and for their places."""
        x = of(self.x)
        _check_numbers(self, x)
        axis = _axis(self, x.shape)
        if x.shape[axis] < 0:
            raise ShapeError("the batch dimension cannot be ranked", who=self.mnemonic)
        if self.k > x.shape[axis]:
            raise ShapeError(
                f"k may be 1 to {x.shape[axis]}, the length of axis {axis}: got {self.k}",
                who=self.mnemonic,
            )
        shape = (*x.shape[:axis], self.k, *x.shape[axis + 1 :])
        return (TensorType(shape, x.dtype), TensorType(shape, DType.int32))

    def flops(self, of: TypeOf) -> int:
        """A comparison for each element and each doubling of the axis."""
        x = of(self.x)
        return x.numel * max(1, x.shape[_axis(self, x.shape)].bit_length())


class Cumulate(
    Instruction, code=457, mnemonic="CUMULATE", category="reduction", saves=("x", "y"), since=2
):
    """Running sums, products or extremes along a dimension.

    y[k] = x[0] ∘ … ∘ x[k]. ``exclusive`` leaves x[k] itself out, so that the first is 0 for a sum,
    1 for a product, and the lowest or highest number (of floats -inf or inf) for max and min.
    ``reverse`` goes from the end. Sums and products of whole numbers wrap around; NaN stays from
    where it is met. At ties of extremes the gradient goes to the one met first.
    """

    synopsis = "{y} = running {op} of {x} along {axis}"
    x = reads("Input, float32 or int32.")
    y = writes("Running results, in the shape of x.")
    axis = integer("Dimension gone along.", -1, low=-6, high=5)
    op = choice("What is accumulated.", "sum", "prod", "max", "min")
    exclusive = flag("Leave the element itself out.")
    reverse = flag("Go from the end.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x."""
        x = of(self.x)
        _check_numbers(self, x)
        if x.shape[_axis(self, x.shape)] < 0:
            raise ShapeError("the batch dimension cannot be accumulated", who=self.mnemonic)
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
