"""Comparisons, choices and truth values."""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import arithmetic, function, logic, reduce
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axes,
    Lines,
    at_axes,
    cast,
    plus,
    rank_of,
    scalar,
    scaled,
    shifted,
    spread_alike,
)
from studio.engine.operations.table import operation, plain

equal = plain(
    arithmetic.Equal, family=__name__, takes="alike", symbol="=",
    numpy="equal", keras="equal", onnx="Equal", tfjs="equal",
)  # fmt: skip
greater = plain(
    arithmetic.Greater, family=__name__, takes="alike", symbol=">",
    numpy="greater", keras="greater", onnx="Greater", tfjs="greater",
)  # fmt: skip


greater_equal = plain(
    arithmetic.GreaterEqual, family=__name__, takes="alike", symbol="≥",
    numpy="greater_equal", keras="greater_equal", onnx="GreaterOrEqual", tfjs="greaterEqual",
)  # fmt: skip
logical_and = plain(
    logic.And, family=__name__, name="logical_and", takes="truths", symbol="∧",
    numpy="logical_and", keras="logical_and", onnx="And", tfjs="logicalAnd",
)  # fmt: skip
logical_or = plain(
    logic.Or, family=__name__, name="logical_or", takes="truths", symbol="∨",
    numpy="logical_or", keras="logical_or", onnx="Or", tfjs="logicalOr",
)  # fmt: skip
logical_xor = plain(
    logic.Xor, family=__name__, name="logical_xor", takes="truths", symbol="⊻",
    numpy="logical_xor", keras="logical_xor", onnx="Xor", tfjs="logicalXor",
)  # fmt: skip
logical_not = plain(
    logic.Not, family=__name__, name="logical_not", takes="truths", symbol="¬",
    numpy="logical_not", keras="logical_not", onnx="Not", tfjs="logicalNot",
)  # fmt: skip
isnan = plain(
    logic.IsNan, family=__name__, name="isnan", symbol="NaN?",
    numpy="isnan", keras="isnan", onnx="IsNaN", tfjs="isNaN",
)  # fmt: skip
isinf = plain(
    logic.IsInf, family=__name__, name="isinf", symbol="∞?",
    numpy="isinf", keras="isinf", onnx="IsInf", tfjs="isInf",
)  # fmt: skip


bitwise_and = plain(
    logic.BitAnd, family=__name__, name="bitwise_and", takes="whole", symbol="&",
    numpy="bitwise_and", keras="bitwise_and", onnx="BitwiseAnd", tfjs="bitwiseAnd",
)  # fmt: skip
bitwise_or = plain(
    logic.BitOr, family=__name__, name="bitwise_or", takes="whole", symbol="|",
    numpy="bitwise_or", keras="bitwise_or", onnx="BitwiseOr",
)  # fmt: skip
bitwise_xor = plain(
    logic.BitXor, family=__name__, name="bitwise_xor", takes="whole", symbol="^",
    numpy="bitwise_xor", keras="bitwise_xor", onnx="BitwiseXor",
)  # fmt: skip
bitwise_not = plain(
    logic.BitNot, family=__name__, name="bitwise_not", takes="whole", symbol="~",
    numpy="bitwise_not invert", keras="bitwise_not bitwise_invert", onnx="BitwiseNot",
)  # fmt: skip
bit_shift = plain(
    logic.BitShift, family=__name__, takes="whole", symbol="<<>>", onnx="BitShift",
)  # fmt: skip


def opposite(lines: Lines, x: Ref) -> Ref:
    """NOT."""
    return lines.emit(logic.Not, x=x)[0]


@operation(symbol="≠", numpy="not_equal", keras="not_equal", tfjs="notEqual")
def not_equal(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Whether elements differ; NaN differs from everything."""
    return opposite(lines, equal(lines, a, b))


@operation(symbol="≤", numpy="less_equal", keras="less_equal", onnx="LessOrEqual",
           tfjs="lessEqual")  # fmt: skip
def less_equal(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Whether elements of the first tensor are not larger; false where either is NaN."""
    return greater_equal(lines, b, a)


@operation(symbol="<∞?", numpy="isfinite", keras="isfinite", tfjs="isFinite")
def isfinite(lines: Lines, x: Ref) -> Ref:
    """Whether elements are neither infinite nor NaN."""
    (x,) = types.floats(lines, x)
    size = lines.emit(function.Abs, x=x)[0]
    return lines.emit(arithmetic.Greater, a=scalar(lines, float("inf")), b=size)[0]


@operation(symbol="NaN→0", numpy="nan_to_num", keras="nan_to_num")
def nan_to_num(lines: Lines, x: Ref, *, nan: float = 0.0) -> Ref:
    """Puts a number in place of NaN, and the largest ones in place of infinities.

    Args:
        x: any tensor.
        nan: The number.
    """
    (x,) = types.floats(lines, x)
    limited = lines.emit(function.Clip, x=x, low=-_LARGEST, high=_LARGEST)[0]
    unknown = isnan(lines, x)
    number = spread_alike(lines, scalar(lines, nan), x)[0]
    return lines.emit(arithmetic.Select, c=unknown, a=number, b=limited)[0]


_LARGEST = 3.4028234663852886e38
"""The largest float32."""


@operation(symbol="<", numpy="less", keras="less", onnx="Less", tfjs="less")
def less(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Whether elements of the first tensor are smaller; false where either is NaN."""
    return greater(lines, b, a)


@operation(symbol="?:", numpy="where", keras="where", onnx="Where", tfjs="where")
def where(lines: Lines, condition: Ref, a: Ref, b: Ref) -> Ref:
    """Takes elements of the first tensor where a condition holds, else of the second."""
    a, b = types.alike(lines, a, b)
    (condition,) = types.truths(lines, condition)
    condition, a, b = spread_alike(lines, condition, a, b)
    return lines.emit(arithmetic.Select, c=condition, a=a, b=b)[0]


def _reduced(lines: Lines, cls: type[reduce.Reduce], x: Ref, axis: Axes, keepdims: bool) -> Ref:
    (x,) = types.truths(lines, x)
    counted = cast(lines, x, DType.int32)
    axes = at_axes(axis, rank_of(lines, x))
    if axes:
        counted = lines.emit(cls, x=counted, axes=axes, keepdims=keepdims)[0]
    return cast(lines, counted, DType.bool)


@operation(symbol="∀", numpy="all", keras="all", tfjs="all")
def all_(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Whether all elements along dimensions are true."""
    return _reduced(lines, reduce.ReduceMin, x, axis, keepdims)


@operation(symbol="∃", numpy="any", keras="any", tfjs="any")
def any_(lines: Lines, x: Ref, *, axis: Axes = None, keepdims: bool = False) -> Ref:
    """Whether any element along dimensions is true."""
    return _reduced(lines, reduce.ReduceMax, x, axis, keepdims)


@operation(symbol="≈", numpy="isclose", keras="isclose")
def isclose(lines: Lines, a: Ref, b: Ref, *, rtol: float = 1e-5, atol: float = 1e-8) -> Ref:
    """Whether elements are near each other: |a - b| <= atol + rtol·|b|.

    Args:
        a: first tensor.
        b: second tensor, which the tolerance is measured by.
        rtol: Tolerance as a share of the second tensor.
        atol: Tolerance whatever the numbers.
    """
    a, b = types.floats(lines, a, b)
    apart = lines.emit(function.Abs, x=plus(lines, a, b, -1.0))[0]
    size = lines.emit(function.Abs, x=b)[0]
    room = shifted(lines, scaled(lines, size, rtol), atol)
    near = opposite(lines, lines.emit(arithmetic.Greater, a=apart, b=room)[0])
    number = lines.emit(arithmetic.Equal, a=apart, b=apart)[0]
    same = lines.emit(arithmetic.Equal, a=a, b=b)[0]
    finite = lines.emit(logic.And, a=near, b=number)[0]
    bounded = lines.emit(arithmetic.Greater, a=scalar(lines, float("inf")), b=size)[0]
    finite = lines.emit(logic.And, a=finite, b=bounded)[0]
    return lines.emit(logic.Or, a=finite, b=same)[0]


@operation(symbol="step", tfjs="step")
def step(lines: Lines, x: Ref, *, alpha: float = 0.0) -> Ref:
    """Gives 1 above 0 and a factor times 1 elsewhere; NaN stays NaN.

    Args:
        x: any tensor.
        alpha: Value where x is not above 0.
    """
    (x,) = types.floats(lines, x)
    above = cast(lines, greater(lines, x, scalar(lines, 0.0)), DType.float32)
    found = shifted(lines, scaled(lines, above, 1.0 - alpha), alpha)
    same = lines.emit(arithmetic.Equal, a=x, b=x)[0]
    return lines.emit(arithmetic.Select, c=same, a=found, b=x)[0]
