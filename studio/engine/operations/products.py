"""Matrix products and other sums of products."""

from __future__ import annotations

from studio.engine.core.errors import ParameterError, ShapeError, quoted
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


@operation(symbol="⟨a,b⟩", numpy="vecdot linalg.vecdot")
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


@operation(symbol="einsum", numpy="einsum", keras="einsum", onnx="Einsum", tfjs="einsum")
def einsum(lines: Lines, *xs: Ref, equation: str) -> Ref:
    """Sums of products over letters: each names a dimension of operands or of the result.

    A letter that the result lacks is summed over; without an arrow the result has the letters that
    occur once, in order of the alphabet. No operand may have a letter twice.

    Args:
        xs: one or more tensors.
        equation: Letters of each operand with commas between, an arrow, letters of the result.
    """
    terms, result = _terms(equation, len(xs))
    operands = list(types.floats(lines, *xs))
    _check_lengths(lines, operands, terms)
    found, have = operands[0], terms[0]
    for place, (x, letters) in enumerate(zip(operands[1:], terms[1:], strict=True), 2):
        needed = set(result).union(*terms[place:])
        found, have = _joined(lines, found, have, x, letters, needed)
    found, have = _summed(lines, found, have, set(result))
    return permuted(lines, found, [have.index(letter) for letter in result])


def _terms(equation: str, count: int) -> tuple[list[str], str]:
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = "".join(terms)
    if not arrow:
        result = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    wrong = (
        len(terms) != count
        or any(not c.isalpha() for c in letters + result)
        or any(len(set(term)) < len(term) for term in (*terms, result))
        or not set(result) <= set(letters)
    )
    if wrong:
        raise ParameterError(
            f"equation must name each dimension of {count} operands by a letter of its own: "
            f"got {quoted(equation)}",
            hint="such as ij,jk->ik",
        )
    return terms, result


def _check_lengths(lines: Lines, xs: list[Ref], terms: list[str]) -> None:
    lengths: dict[str, int] = {}
    for x, letters in zip(xs, terms, strict=True):
        shape = shape_of(lines, x)
        if len(shape) != len(letters):
            raise ShapeError(f"{quoted(letters)} names the dimensions of {shape_text(shape)}")
        for letter, length in zip(letters, shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise ShapeError(f"{letter} cannot be {lengths[letter]} and {length} long")


def _summed(lines: Lines, x: Ref, letters: str, kept: set[str]) -> tuple[Ref, str]:
    """The sum over letters that nothing needs any more."""
    over = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    if not over:
        return x, letters
    return sum_(lines, x, axis=over), "".join(c for c in letters if c in kept)


def _joined(
    lines: Lines, a: Ref, left: str, b: Ref, right: str, needed: set[str]
) -> tuple[Ref, str]:
    """MATMUL of two operands: letters in both that are needed lead, others in both are inner."""
    a, left = _summed(lines, a, left, needed | set(right))
    b, right = _summed(lines, b, right, needed | set(left))
    shared = [c for c in left if c in right and c in needed]
    inner_letters = [c for c in left if c in right and c not in needed]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    sizes = dict(zip(left + right, shape_of(lines, a) + shape_of(lines, b), strict=True))

    def laid_out(x: Ref, letters: str, *groups: list[str]) -> Ref:
        """Shared letters stay; each group of others becomes one dimension."""
        order = [letters.index(c) for group in (shared, *groups) for c in group]
        lead = tuple(sizes[c] for c in shared)
        merged = tuple(_product(sizes, group) for group in groups)
        return reshaped(lines, permuted(lines, x, order), (*lead, *merged))

    product = lines.emit(
        MatMul,
        a=laid_out(a, left, rows, inner_letters),
        b=laid_out(b, right, inner_letters, columns),
    )[0]
    have = "".join((*shared, *rows, *columns))
    return reshaped(lines, product, tuple(sizes[c] for c in have)), have


def _product(sizes: dict[str, int], letters: list[str]) -> int:
    """Length of letters laid out as one dimension; one that is the batch stays the batch."""
    lengths = tuple(sizes[c] for c in letters)
    return lengths[0] if len(lengths) == 1 else extent(lengths, range(len(lengths)))
