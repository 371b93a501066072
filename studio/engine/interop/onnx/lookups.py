"""Nodes of instructions that look up, move or rank elements: by indices, or in order along an axis.

ONNX counts negative indices from the end as the program does, but fails at one that is outside.
Such an index is replaced by one inside, and what was found there by NaN or 0, unless the indices
are fixed and all inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import Ref
from studio.engine.formats.onnx_wire import ELEMENT_TYPES, Attribute
from studio.engine.interop.onnx.graph_writer import GraphWriter
from studio.engine.isa.instruction import Instruction

_LONGEST = 1024
"""A running product or extreme is written as a table of its line by its line."""
_FAR = np.iinfo(np.int64).min


def reduction(
    writer: GraphWriter, op: str, value: str, axes: Sequence[int], *, keep: bool
) -> tuple[list[str], dict[str, Attribute]]:
    """Operands and attributes of a reduction; operator set 18 made the axes an operand."""
    if op == "ReduceSum" or writer.opset >= 18:
        return [value, writer.integers(axes)], {"keepdims": int(keep)}
    return [value], {"axes": tuple(axes), "keepdims": int(keep)}


def _size(writer: GraphWriter, x: Ref, axis: int) -> str:
    """The length of a dimension, as a whole number of 32 bits."""
    size = writer.shape(x)[axis]
    if size >= 0:
        return writer.scalar(size, "int32")
    shape = writer.node("Shape", (writer.plain(x),))
    found = writer.node("Gather", (shape, writer.scalar(axis, "int64")), {"axis": 0})
    return writer.cast(found, "int32")


def _outside(writer: GraphWriter, index: str, size: str) -> str:
    """Which of some indices name nothing."""
    below = writer.node("Less", (index, writer.node("Neg", (size,))))
    above = writer.node("Not", (writer.node("Less", (index, size)),))
    return writer.node("Or", (below, above))


def _all_inside(writer: GraphWriter, i: Ref, sizes: Sequence[int]) -> bool:
    """Whether indices are fixed and name something; those of a tuple have a size each."""
    array = writer.array(i)
    limits = np.array(sizes)
    return array is not None and bool(((-limits <= array) & (array < limits)).all())


def _found(writer: GraphWriter, y: Ref, value: str, outside: str) -> None:
    """The result, with NaN or 0 where an index was outside."""
    dtype = writer.tensor(y).dtype
    nowhere = float("nan") if dtype in (DType.float32, DType.float16) else 0
    writer.result(y, "Where", (outside, writer.scalar(nowhere, dtype.name), value))


def gather(writer: GraphWriter, line: Instruction) -> None:
    """Gather and GatherElements, each with the indices that name nothing set apart."""
    x, i, y = (line.ref(name) for name in ("x", "i", "y"))
    axis = line.value("axis") % writer.rank(x)
    by_element = line.mnemonic == "GATHER_ELEMENTS"
    op = "GatherElements" if by_element else "Gather"
    index, size = writer.plain(i), writer.shape(x)[axis]
    if size >= 0 and _all_inside(writer, i, (size,)):
        writer.result(y, op, (writer.plain(x), index), {"axis": axis})
        return
    outside = _outside(writer, index, _size(writer, x, axis))
    inside = writer.node("Where", (outside, writer.scalar(0, "int32"), index))
    value = writer.node(op, (writer.plain(x), inside), {"axis": axis})
    behind = 0 if by_element else writer.rank(x) - axis - 1
    if behind:
        outside = writer.node("Unsqueeze", (outside, writer.integers(tuple(range(-behind, 0)))))
    _found(writer, y, value, outside)


def _tuple_sizes(writer: GraphWriter, x: Ref, batch: int, wide: int) -> str:
    """The lengths of the dimensions that tuples go through."""
    sizes = writer.shape(x)[batch : batch + wide]
    if all(size >= 0 for size in sizes):
        listed = ",".join(map(str, sizes))
        return writer.constant(f"int32/{listed}", np.array(sizes, np.int32))
    one = writer.integers((0,))
    parts = [
        writer.node("Unsqueeze", (_size(writer, x, batch + k), one)) for k in range(len(sizes))
    ]
    return writer.node("Concat", parts, {"axis": 0})


def _outside_tuples(writer: GraphWriter, index: str, sizes: str) -> str:
    """Which tuples have an index that names nothing, as a dimension of length 1."""
    each = writer.cast(_outside(writer, index, sizes), "int32")
    some = writer.node("ReduceMax", *reduction(writer, "ReduceMax", each, (-1,), keep=True))
    return writer.cast(some, "bool")


def gather_nd(writer: GraphWriter, line: Instruction) -> None:
    """GatherND of indices of 64 bits."""
    x, i, y = (line.ref(name) for name in ("x", "i", "y"))
    batch, wide = line.value("batch"), writer.shape(i)[-1]
    index, sizes = writer.plain(i), writer.shape(x)[batch : batch + wide]
    if min(sizes) >= 0 and _all_inside(writer, i, sizes):
        whole = writer.cast(index, "int64")
        writer.result(y, "GatherND", (writer.plain(x), whole), {"batch_dims": batch})
        return
    outside = _outside_tuples(writer, index, _tuple_sizes(writer, x, batch, wide))
    inside = writer.node("Where", (outside, writer.scalar(0, "int32"), index))
    whole = writer.cast(inside, "int64")
    value = writer.node("GatherND", (writer.plain(x), whole), {"batch_dims": batch})
    behind = writer.rank(y) - writer.rank(i)
    if behind < 0:
        outside = writer.node("Squeeze", (outside, writer.integers((-1,))))
    elif behind:
        outside = writer.node("Unsqueeze", (outside, writer.integers(tuple(range(-behind, 0)))))
    _found(writer, y, value, outside)


_SINCE = {"none": 13, "add": 16, "mul": 16, "max": 18, "min": 18}
"""The first operator set that has a reduction of what is scattered."""


def scatter(writer: GraphWriter, line: Instruction) -> None:
    """ScatterElements and ScatterND; where an index may be outside, with a row more to leave it in.

    Raises:
        FormatError: the operator set does not have the reduction.
    """
    reduction = line.value("reduction")
    if writer.opset < _SINCE[reduction]:
        raise FormatError(
            f"operator set {writer.opset} has no {reduction} of what is scattered; "
            f"{_SINCE[reduction]} has",
            who=line.mnemonic,
        )
    x, i, u, y = (line.ref(name) for name in ("x", "i", "u", "y"))
    by_tuple = line.mnemonic == "SCATTER_ND"
    axis = 0 if by_tuple else line.value("axis") % writer.rank(x)
    wide = writer.shape(i)[-1] if by_tuple else 1
    attributes: dict[str, Attribute] = {} if by_tuple else {"axis": axis}
    if reduction != "none":
        attributes["reduction"] = reduction
    op = "ScatterND" if by_tuple else "ScatterElements"
    sizes = writer.shape(x)[axis : axis + wide]
    given, index = writer.plain(x), writer.plain(i)
    if min(sizes) >= 0 and _all_inside(writer, i, sizes):
        inputs = (given, writer.cast(index, "int64"), writer.plain(u))
        writer.result(y, op, inputs, attributes)
        return
    size = _tuple_sizes(writer, x, 0, wide) if by_tuple else _size(writer, x, axis)
    negative = writer.node("Less", (index, writer.scalar(0, "int32")))
    inside = writer.node("Where", (negative, writer.node("Add", (index, size)), index))
    if by_tuple:
        outside = _outside_tuples(writer, index, size)
        first = np.eye(1, wide, dtype=np.int32)[0]
        size = writer.node("Mul", (size, writer.constant(f"int32/first of {wide}", first)))
    else:
        outside = _outside(writer, index, size)
    kept = writer.cast(writer.node("Where", (outside, size, inside)), "int64")
    ends = [0] * (2 * writer.rank(x))
    ends[writer.rank(x) + axis] = 1
    longer = writer.node("Pad", (given, writer.integers(ends)))
    made = writer.node(op, (longer, kept, writer.plain(u)), attributes)
    limits = [writer.integers((number,)) for number in (0, -1, axis)]
    writer.result(y, "Slice", (made, *limits))


def reverse(writer: GraphWriter, line: Instruction) -> None:
    """Slice by steps of -1."""
    x, y = line.ref("x"), line.ref("y")
    axes = line.value("axes") or tuple(range(writer.rank(x)))
    limits = [writer.integers((number,) * len(axes)) for number in (-1, _FAR)]
    steps = writer.integers((-1,) * len(axes))
    writer.result(y, "Slice", (writer.plain(x), *limits, writer.integers(axes), steps))


def counted(writer: GraphWriter, line: Instruction) -> None:
    """A range: the numbers from 0, times the step, plus the first."""
    start, delta, y = (line.ref(name) for name in ("start", "delta", "y"))
    dtype, (count,) = writer.tensor(y).dtype.name, writer.shape(y)
    if count >= 0:
        numbers = writer.constant(f"{dtype}/0 to {count - 1}", np.arange(count, dtype=dtype))
    else:
        rows = writer.node("Squeeze", (writer.batch(), writer.integers((0,))))
        ends = writer.scalar(0, "int64"), rows, writer.scalar(1, "int64")
        numbers = writer.node("Cast", (writer.node("Range", ends),), {"to": ELEMENT_TYPES[dtype]})
    way = writer.node("Mul", (numbers, writer.plain(delta)))
    writer.result(y, "Add", (way, writer.plain(start)))


def top_k(writer: GraphWriter, line: Instruction) -> None:
    """TopK, whose places have 64 bits."""
    x, y, i = (line.ref(name) for name in ("x", "y", "i"))
    attributes = {
        "axis": line.value("axis"),
        "largest": int(line.value("order") == "largest"),
        "sorted": 1,
    }
    count = writer.integers((line.value("k"),))
    values, places = writer.pair("TopK", (writer.plain(x), count), attributes)
    writer.result(y, "Identity", (values,))
    writer.result(i, "Cast", (places,), {"to": ELEMENT_TYPES["int32"]})


def running(writer: GraphWriter, line: Instruction) -> None:
    """CumSum; other running results as reductions of a table that holds for each what it has.

    Raises:
        FormatError: the table of a running product or extreme would be too large.
    """
    x, y, op = line.ref("x"), line.ref("y"), line.value("op")
    axis = line.value("axis") % writer.rank(x)
    backward, exclusive = line.value("reverse"), line.value("exclusive")
    if op == "sum":
        attributes = {"exclusive": int(exclusive), "reverse": int(backward)}
        along = writer.scalar(axis, "int32")
        writer.result(y, "CumSum", (writer.plain(x), along), attributes)
        return
    length = writer.shape(x)[axis]
    if length > _LONGEST:
        raise FormatError(
            f"ONNX has no running {op}, which is written as a table of up to {_LONGEST} by "
            f"{_LONGEST} numbers: the axis is {length} long",
            who=line.mnemonic,
        )
    dtype = writer.tensor(x).dtype
    has = np.triu(np.ones((length, length), np.bool_), int(exclusive))
    has = (has.T if backward else has).reshape(length, length, *(1,) * (writer.rank(x) - axis - 1))
    table = writer.node("Unsqueeze", (writer.plain(x), writer.integers((axis + 1,))))
    neutral = writer.scalar(_neutral(op, dtype), dtype.name)
    table = writer.node("Where", (writer.constant(f"bool/{length}", has), table, neutral))
    name = {"prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}[op]
    writer.result(y, name, *reduction(writer, name, table, (axis,), keep=False))


def _neutral(op: str, dtype: DType) -> float | int:
    """What changes nothing."""
    if op == "prod":
        return 1
    if dtype is DType.float32:
        return float("-inf") if op == "max" else float("inf")
    limits = np.iinfo(np.int32)
    return int(limits.min if op == "max" else limits.max)
