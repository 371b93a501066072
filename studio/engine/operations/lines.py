"""What an operation writes to, and the small steps that many operations share."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import BATCH, Ref, Shape, TensorType, shape_text
from studio.engine.isa.families import broadcast_shapes
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.arithmetic import Add, AddScalar, Mul, Scale
from studio.engine.isa.ops.move import Broadcast, Cast, Reshape, Slice, Transpose


class Lines(Protocol):
    """Takes instructions: the context of a layer, or the trace of eager calls."""

    @property
    def step(self) -> Ref:
        """The step block that keys random draws."""
        ...

    def type_of(self, ref: Ref) -> TensorType:
        """Shape and dtype of an operand; dimension 0 may be the symbol ``BATCH``."""
        ...

    def emit(self, cls: type[Instruction], /, **fields: Any) -> tuple[Ref, ...]:
        """Append an instruction, making its results; ShapeError where its operands do not fit.

        Args:
            cls: its class.
            fields: operands it reads, and attributes.
        """
        ...

    def constant(self, values: npt.ArrayLike) -> Ref:
        """An operand that holds numbers: float32 for fractions, int32 or bool for others."""
        ...

    def stream(self, role: str) -> int:
        """The stream of random numbers of one draw; draws of different roles are independent."""
        ...


LARGEST_CONSTANT = 1 << 22
"""Most numbers of a constant that an operation makes for the shape of an operand."""

Axis: TypeAlias = int
"""One dimension; negative ones count from the end."""

Axes: TypeAlias = int | tuple[int, ...] | None
"""Some dimensions; all of them where it is None."""

Ints: TypeAlias = tuple[int, ...]
"""Whole numbers."""

Pairs: TypeAlias = tuple[tuple[int, int], ...]
"""Two whole numbers for each dimension: before and behind."""

TypeName: TypeAlias = Literal["float32", "float16", "int32", "uint8", "bool"]
"""An element type by its name."""


def shape_of(lines: Lines, x: Ref) -> Shape:
    """The shape of an operand."""
    return lines.type_of(x).shape


def rank_of(lines: Lines, x: Ref) -> int:
    """How many dimensions an operand has."""
    return len(lines.type_of(x).shape)


def at_axis(axis: int, rank: int) -> int:
    """A dimension counted from the front; ShapeError outside of ``rank``."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} is outside of {rank} dimensions")
    return axis + rank if axis < 0 else axis


def at_axes(axes: Axes, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the front, ascending; all where ``axes`` is None."""
    if axes is None:
        return tuple(range(rank))
    named = (axes,) if isinstance(axes, int) else axes
    found = sorted(at_axis(axis, rank) for axis in named)
    if len(set(found)) < len(found):
        raise ShapeError(f"axes must name each dimension once: got {named}")
    return tuple(found)


def extent(shape: Shape, axes: Sequence[int]) -> int:
    """How many elements lie along some dimensions; ShapeError where the batch is among them."""
    if any(shape[axis] == BATCH for axis in axes):
        raise ShapeError(
            f"the length of the batch is not known here: got {shape_text(shape)}",
            hint="choose other axes than 0",
        )
    return prod(shape[axis] for axis in axes)


def require_small(*lengths: int) -> None:
    """ShapeError where an operation would need a constant of too many numbers."""
    if prod(lengths) > LARGEST_CONSTANT:
        raise ShapeError(
            f"a constant of {' x '.join(map(str, lengths))} numbers would be needed: at most "
            f"{LARGEST_CONSTANT} may be",
            hint="make the dimensions smaller first",
        )


def cast(lines: Lines, x: Ref, dtype: DType) -> Ref:
    """CAST, unless ``x`` has that dtype."""
    if lines.type_of(x).dtype is dtype:
        return x
    return lines.emit(Cast, x=x, dtype=dtype.name)[0]


def reshaped(lines: Lines, x: Ref, shape: Shape) -> Ref:
    """RESHAPE, unless ``x`` has that shape; its dimension 0 may be the symbol."""
    if shape_of(lines, x) == shape:
        return x
    return lines.emit(Reshape, x=x, shape=shape)[0]


def spread(lines: Lines, x: Ref, shape: Shape) -> Ref:
    """BROADCAST, unless ``x`` has that shape."""
    if shape_of(lines, x) == shape:
        return x
    return lines.emit(Broadcast, x=x, shape=shape)[0]


def spread_alike(lines: Lines, *xs: Ref, who: str = "") -> tuple[Ref, ...]:
    """All operands in the shape they broadcast to."""
    common: Shape = ()
    for x in xs:
        common = broadcast_shapes(who, common, shape_of(lines, x))
    return tuple(spread(lines, x, common) for x in xs)


def permuted(lines: Lines, x: Ref, order: Sequence[int]) -> Ref:
    """TRANSPOSE, unless dimensions stay in order."""
    if list(order) == list(range(len(order))):
        return x
    shape = shape_of(lines, x)
    if shape[:1] == (BATCH,) and order[0] != 0:
        raise ShapeError(f"the batch must stay in front: got {shape_text(shape)}")
    return lines.emit(Transpose, x=x, perm=tuple(order))[0]


def order_to_end(rank: int, axes: Sequence[int]) -> list[int]:
    """The permutation that puts some dimensions behind all others."""
    return [axis for axis in range(rank) if axis not in axes] + list(axes)


def inverse_of(order: Sequence[int]) -> list[int]:
    """The permutation that undoes one."""
    return sorted(range(len(order)), key=order.__getitem__)


def cut(lines: Lines, x: Ref, axis: int, begin: int, size: int) -> Ref:
    """SLICE along one dimension, counted from the front."""
    shape = shape_of(lines, x)
    if begin == 0 and size == shape[axis]:
        return x
    begins = tuple(begin if i == axis else 0 for i in range(len(shape)))
    sizes = tuple(size if i == axis else -1 for i in range(len(shape)))
    return lines.emit(Slice, x=x, begin=begins, size=sizes)[0]


def with_one(shape: Shape, axes: Sequence[int]) -> Shape:
    """A shape whose dimensions ``axes`` are 1 long."""
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


def without(shape: Shape, axes: Sequence[int]) -> Shape:
    """A shape without the dimensions ``axes``."""
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def scaled(lines: Lines, x: Ref, factor: float) -> Ref:
    """SCALE, unless by 1."""
    return x if factor == 1 else lines.emit(Scale, x=x, alpha=float(factor))[0]


def shifted(lines: Lines, x: Ref, number: float) -> Ref:
    """ADD_SCALAR, unless 0 is added."""
    return x if number == 0 else lines.emit(AddScalar, x=x, beta=float(number))[0]


def plus(lines: Lines, a: Ref, b: Ref, factor: float = 1.0) -> Ref:
    """ADD of a and ``factor`` times b."""
    return lines.emit(Add, x1=a, x2=b, alpha=1.0, beta=factor)[0]


def times(lines: Lines, a: Ref, b: Ref) -> Ref:
    """MUL."""
    return lines.emit(Mul, a=a, b=b)[0]


def scalar(lines: Lines, number: float, dtype: DType = DType.float32) -> Ref:
    """One number, of no dimensions; ParameterError where its type cannot hold it."""
    if dtype.np.kind in "iu":
        bounds = np.iinfo(dtype.name)
        if not bounds.min <= number <= bounds.max:
            raise ParameterError(
                f"expected a number from {bounds.min} to {bounds.max} for {dtype.name}, got "
                f"{number:g}"
            )
    return lines.constant(np.asarray(number, dtype.np))
