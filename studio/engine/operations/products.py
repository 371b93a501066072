"""Matrix products and other sums of products."""

from __future__ import annotations

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, Ref, Shape, shape_text
from studio.engine.isa.ops.linear import MatMul
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axis,
    Ints,
    Lines,
    at_axis,
    extent,
    permuted,
    reshaped,
    shape_of,
    times,
    without,
)
from studio.engine.operations.reductions import sum_
from studio.engine.operations.table import operation


@operation(symbol="A·B", numpy="matmul linalg.matmul", keras="matmul", onnx="MatMul", tfjs="matMul")
def matmul(
    lines: Lines, a: Ref, b: Ref, *, transpose_a: bool = False, transpose_b: bool = False
) -> Ref:
    """Product of matrices in the last two dimensions; those before broadcast.

    A vector on the left is a row, on the right a column; its dimension of 1 goes afterwards.

    Args:
        a: left matrices, or a vector.
        b: right matrices, or a vector.
        transpose_a: Transpose the left matrices first.
        transpose_b: Transpose the right matrices first.
    """
    a, b = types.floats(lines, a, b)
    left, right = shape_of(lines, a), shape_of(lines, b)
    if not left or not right:
        raise ShapeError("a scalar is no matrix", hint="multiply it element by element")
    if len(left) == 1:
        a, transpose_a = reshaped(lines, a, (1, *left)), False
    if len(right) == 1:
        b, transpose_b = reshaped(lines, b, (*right, 1)), False
    found = lines.emit(MatMul, a=a, b=b, ta=transpose_a, tb=transpose_b)[0]
    gone = [-2] * (len(left) == 1) + [-1] * (len(right) == 1)
    shape = shape_of(lines, found)
    return reshaped(lines, found, without(shape, [axis + len(shape) for axis in gone]))


@operation(symbol="·", numpy="dot", keras="dot", tfjs="dot")
def dot(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Sum of products over the last dimension of a and the last but one of b, as NumPy."""
    a, b = types.floats(lines, a, b)
    left, right = shape_of(lines, a), shape_of(lines, b)
    if not left or not right:
        return times(lines, a, b)
    return contracted(lines, a, b, [len(left) - 1], [max(len(right) - 2, 0)])


@operation(symbol="⟨a,b⟩", numpy="vecdot linalg.vecdot", keras="vdot")
def vecdot(lines: Lines, a: Ref, b: Ref, *, axis: Axis = -1) -> Ref:
    """Sum of products of two tensors along one dimension."""
    a, b = types.floats(lines, a, b)
    return sum_(lines, times(lines, a, b), axis=axis)


@operation(symbol="⟨a,b⟩", numpy="inner", keras="inner")
def inner(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Sum of products over the last dimensions of both tensors."""
    a, b = types.floats(lines, a, b)
    left, right = shape_of(lines, a), shape_of(lines, b)
    if not left or not right:
        return times(lines, a, b)
    return contracted(lines, a, b, [len(left) - 1], [len(right) - 1])


@operation(symbol="⊗", numpy="outer linalg.outer", keras="outer", tfjs="outerProduct")
def outer(lines: Lines, a: Ref, b: Ref) -> Ref:
    """Every product of an element of a and one of b, as a matrix."""
    a, b = types.floats(lines, a, b)
    rows, columns = _flat(lines, a), _flat(lines, b)
    m, n = shape_of(lines, rows)[0], shape_of(lines, columns)[0]
    return times(lines, reshaped(lines, rows, (m, 1)), reshaped(lines, columns, (1, n)))


def _flat(lines: Lines, x: Ref) -> Ref:
    shape = shape_of(lines, x)
    if shape == (BATCH,):
        return x
    return reshaped(lines, x, (extent(shape, range(len(shape))),))


@operation(symbol="A:B", numpy="tensordot", keras="tensordot")
def tensordot(lines: Lines, a: Ref, b: Ref, *, axes_a: Ints = (-1,), axes_b: Ints = (0,)) -> Ref:
    """Sum of products over chosen dimensions of both tensors.

    Args:
        a: left tensor.
        b: right tensor.
        axes_a: Dimensions of the left tensor that are summed over.
        axes_b: Dimensions of the right tensor they meet.
    """
    a, b = types.floats(lines, a, b)
    left, right = shape_of(lines, a), shape_of(lines, b)
    over_a = [at_axis(axis, len(left)) for axis in axes_a]
    over_b = [at_axis(axis, len(right)) for axis in axes_b]
    return contracted(lines, a, b, over_a, over_b)


def contracted(lines: Lines, a: Ref, b: Ref, over_a: list[int], over_b: list[int]) -> Ref:
    """MATMUL of two tensors whose dimensions are gathered in rows, inner ones and columns.

    Args:
        lines: receives them.
        a: left tensor.
        b: right tensor.
        over_a: dimensions of the left tensor that are summed over, from the front.
        over_b: those of the right tensor, in the same order.
    """
    left, right = shape_of(lines, a), shape_of(lines, b)
    if _kept(left, over_a) != _kept(right, over_b):
        raise ShapeError(
            f"dimensions that are summed over must agree: got {shape_text(_kept(left, over_a))}"
            f" and {shape_text(_kept(right, over_b))}"
        )
    free_a = [i for i in range(len(left)) if i not in over_a]
    free_b = [i for i in range(len(right)) if i not in over_b]
    inner_size = extent(left, over_a)
    rows, columns = _kept(left, free_a), _kept(right, free_b)
    if rows[:1] == (BATCH,) and len(rows) > 1:
        # The batch cannot be joined with other dimensions: one column of matrices per entry.
        middle = extent(rows, range(1, len(rows)))
        a = reshaped(lines, permuted(lines, a, free_a + over_a), (BATCH, middle, inner_size))
    else:
        size = rows[0] if len(rows) == 1 else extent(rows, range(len(rows)))
        a = reshaped(lines, permuted(lines, a, free_a + over_a), (size, inner_size))
    b = permuted(lines, b, over_b + free_b)
    b = reshaped(lines, b, (inner_size, extent(columns, range(len(columns)))))
    return reshaped(lines, lines.emit(MatMul, a=a, b=b)[0], (*rows, *columns))


def _kept(shape: Shape, axes: list[int]) -> Shape:
    return tuple(shape[i] for i in axes)
