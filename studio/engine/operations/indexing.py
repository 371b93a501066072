"""Look-ups by index, orders and running results."""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import Ref
from studio.engine.isa.ops import arithmetic, index, logic, order, reduce
from studio.engine.operations import types
from studio.engine.operations.creation import filled, zeros_like
from studio.engine.operations.lines import (
    Axes,
    Axis,
    Ints,
    Lines,
    at_axes,
    at_axis,
    cast,
    cut,
    extent,
    plus,
    rank_of,
    reshaped,
    scalar,
    shape_of,
)
from studio.engine.operations.moving import expand_dims, ravel
from studio.engine.operations.table import operation


@operation(symbol="x[i]", numpy="take", keras="take", onnx="Gather", tfjs="gather")
def gather(lines: Lines, x: Ref, indices: Ref, *, axis: int | None = 0) -> Ref:
    """Takes entries of a dimension by their indices.

    Args:
        x: what is looked up in.
        indices: whole numbers of any shape.
        axis: The dimension; of all elements in one row without one.
    """
    (indices,) = types.whole(lines, indices)
    if axis is None:
        x, axis = ravel(lines, x), 0
    at = at_axis(axis, rank_of(lines, x))
    return lines.emit(index.Gather, x=x, i=indices, axis=at)[0]


@operation(symbol="x[i]", numpy="take_along_axis", keras="take_along_axis", onnx="GatherElements")
def take_along_axis(lines: Lines, x: Ref, indices: Ref, *, axis: Axis = -1) -> Ref:
    """Takes single elements along a dimension, by indices in the shape of the result."""
    (indices,) = types.whole(lines, indices)
    at = at_axis(axis, rank_of(lines, x))
    return lines.emit(index.GatherElements, x=x, i=indices, axis=at)[0]


@operation(symbol="x[i,j]", onnx="GatherND", tfjs="gatherND")
def gather_nd(lines: Lines, x: Ref, indices: Ref, *, batch: int = 0) -> Ref:
    """Takes entries by tuples of indices in the last dimension.

    Args:
        x: what is looked up in.
        indices: whole numbers; the last dimension holds tuples.
        batch: How many dimensions in front both have in common.
    """
    (indices,) = types.whole(lines, indices)
    return lines.emit(index.GatherNd, x=x, i=indices, batch=batch)[0]


@operation(symbol="table[i]", tfjs="")
def embedding(lines: Lines, table: Ref, indices: Ref) -> Ref:
    """Takes rows of a table by their indices."""
    return gather(lines, table, indices, axis=0)


@operation(symbol="⇋", numpy="flip", keras="flip", tfjs="reverse")
def flip(lines: Lines, x: Ref, *, axis: Axes = None) -> Ref:
    """Turns dimensions round; all of them where none is named."""
    axes = at_axes(axis, rank_of(lines, x))
    extent(shape_of(lines, x), axes)
    return lines.emit(order.Reverse, x=x, axes=axes)[0] if axes else x


@operation(symbol="⇋", numpy="fliplr")
def fliplr(lines: Lines, x: Ref) -> Ref:
    """Turns the second dimension round."""
    return flip(lines, x, axis=1)


@operation(symbol="⇵", numpy="flipud")
def flipud(lines: Lines, x: Ref) -> Ref:
    """Turns the first dimension round."""
    return flip(lines, x, axis=0)


@operation(symbol="top", keras="top_k", onnx="TopK", tfjs="topk")
def top_k(lines: Lines, x: Ref, *, k: int = 1, axis: Axis = -1) -> tuple[Ref, Ref]:
    """The largest elements along a dimension, the largest first, and their places.

    Args:
        x: any tensor.
        k: How many.
    """
    return _ranked(lines, x, k, axis, "largest")


def _ranked(lines: Lines, x: Ref, k: int, axis: Axis, which: str) -> tuple[Ref, Ref]:
    (x,) = types.numbers(lines, x)
    at = at_axis(axis, rank_of(lines, x))
    values, places = lines.emit(order.TopK, x=x, k=k, axis=at, order=which)
    return values, places


def _ordered(lines: Lines, x: Ref, axis: Axis, descending: bool) -> tuple[Ref, Ref]:
    length = extent(shape_of(lines, x), [at_axis(axis, rank_of(lines, x))])
    return _ranked(lines, x, length, axis, "largest" if descending else "smallest")


@operation(symbol="sort", numpy="sort", keras="sort")
def sort(lines: Lines, x: Ref, *, axis: Axis = -1, descending: bool = False) -> Ref:
    """Elements along a dimension in order; equal ones keep theirs.

    Args:
        x: any tensor.
        descending: Whether the largest come first.
    """
    return _ordered(lines, x, axis, descending)[0]


@operation(symbol="argsort", numpy="argsort", keras="argsort")
def argsort(lines: Lines, x: Ref, *, axis: Axis = -1, descending: bool = False) -> Ref:
    """Places of the elements along a dimension in order.

    Args:
        x: any tensor.
        descending: Whether the largest come first.
    """
    return _ordered(lines, x, axis, descending)[1]


@operation(symbol="i: x<v", numpy="searchsorted", keras="searchsorted", tfjs="searchSorted")
def search_sorted(
    lines: Lines, x: Ref, values: Ref, *, side: Literal["left", "right"] = "left"
) -> Ref:
    """How many elements of a row in order lie in front of each value, as int32.

    Found by halving: a look-up for each bit of the length. NaN lies behind all numbers.

    Args:
        x: a vector in ascending order, or rows of them in the last dimension.
        values: of any shape for a vector; for rows, some for each row.
        side: Whether elements equal to the value lie behind it (left) or in front of it (right).
    """
    x, values = types.numbers(lines, x, values)
    shape, wanted = shape_of(lines, x), shape_of(lines, values)
    rank = len(shape)
    if not shape or (rank > 1 and wanted[:-1] != shape[:-1]):
        raise ShapeError("expected a vector in order, or a row in order for each row of values")
    length = extent(shape, [rank - 1])
    count, one = scalar(lines, length, DType.int32), scalar(lines, 1, DType.int32)
    found = cast(lines, zeros_like(lines, values), DType.int32)
    cls = index.Gather if rank == 1 else index.GatherElements
    ahead = arithmetic.GreaterEqual if side == "left" else arithmetic.Greater
    for bit in reversed(range(length.bit_length())):
        tried = plus(lines, found, scalar(lines, 1 << bit, DType.int32))
        last = plus(lines, lines.emit(arithmetic.Minimum, a=tried, b=count)[0], one, -1.0)
        seen = lines.emit(cls, x=x, i=last, axis=rank - 1)[0]
        stays = lines.emit(ahead, a=seen, b=values)[0]
        beyond = lines.emit(arithmetic.Greater, a=tried, b=count)[0]
        either = lines.emit(logic.Or, a=stays, b=beyond)[0]
        found = lines.emit(arithmetic.Select, c=either, a=found, b=tried)[0]
    return found


@operation(symbol="median", numpy="median", keras="median")
def median(lines: Lines, x: Ref, *, axis: Axis = -1) -> Ref:
    """The middle element along a dimension, or the mean of the two in the middle."""
    (x,) = types.floats(lines, x)
    at = at_axis(axis, rank_of(lines, x))
    ordered = sort(lines, x, axis=at)
    length = shape_of(lines, x)[at]
    count = 2 - length % 2
    middle = cut(lines, ordered, at, (length - 1) // 2, count)
    return lines.emit(reduce.ReduceMean, x=middle, axes=(at,))[0]


def _running(
    lines: Lines, x: Ref, op: str, axis: Axis, exclusive: bool = False, reverse: bool = False
) -> Ref:
    (x,) = types.numbers(lines, x)
    at = at_axis(axis, rank_of(lines, x))
    return lines.emit(order.Cumulate, x=x, axis=at, op=op, exclusive=exclusive, reverse=reverse)[0]


@operation(symbol="Σ↠", numpy="cumsum", keras="cumsum", onnx="CumSum", tfjs="cumsum")
def cumsum(
    lines: Lines, x: Ref, *, axis: Axis = 0, exclusive: bool = False, reverse: bool = False
) -> Ref:
    """Running sums along a dimension.

    Args:
        x: any tensor.
        exclusive: Leave the element itself out.
        reverse: Go from the end.
    """
    return _running(lines, x, "sum", axis, exclusive, reverse)


@operation(symbol="Π↠", numpy="cumprod", keras="cumprod", onnx="CumProd", tfjs="cumprod")
def cumprod(
    lines: Lines, x: Ref, *, axis: Axis = 0, exclusive: bool = False, reverse: bool = False
) -> Ref:
    """Running products along a dimension.

    Args:
        x: any tensor.
        exclusive: Leave the element itself out.
        reverse: Go from the end.
    """
    return _running(lines, x, "prod", axis, exclusive, reverse)


@operation(symbol="max↠", numpy="maximum.accumulate")
def cummax(lines: Lines, x: Ref, *, axis: Axis = 0) -> Ref:
    """Running maxima along a dimension."""
    return _running(lines, x, "max", axis)


@operation(symbol="min↠", numpy="minimum.accumulate")
def cummin(lines: Lines, x: Ref, *, axis: Axis = 0) -> Ref:
    """Running minima along a dimension."""
    return _running(lines, x, "min", axis)


@operation(symbol="∈top", keras="in_top_k", tfjs="inTopKAsync")
def in_top_k(lines: Lines, targets: Ref, predictions: Ref, *, k: int = 1) -> Ref:
    """Whether the prediction of a right class is among the largest of its row.

    Equal predictions count as one place, as in TensorFlow.

    Args:
        targets: index of the right class, whole numbers.
        predictions: a row for each index.
        k: How many of a row count.
    """
    (i,), (p,) = types.whole(lines, targets), types.floats(lines, predictions)
    shape = shape_of(lines, p)
    if not shape or shape[:-1] != shape_of(lines, i):
        raise ShapeError("expected a row of predictions for each index")
    if k < 1:
        raise ParameterError(f"k must be at least 1: got {k}")
    chosen = lines.emit(
        index.GatherElements, x=p, i=expand_dims(lines, i, axis=-1), axis=len(shape) - 1
    )[0]
    above = lines.emit(arithmetic.Greater, a=p, b=chosen)[0]
    count = lines.emit(reduce.ReduceSum, x=cast(lines, above, DType.int32), axes=(len(shape) - 1,))[
        0
    ]
    return lines.emit(arithmetic.Greater, a=scalar(lines, k, DType.int32), b=count)[0]


@operation(symbol="#i", numpy="bincount", keras="bincount", tfjs="bincount")
def bincount(lines: Lines, x: Ref, *, length: int) -> Ref:
    """How often each whole number from 0 on occurs; others are left out.

    Args:
        x: whole numbers.
        length: How many numbers are counted.
    """
    (i,) = types.whole(lines, x)
    shape = shape_of(lines, i)
    flat = i if len(shape) == 1 else reshaped(lines, i, (extent(shape, range(len(shape))),))
    hits = lines.emit(reduce.OneHot, x=flat, depth=length)[0]
    return cast(lines, lines.emit(reduce.ReduceSum, x=hits, axes=(0,))[0], DType.int32)


@operation(symbol="#i,j", tfjs="math.confusionMatrix")
def confusion_matrix(lines: Lines, targets: Ref, predictions: Ref, *, classes: int) -> Ref:
    """How often each class was predicted for each right one, as int32 [right, predicted].

    Args:
        targets: index of the right class, a vector of whole numbers.
        predictions: index of the predicted class.
        classes: How many there are.
    """
    right, found = types.whole(lines, targets, predictions)
    if rank_of(lines, right) != 1 or shape_of(lines, right) != shape_of(lines, found):
        raise ShapeError("expected two vectors of one length")
    rows = lines.emit(reduce.OneHot, x=right, depth=classes)[0]
    columns = lines.emit(reduce.OneHot, x=found, depth=classes)[0]
    from_rows = expand_dims(lines, rows, axis=2)
    products = lines.emit(arithmetic.Mul, a=from_rows, b=expand_dims(lines, columns, axis=1))[0]
    return cast(lines, lines.emit(reduce.ReduceSum, x=products, axes=(0,))[0], DType.int32)


Meeting: TypeAlias = Literal["none", "add", "mul", "max", "min"]
"""How a new element meets the one that is there; none takes its place."""


@operation(symbol="x[i]←u", onnx="ScatterElements", numpy="put_along_axis")
def put_along_axis(
    lines: Lines, x: Ref, indices: Ref, updates: Ref, *, axis: Axis = -1,
    reduction: Meeting = "none",
) -> Ref:  # fmt: skip
    """Writes single elements along a dimension, by indices in the shape of what is written.

    Args:
        x: what is changed; the result is a new tensor.
        indices: whole numbers.
        updates: what is written, in the shape of the indices.
        reduction: How an element meets the one that is there; none takes its place.
    """
    (indices,) = types.whole(lines, indices)
    x, updates = types.numbers(lines, x, updates)
    at = at_axis(axis, rank_of(lines, x))
    return lines.emit(index.Scatter, x=x, i=indices, u=updates, axis=at, reduction=reduction)[0]


@operation(symbol="x[i,j]←u", keras="scatter_update", onnx="ScatterND",
           tfjs="tensorScatterUpdate")  # fmt: skip
def scatter_update(
    lines: Lines, x: Ref, indices: Ref, updates: Ref, *, reduction: Meeting = "none"
) -> Ref:
    """Writes entries at tuples of indices in the last dimension.

    Args:
        x: what is changed; the result is a new tensor.
        indices: whole numbers; the last dimension holds tuples.
        updates: an entry for each tuple.
        reduction: How an entry meets the one that is there; none takes its place.
    """
    (indices,) = types.whole(lines, indices)
    x, updates = types.numbers(lines, x, updates)
    return lines.emit(index.ScatterNd, x=x, i=indices, u=updates, reduction=reduction)[0]


@operation(symbol="0[i,j]+u", keras="scatter", tfjs="scatterND")
def scatter(lines: Lines, indices: Ref, updates: Ref, *, shape: Ints) -> Ref:
    """Adds entries up at tuples of indices, beginning with zeros.

    Args:
        indices: whole numbers; the last dimension holds tuples.
        updates: an entry for each tuple.
    """
    (updates,) = types.numbers(lines, updates)
    zeros = filled(lines, shape, 0, lines.type_of(updates).dtype)
    return scatter_update(lines, zeros, indices, updates, reduction="add")


@operation(symbol="Σ by i", keras="segment_sum", tfjs="unsortedSegmentSum")
def segment_sum(lines: Lines, x: Ref, segments: Ref, *, count: int) -> Ref:
    """Sums of the rows that belong to each segment.

    Args:
        x: rows.
        segments: segment of each row, a vector of whole numbers.
        count: How many segments there are.
    """
    if rank_of(lines, segments) != 1:
        raise ShapeError("expected a vector of segments")
    shape = (count, *shape_of(lines, x)[1:])
    return scatter(lines, expand_dims(lines, segments, axis=-1), x, shape=shape)
