"""Shapes, joins, cuts and orders."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Literal

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.tensor import BATCH, Ref, Shape, shape_text
from studio.engine.isa.families import broadcast_shapes
from studio.engine.isa.ops import move
from studio.engine.operations import types
from studio.engine.operations.lines import (
    Axes,
    Axis,
    Ints,
    Lines,
    Pairs,
    TypeName,
    at_axes,
    at_axis,
    cut,
    extent,
    inverse_of,
    permuted,
    rank_of,
    reshaped,
    shape_of,
    spread,
    without,
)
from studio.engine.operations.lines import cast as cast_to
from studio.engine.operations.table import operation

MOST_PIECES = 4096
"""Most pieces that one operation cuts or joins; each is a line of its own."""


def filled_shape(given: Ints, old: Shape) -> Shape:
    """A shape with its -1 replaced by what remains of another one.

    Where the old shape begins with the batch, a first -1 is the batch.
    """
    first: Shape = ()
    if old[:1] == (BATCH,) and given[:1] == (BATCH,):
        first, given, old = (BATCH,), given[1:], old[1:]
    open_places = [i for i, size in enumerate(given) if size == -1]
    if len(open_places) > 1 or any(size < -1 for size in given):
        raise ShapeError(f"a shape has at most one -1: got {shape_text((*first, *given))}")
    if not open_places:
        return (*first, *given)
    known = extent(given, [i for i in range(len(given)) if i not in open_places])
    count = extent(old, range(len(old)))
    if known == 0 or count % known:
        raise ShapeError(f"{count} elements cannot be laid out as {shape_text((*first, *given))}")
    return (*first, *(count // known if size == -1 else size for size in given))


@operation(symbol="▭", numpy="reshape", keras="reshape", onnx="Reshape", tfjs="reshape")
def reshape(lines: Lines, x: Ref, *, shape: Ints = (-1,)) -> Ref:
    """Gives a tensor another shape of as many elements.

    Args:
        x: any tensor.
        shape: The new shape; -1 is what remains, a first -1 the batch where x has one.
    """
    return reshaped(lines, x, filled_shape(shape, shape_of(lines, x)))


@operation(symbol="▬", numpy="ravel", keras="ravel")
def ravel(lines: Lines, x: Ref) -> Ref:
    """Lays all elements out in one row."""
    return reshaped(lines, x, filled_shape((-1,), shape_of(lines, x)))


@operation(symbol="▤", onnx="Flatten")
def flatten(lines: Lines, x: Ref) -> Ref:
    """Lays each entry of the batch out in one row."""
    shape = shape_of(lines, x)
    if not shape:
        raise ShapeError("a scalar has no batch")
    return reshaped(lines, x, (shape[0], extent(shape, range(1, len(shape)))))


@operation(symbol="↔", numpy="transpose permute_dims", keras="transpose", onnx="Transpose",
           tfjs="transpose")  # fmt: skip
def transpose(lines: Lines, x: Ref, *, axes: Axes = None) -> Ref:
    """Permutes dimensions; without a permutation they are turned round.

    Args:
        x: any tensor.
        axes: For each dimension of the result, the one of x it takes.
    """
    rank = rank_of(lines, x)
    if axes is None:
        return permuted(lines, x, list(range(rank))[::-1])
    named = (axes,) if isinstance(axes, int) else axes
    order = [at_axis(axis, rank) for axis in named]
    if sorted(order) != list(range(rank)):
        raise ShapeError(f"axes must permute {rank} dimensions: got {named}")
    return permuted(lines, x, order)


@operation(symbol="⇄", numpy="swapaxes", keras="swapaxes")
def swapaxes(lines: Lines, x: Ref, *, axis1: Axis = -2, axis2: Axis = -1) -> Ref:
    """Exchanges two dimensions."""
    order = list(range(rank_of(lines, x)))
    one, two = at_axis(axis1, len(order)), at_axis(axis2, len(order))
    order[one], order[two] = order[two], order[one]
    return permuted(lines, x, order)


@operation(symbol="⇢", numpy="moveaxis", keras="moveaxis")
def moveaxis(lines: Lines, x: Ref, *, source: Axis = 0, destination: Axis = -1) -> Ref:
    """Moves a dimension to another place."""
    rank = rank_of(lines, x)
    order = [axis for axis in range(rank) if axis != at_axis(source, rank)]
    order.insert(at_axis(destination, rank), at_axis(source, rank))
    return permuted(lines, x, order)


@operation(symbol="+1", numpy="expand_dims", keras="expand_dims", onnx="Unsqueeze",
           tfjs="expandDims")  # fmt: skip
def expand_dims(lines: Lines, x: Ref, *, axis: Axis = 0) -> Ref:
    """Puts a dimension of length 1 in front of another."""
    shape = list(shape_of(lines, x))
    shape.insert(at_axis(axis, len(shape) + 1), 1)
    return reshaped(lines, x, tuple(shape))


@operation(symbol="-1", numpy="squeeze", keras="squeeze", onnx="Squeeze", tfjs="squeeze")
def squeeze(lines: Lines, x: Ref, *, axis: Axes = None) -> Ref:
    """Takes dimensions of length 1 out; all of them where none is named."""
    shape = shape_of(lines, x)
    if axis is None:
        return reshaped(lines, x, tuple(size for size in shape if size != 1))
    axes = at_axes(axis, len(shape))
    if any(shape[i] != 1 for i in axes):
        raise ShapeError(f"only dimensions of length 1 can be taken out: got {shape_text(shape)}")
    return reshaped(lines, x, without(shape, axes))


@operation(symbol="⧉", numpy="broadcast_to", keras="broadcast_to", onnx="Expand",
           tfjs="broadcastTo")  # fmt: skip
def broadcast_to(lines: Lines, x: Ref, *, shape: Ints) -> Ref:
    """Repeats dimensions of length 1 until a tensor has a shape.

    Args:
        x: any tensor.
        shape: The shape; -1 keeps a dimension of x.
    """
    old = shape_of(lines, x)
    if len(shape) < len(old):
        raise ShapeError(f"a shape of at least {len(old)} dimensions is needed: got {shape}")
    left = (1,) * (len(shape) - len(old)) + old
    wanted = tuple(o if s == -1 else s for s, o in zip(shape, left, strict=True))
    broadcast_shapes("", old, wanted)
    return spread(lines, x, wanted)


@operation(symbol="⊕", numpy="concatenate concat", keras="concatenate", onnx="Concat",
           tfjs="concat")  # fmt: skip
def concatenate(lines: Lines, *xs: Ref, axis: Axis = -1) -> Ref:
    """Joins tensors along a dimension they have."""
    xs = types.alike(lines, *xs)
    if len(xs) == 1:
        return xs[0]
    at = at_axis(axis, rank_of(lines, xs[0]))
    return lines.emit(move.Concat, xs=xs, axis=at)[0]


@operation(symbol="≡", numpy="stack", keras="stack", tfjs="stack")
def stack(lines: Lines, *xs: Ref, axis: Axis = 0) -> Ref:
    """Joins tensors of one shape along a new dimension."""
    shapes = {shape_of(lines, x) for x in xs}
    if len(shapes) > 1:
        texts = " and ".join(sorted(shape_text(s) for s in shapes))
        raise ShapeError(f"expected tensors of one shape, got {texts}")
    at = at_axis(axis, rank_of(lines, xs[0]) + 1)
    return concatenate(lines, *(expand_dims(lines, x, axis=at) for x in xs), axis=at)


@operation(symbol="⋮", keras="unstack", tfjs="unstack")
def unstack(lines: Lines, x: Ref, *, axis: Axis = 0) -> tuple[Ref, ...]:
    """Takes a tensor apart along a dimension, which goes."""
    shape = shape_of(lines, x)
    at = at_axis(axis, len(shape))
    count = extent(shape, [at])
    _require_few(count)
    rest = without(shape, [at])
    return tuple(reshaped(lines, cut(lines, x, at, i, 1), rest) for i in range(count))


@operation(symbol="⫿", numpy="split", keras="split", onnx="Split", tfjs="split")
def split(
    lines: Lines, x: Ref, *, parts: int = 2, sizes: Ints = (), axis: Axis = -1
) -> tuple[Ref, ...]:
    """Cuts a tensor into pieces along a dimension.

    Args:
        x: any tensor.
        parts: How many pieces of one length; not used where sizes are given.
        sizes: Length of each piece; one may be -1 for what remains.
    """
    shape = shape_of(lines, x)
    at = at_axis(axis, len(shape))
    length = extent(shape, [at])
    if not sizes:
        if parts < 1 or length % parts:
            raise ShapeError(f"{length} cannot be cut into {parts} pieces of one length")
        _require_few(parts)
        sizes = (length // parts,) * parts
    sizes = filled_sizes(sizes, length)
    begins = [0, *accumulate(sizes[:-1])]
    return tuple(cut(lines, x, at, b, s) for b, s in zip(begins, sizes, strict=True))


def _require_few(pieces: int) -> None:
    if pieces > MOST_PIECES:
        raise ShapeError(f"at most {MOST_PIECES} pieces may be cut or joined: got {pieces}")


def filled_sizes(sizes: Ints, length: int) -> Ints:
    """Lengths of pieces with a -1 replaced by what remains; ShapeError unless they fit."""
    known = sum(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known <= length:
        sizes = tuple(length - known if size == -1 else size for size in sizes)
    if sum(sizes) != length or min(sizes) < 0:
        raise ShapeError(f"pieces must be {length} long together: got {sizes}")
    return sizes


@operation(symbol="[:]", keras="slice", onnx="Slice", tfjs="slice")
def slice_(lines: Lines, x: Ref, *, begin: Ints = (0,), size: Ints = (-1,)) -> Ref:
    """Cuts a box out of a tensor.

    Args:
        x: any tensor.
        begin: First index of each dimension; those not given begin at 0.
        size: Length of each dimension; -1, or none given, is all behind the first index.
    """
    shape = shape_of(lines, x)
    if max(len(begin), len(size)) > len(shape):
        raise ShapeError(f"expected at most {len(shape)} numbers, got {begin} and {size}")
    begins = begin + (0,) * (len(shape) - len(begin))
    sizes = size + (-1,) * (len(shape) - len(size))
    lengths = tuple(
        d - b if s == -1 and d != BATCH and b else s
        for d, b, s in zip(shape, begins, sizes, strict=True)
    )
    if all(b == 0 and s in (-1, d) for b, s, d in zip(begins, lengths, shape, strict=True)):
        return x
    return lines.emit(move.Slice, x=x, begin=begins, size=lengths)[0]


@operation(symbol="✂", keras="", onnx="")
def crop(lines: Lines, x: Ref, *, amounts: Pairs) -> Ref:
    """Takes cells off both ends of dimensions.

    Args:
        x: any tensor.
        amounts: Cells taken from the beginning and the end of each dimension.
    """
    shape = shape_of(lines, x)
    if len(amounts) != len(shape):
        raise ShapeError(f"amounts need two numbers for each of {shape_text(shape)}")
    for axis, (front, behind) in enumerate(amounts):
        if front < 0 or behind < 0 or (shape[axis] == BATCH and front + behind):
            raise ShapeError(f"cannot take {front} and {behind} off dimension {axis}")
        if front or behind:
            x = cut(lines, x, axis, front, shape[axis] - front - behind)
    return x


@operation(symbol="▣", numpy="pad", keras="pad", onnx="Pad", tfjs="pad")
def pad(
    lines: Lines,
    x: Ref,
    *,
    pads: Pairs,
    value: float = 0.0,
    mode: Literal["constant", "reflect", "symmetric", "edge", "wrap"] = "constant",
) -> Ref:
    """Surrounds a tensor with a number, or with what lies inside.

    Args:
        x: any tensor.
        pads: Cells before and behind each dimension.
        value: Number in the new cells, where the mode is constant.
        mode: What new cells hold.
    """
    flat = tuple(number for pair in pads for number in pair)
    if not any(flat) and len(pads) == rank_of(lines, x):
        return x
    return lines.emit(move.Pad, x=x, pads=flat, fill=value, mode=mode)[0]


@operation(symbol="▣", tfjs="mirrorPad")
def mirror_pad(
    lines: Lines, x: Ref, *, pads: Pairs, mode: Literal["reflect", "symmetric"] = "reflect"
) -> Ref:
    """Surrounds a tensor with its mirror image.

    Args:
        x: any tensor.
        pads: Cells before and behind each dimension.
        mode: Whether the last cell is the mirror (reflect), or its edge (symmetric).
    """
    return pad(lines, x, pads=pads, mode=mode)


@operation(symbol="[::]", tfjs="stridedSlice")
def strided_slice(lines: Lines, x: Ref, *, begin: Ints, end: Ints, steps: Ints = ()) -> Ref:
    """Takes every so many elements of dimensions, as Python's x[begin:end:step].

    Dimensions behind those named are kept whole.

    Args:
        x: any tensor.
        begin: First index of each dimension; negative ones count from the end.
        end: Where each dimension ends; negative ones count from the end.
        steps: From one element to the next, 1 unless given; negative ones count down.
    """
    shape = shape_of(lines, x)
    by = steps or (1,) * len(begin)
    if not len(begin) == len(end) == len(by) or len(begin) > len(shape) or 0 in by:
        raise ShapeError(
            f"expected up to {len(shape)} numbers in each, no step 0: got {begin}, {end} and {by}"
        )
    begins, sizes, strides = [0] * len(shape), [-1] * len(shape), [1] * len(shape)
    for axis, bounds in enumerate(zip(begin, end, by, strict=True)):
        if shape[axis] == BATCH and bounds[0] == 0 and bounds[2] == 1 and bounds[1] == -1:
            continue
        places = range(*slice(*bounds).indices(extent(shape, [axis])))
        if len(places) == shape[axis] and bounds[2] == 1:
            continue
        begins[axis] = places[0] if places else 0
        sizes[axis], strides[axis] = len(places), bounds[2] if places else 1
    if all(size == -1 for size in sizes):
        return x
    # The instruction takes whole dimensions by steps of 1 only where it says so.
    return lines.emit(
        move.Slice, x=x, begin=tuple(begins), size=tuple(sizes),
        steps=() if set(strides) == {1} else tuple(strides),
    )[0]  # fmt: skip


@operation(symbol="▦", numpy="tile", keras="tile", onnx="Tile", tfjs="tile")
def tile(lines: Lines, x: Ref, *, repeats: Ints) -> Ref:
    """Repeats a whole tensor along its dimensions.

    Args:
        x: any tensor.
        repeats: How often, for each dimension; dimensions are added in front for more numbers.
    """
    shape = shape_of(lines, x)
    if any(count < 0 for count in repeats):
        raise ShapeError(f"repeats must not be below 0: got {repeats}")
    extra = len(repeats) - len(shape)
    if extra > 0:
        x = reshaped(lines, x, (1,) * extra + shape)
        shape = (1,) * extra + shape
    counts = (1,) * -extra + repeats if extra < 0 else repeats
    for axis, count in enumerate(counts):
        if count != 1:
            x = _tiled(lines, x, axis, count)
    return x


def _tiled(lines: Lines, x: Ref, axis: int, count: int) -> Ref:
    """RESHAPE and BROADCAST, so that the gradient is one sum."""
    shape = shape_of(lines, x)
    length = extent(shape, [axis])
    before, behind = shape[:axis], shape[axis + 1 :]
    if len(shape) == 6 or count == 0:
        _require_few(count)
        parts = (x,) * count
        if count == 0:
            return cut(lines, x, axis, 0, 0)
        return lines.emit(move.Concat, xs=parts, axis=axis)[0]
    wide = spread(
        lines, reshaped(lines, x, (*before, 1, length, *behind)), (*before, count, length, *behind)
    )
    return reshaped(lines, wide, (*before, count * length, *behind))


@operation(symbol="⋯", numpy="repeat", keras="repeat")
def repeat(lines: Lines, x: Ref, *, repeats: int = 2, axis: int | None = None) -> Ref:
    """Repeats each element along a dimension; of all elements in one row without one.

    Args:
        x: any tensor.
        repeats: How often each element stands there.
    """
    if axis is None:
        x, axis = ravel(lines, x), 0
    shape = shape_of(lines, x)
    if repeats < 1:
        raise ParameterError(f"repeats must be at least 1: got {repeats}")
    at = at_axis(axis, len(shape))
    length, before, behind = extent(shape, [at]), shape[:at], shape[at + 1 :]
    wide = spread(
        lines, reshaped(lines, x, (*before, length, 1, *behind)),
        (*before, length, repeats, *behind),
    )  # fmt: skip
    return reshaped(lines, wide, (*before, length * repeats, *behind))


@operation(symbol="⟲", numpy="roll", keras="roll")
def roll(lines: Lines, x: Ref, *, shift: int = 1, axis: Axis = -1) -> Ref:
    """Moves elements along a dimension; those that leave it come in at the other end.

    Args:
        x: any tensor.
        shift: How far elements move.
    """
    shape = shape_of(lines, x)
    at = at_axis(axis, len(shape))
    length = extent(shape, [at])
    by = shift % length if length else 0
    if by == 0:
        return x
    parts = (cut(lines, x, at, length - by, by), cut(lines, x, at, 0, length - by))
    return lines.emit(move.Concat, xs=parts, axis=at)[0]


@operation(symbol="type", numpy="astype", keras="cast", onnx="Cast", tfjs="cast")
def cast(lines: Lines, x: Ref, *, dtype: TypeName = "float32") -> Ref:
    """Changes the element type; fractions are cut off towards 0."""
    return cast_to(lines, x, DType.parse(dtype))


@operation(symbol="=", numpy="copy", keras="copy", onnx="Identity", tfjs="clone")
def copy(lines: Lines, x: Ref) -> Ref:
    """Copies a tensor."""
    return lines.emit(move.Copy, x=x)[0]


@operation(symbol="S→B", onnx="SpaceToDepth", tfjs="")
def space_to_depth(lines: Lines, x: Ref, *, block: int = 2) -> Ref:
    """Lays squares of pixels out as channels.

    Args:
        x: images [N, height, width, channels].
        block: Side of a square.
    """
    n, height, width, channels = _images(lines, x)
    if block < 1 or height % block or width % block:
        raise ShapeError(f"height and width must be multiples of {block}")
    rows, columns = height // block, width // block
    apart = reshaped(lines, x, (n, rows, block, columns, block, channels))
    turned = permuted(lines, apart, (0, 1, 3, 2, 4, 5))
    return reshaped(lines, turned, (n, rows, columns, block * block * channels))


@operation(symbol="B→S", onnx="DepthToSpace", tfjs="depthToSpace")
def depth_to_space(lines: Lines, x: Ref, *, block: int = 2) -> Ref:
    """Lays channels out as squares of pixels.

    Args:
        x: images [N, height, width, channels].
        block: Side of a square.
    """
    n, height, width, channels = _images(lines, x)
    if block < 1 or channels % (block * block):
        raise ShapeError(f"channels must be a multiple of {block * block}: got {channels}")
    depth = channels // (block * block)
    apart = reshaped(lines, x, (n, height, width, block, block, depth))
    turned = permuted(lines, apart, (0, 1, 3, 2, 4, 5))
    return reshaped(lines, turned, (n, height * block, width * block, depth))


@operation(symbol="S→N", tfjs="spaceToBatchND")
def space_to_batch(lines: Lines, x: Ref, *, block: Ints, pads: Pairs = ()) -> Ref:
    """Lays cells of blocks out as tensors of the batch, all first cells in front.

    Args:
        x: any tensor; the dimensions behind the first are cut into blocks.
        block: Cells of a block along the dimensions behind the first.
        pads: Zeros before and behind each of these dimensions, put there first.
    """
    shape = shape_of(lines, x)
    _check_blocks(shape, block, pads)
    if pads:
        rest = len(shape) - len(block) - 1
        x = pad(lines, x, pads=((0, 0), *pads, *((0, 0),) * rest))
    for axis in range(len(block), 0, -1):
        batch, *sizes = shape_of(lines, x)
        length, side = sizes[axis - 1], block[axis - 1]
        if length % side:
            raise ShapeError(f"{length} cells with their zeros are no multiple of {side}")
        front, behind = prod(sizes[: axis - 1]), prod(sizes[axis:])
        apart = reshaped(lines, x, (batch, front, length // side, side, behind))
        sizes[axis - 1] //= side
        turned = permuted(lines, apart, (3, 0, 1, 2, 4))
        x = reshaped(lines, turned, (side * batch, *sizes))
    return x


@operation(symbol="N→S", tfjs="batchToSpaceND")
def batch_to_space(lines: Lines, x: Ref, *, block: Ints, crops: Pairs = ()) -> Ref:
    """Lays tensors of the batch out as cells of blocks: undoes `space_to_batch`.

    Args:
        x: any tensor.
        block: Cells of a block along the dimensions behind the first.
        crops: Cells taken off before and behind each of these dimensions, at the end.
    """
    shape = shape_of(lines, x)
    _check_blocks(shape, block, crops)
    if shape[0] % prod(block):
        raise ShapeError(f"a batch of {shape[0]} is no multiple of the {prod(block)} cells")
    for axis, side in enumerate(block, start=1):
        batch, *sizes = shape_of(lines, x)
        front, behind = prod(sizes[: axis - 1]), prod(sizes[axis:])
        apart = reshaped(lines, x, (side, batch // side, front, sizes[axis - 1], behind))
        sizes[axis - 1] *= side
        turned = permuted(lines, apart, (1, 2, 3, 0, 4))
        x = reshaped(lines, turned, (batch // side, *sizes))
    if not crops:
        return x
    return crop(lines, x, amounts=((0, 0), *crops, *((0, 0),) * (len(shape) - len(block) - 1)))


def _check_blocks(shape: Shape, block: Ints, pairs: Pairs) -> None:
    if not 1 <= len(block) < len(shape) or min(block) < 1:
        raise ShapeError(f"expected 1 to {len(shape) - 1} numbers above 0 for a block, got {block}")
    if pairs and len(pairs) != len(block):
        raise ShapeError(f"expected two numbers for each of {block}, got {pairs}")
    extent(shape, range(len(shape)))


def _images(lines: Lines, x: Ref) -> tuple[int, int, int, int]:
    shape = shape_of(lines, x)
    if len(shape) != 4:
        raise ShapeError(f"expected images [N, height, width, channels], got {shape_text(shape)}")
    n, height, width, channels = shape
    return n, height, width, channels


def unpermuted(lines: Lines, x: Ref, order: list[int]) -> Ref:
    """What `permuted` with ``order`` was made of."""
    return permuted(lines, x, inverse_of(order))
