"""Families of instructions that share operands and shape rules."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, Shape, TensorType, shape_text
from studio.engine.isa.fields import reads, writes
from studio.engine.isa.instruction import Instruction, TypeOf

PICTURES: Mapping[str, int] = MappingProxyType({"x": 3, "y": 3})
"""What instructions that take pictures merge: all in front of rows, columns and channels."""


def broadcast_shapes(who: str, a: Shape, b: Shape) -> Shape:
    """NumPy's broadcasting rule, with a symbolic dimension matching itself or 1."""
    rank = max(len(a), len(b))
    left = (1,) * (rank - len(a)) + a
    right = (1,) * (rank - len(b)) + b
    out = []
    for p, q in zip(left, right, strict=True):
        if p != q and p != 1 and q != 1:
            raise ShapeError(
                f"shapes must broadcast: got {shape_text(a)} and {shape_text(b)}",
                who=who,
                hint="make the differing dimensions equal, or 1 on one side",
            )
        out.append(q if p == 1 else p)
    return tuple(out)


class Unary(Instruction, category="function"):
    """One operand in, one result of the same shape out, element by element."""

    elementwise = True

    x = reads("Input, any shape.")
    y = writes("Result, shape and dtype of the input.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The type of x."""
        return (of(self.x),)


class Binary(Instruction, category="arithmetic"):
    """Two operands in, one result of their broadcast shape out, element by element."""

    elementwise = True

    a = reads("Left operand.")
    b = reads("Right operand, broadcast against the left one by NumPy's rule.")
    y = writes("Result of the broadcast shape.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The broadcast shape of a and b, in the dtype of a."""
        a, b = of(self.a), of(self.b)
        return (TensorType(broadcast_shapes(self.mnemonic, a.shape, b.shape), a.dtype),)


def require_rank(who: str, what: str, found: TensorType, rank: int) -> None:
    """Raise ShapeError unless ``found`` has the given rank."""
    if len(found.shape) != rank:
        raise ShapeError(f"{what} must have rank {rank}: got {shape_text(found.shape)}", who=who)


def require_pictures(who: str, found: TensorType) -> tuple[Shape, int, int, int]:
    """The leading dimensions of pictures x, at least one, and height, width and channels.

    Raises ShapeError where there are fewer dimensions.
    """
    if len(found.shape) < 4:
        raise ShapeError(
            f"x must have rank 4 or more: got {shape_text(found.shape)}",
            who=who,
        )
    height, width, channels = found.shape[-3:]
    return found.shape[:-3], height, width, channels


def require_equal(who: str, what: str, found: Shape, expected: Shape) -> None:
    """Raise ShapeError unless two shapes are equal."""
    if found != expected:
        raise ShapeError(f"{what} must be {shape_text(expected)}: got {shape_text(found)}", who=who)


def require_leading(who: str, what: str, of: TypeOf, ref: Ref, positions: Shape) -> None:
    """Raise ShapeError unless an operand that is there has a leading part of a shape."""
    if not ref.present:
        return
    found = of(ref).shape
    if not found or found != positions[: len(found)]:
        wanted = " or ".join(shape_text(positions[: k + 1]) for k in range(len(positions)))
        raise ShapeError(f"{what} must be {wanted}: got {shape_text(found)}", who=who)


def require_products(who: str, of: TypeOf, *refs: Ref) -> None:
    """Raise ShapeError unless all operands present are of one floating-point type."""
    found = {of(ref).dtype for ref in refs if ref.present}
    if len(found) > 1 or not found <= {DType.float16, DType.float32}:
        raise ShapeError(
            "operands must be of one floating-point type: got "
            f"{', '.join(sorted(dtype.name for dtype in found))}",
            who=who,
        )


def rest(shape: Shape) -> int:
    """Number of elements behind dimension 0."""
    return prod(shape[1:])
