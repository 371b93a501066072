"""Which element type an operation computes in: bool below int32 below float32.

Other element types are for storage. float16 is widened to float32, uint8 and int8 to int32. A
number without a type of its own never changes one: the caller gives it the type of its neighbour,
or float32 where it has a fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref
from studio.engine.operations.lines import Lines, cast

Takes: TypeAlias = Literal["floats", "numbers", "alike", "truths", "whole", "any"]
"""What an operation does to the types of its operands, see `OPERANDS_FOR`."""

COMPUTED = (DType.bool, DType.int32, DType.float32)
"""The types that are computed in, each holding all values of those before it."""

_WIDENED = {
    DType.bool: DType.bool,
    DType.uint8: DType.int32,
    DType.int8: DType.int32,
    DType.int32: DType.int32,
    DType.float16: DType.float32,
    DType.float32: DType.float32,
}


def common_type(dtypes: Sequence[DType], least: DType = DType.bool) -> DType:
    """The type that operands meet in, at least ``least``."""
    found = [_WIDENED[dtype] for dtype in dtypes]
    return max((least, *found), key=COMPUTED.index)


def weak_type(number: bool | float, beside: DType | None = None) -> DType:
    """The type of a Python number beside an operand: that of the operand, if it can hold it.

    Args:
        number: without a type of its own.
        beside: type of the operand, None where there is none.
    """
    if isinstance(number, bool):
        own = DType.bool
    else:
        own = DType.int32 if isinstance(number, int) else DType.float32
    return own if beside is None else common_type((own, beside))


def floats(lines: Lines, *xs: Ref) -> tuple[Ref, ...]:
    """All operands as float32."""
    return tuple(cast(lines, x, DType.float32) for x in xs)


def numbers(lines: Lines, *xs: Ref) -> tuple[Ref, ...]:
    """All operands as int32, or as float32 where one of them is of floats."""
    return _in_common(lines, xs, DType.int32)


def alike(lines: Lines, *xs: Ref) -> tuple[Ref, ...]:
    """All operands in the type they meet in, which may be bool."""
    return _in_common(lines, xs, DType.bool)


def truths(lines: Lines, *xs: Ref) -> tuple[Ref, ...]:
    """All operands as bool: whether they are not 0."""
    return tuple(cast(lines, x, DType.bool) for x in xs)


def whole(lines: Lines, *xs: Ref) -> tuple[Ref, ...]:
    """All operands as int32; ShapeError where one is of floats."""
    for x in xs:
        dtype = lines.type_of(x).dtype
        if common_type([dtype]) is DType.float32:
            raise ShapeError(
                f"expected whole numbers, got {dtype.name}", hint="cast them to int32 first"
            )
    return tuple(cast(lines, x, DType.int32) for x in xs)


def unchanged(lines: Lines, *xs: Ref) -> tuple[Ref, ...]:
    """All operands as they are."""
    del lines
    return xs


OPERANDS_FOR: dict[Takes, Callable[..., tuple[Ref, ...]]] = {
    "floats": floats,
    "numbers": numbers,
    "alike": alike,
    "truths": truths,
    "whole": whole,
    "any": unchanged,
}
"""How operands are prepared."""


def _in_common(lines: Lines, xs: Sequence[Ref], least: DType) -> tuple[Ref, ...]:
    dtype = common_type([lines.type_of(x).dtype for x in xs], least)
    return tuple(cast(lines, x, dtype) for x in xs)
