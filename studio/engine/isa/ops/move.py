"""Moves: copies, shapes, slices, padding, joins and fills."""

from __future__ import annotations

from math import prod

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Shape, TensorType, shape_text
from studio.engine.isa.families import Unary, broadcast_shapes
from studio.engine.isa.fields import choice, integer, integers, number, reads, reads_many, writes
from studio.engine.isa.instruction import Instruction, TypeOf


class Move(Instruction, category="move"):
    """Moves cost no arithmetic."""

    def flops(self, of: TypeOf) -> int:
        """None."""
        return 0


class Join(Move):
    """Operands and shape rule of both concatenations."""

    xs = reads_many("Parts, equal but for the joined dimension.")
    y = writes("Joined tensor.")

    def axis_of(self, rank: int) -> int:
        """The joined dimension, counted from the front."""
        return rank - 1

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of the parts with the joined dimension summed."""
        types = [of(x) for x in self.xs]
        axis = self.axis_of(len(types[0].shape))
        if not 0 <= axis < len(types[0].shape):
            raise ShapeError(f"there is no dimension {axis} to join in {types[0]}",
                             who=self.mnemonic)  # fmt: skip
        if axis == 0 and any(t.is_batch for t in types):
            raise ShapeError("the batch dimension cannot be joined", who=self.mnemonic)
        for t in types[1:]:
            same_rank = len(t.shape) == len(types[0].shape)
            if not same_rank or _without(t.shape, axis) != _without(types[0].shape, axis):
                raise ShapeError(
                    f"parts must agree but for dimension {axis}: got {types[0]} and {t}",
                    who=self.mnemonic,
                )
        total = sum(t.shape[axis] for t in types)
        first = types[0]
        return (TensorType((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype),)


class ConcatChannel(Join, code=9, mnemonic="CONCAT_CHANNEL", saves=()):
    """Join tensors along the channels.

    y = [x0, x1, …] along the last dimension.
    """

    synopsis = "{y} = concat({xs})"
    count = integer("Number of parts.", 1, low=1)


class Concat(Join, code=250, mnemonic="CONCAT", saves=()):
    """Join tensors along any dimension.

    y = [x0, x1, …] along ``axis``; negative axes count from the end.
    """

    synopsis = "{y} = concat({xs}, axis {axis})"
    axis = integer("Joined dimension.", -1, low=-6, high=5)

    def axis_of(self, rank: int) -> int:
        """The joined dimension, counted from the front."""
        axis = self.axis + rank if self.axis < 0 else self.axis
        if not 0 <= axis < rank:
            raise ShapeError(f"axis {self.axis} is outside rank {rank}", who=self.mnemonic)
        return axis


class Flatten(Move, code=11, mnemonic="FLATTEN", saves=()):
    """Lay each entry of the batch out as one row.

    y[n] = x[n] in row-major order.
    """

    synopsis = "{y} = flatten({x})"
    x = reads("Input [N,…].")
    y = writes("Output [N,elements].")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """[N, product of the rest]."""
        x = of(self.x)
        if not x.shape:
            raise ShapeError("a scalar has no batch dimension", who=self.mnemonic)
        return (TensorType((x.shape[0], prod(x.shape[1:])), x.dtype),)


class Reshape(Move, code=251, mnemonic="RESHAPE", saves=()):
    """Give a tensor another shape.

    y = x in row-major order; ``shape`` may hold -1 in front for the batch.
    """

    synopsis = "{y} = reshape({x})"
    x = reads("Input.")
    y = writes("Output of the same number of elements.")
    shape = integers("The new shape.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The new shape, when it holds as many elements."""
        x = of(self.x)
        if _symbolic_numel(self.shape) != _symbolic_numel(x.shape):
            raise ShapeError(
                f"the element count must not change: got {shape_text(x.shape)} to "
                f"{shape_text(self.shape)}",
                who=self.mnemonic,
            )
        return (TensorType(self.shape, x.dtype),)


class Transpose(Move, code=252, mnemonic="TRANSPOSE", saves=()):
    """Permute dimensions.

    y[i_perm[0], …] = x[i_0, …]; the batch dimension must stay in front.
    """

    synopsis = "{y} = transpose({x})"
    x = reads("Input.")
    y = writes("Output.")
    perm = integers("For each output dimension, the input dimension it takes.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The permuted shape."""
        x = of(self.x)
        if sorted(self.perm) != list(range(len(x.shape))):
            raise ShapeError(
                f"perm {self.perm} must permute rank {len(x.shape)}", who=self.mnemonic
            )
        return (TensorType(tuple(x.shape[p] for p in self.perm), x.dtype),)


class Slice(Move, code=253, mnemonic="SLICE", saves=()):
    """Cut a box out of a tensor.

    y[i, …] = x[begin + i·step, …] for i < size in every dimension, with steps of 1 unless stated;
    a negative step counts down. A size of -1 keeps a whole dimension, whose begin is 0 and whose
    step is 1.
    """

    synopsis = "{y} = {x}[{begin}:+{size}]"
    x = reads("Input.")
    y = writes("Output.")
    begin = integers("First index of every dimension.")
    size = integers("Length of every dimension, -1 for all of it.")
    steps = integers("Step of every dimension; none means 1 in all.", since=2)

    def all_steps(self) -> tuple[int, ...]:
        """The step of every dimension."""
        return self.steps or (1,) * len(self.begin)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The size of the box."""
        x, steps = of(self.x), self.all_steps()
        if not len(self.begin) == len(self.size) == len(steps) == len(x.shape):
            raise ShapeError(
                f"begin, size and steps need one number for each of {x}", who=self.mnemonic
            )
        if 0 in steps:
            raise ShapeError(f"a step must not be 0: got {self.steps}", who=self.mnemonic)
        out = []
        for dim, begin, size, step in zip(x.shape, self.begin, self.size, steps, strict=True):
            if size == -1 and begin == 0 and step == 1:
                out.append(dim)
                continue
            last = begin + (size - 1) * step
            inside = 0 <= begin <= dim if size == 0 else 0 <= begin < dim and 0 <= last < dim
            if dim < 0 or size < 0 or not inside:
                by = f" by steps of {self.steps}" if self.steps else ""
                raise ShapeError(
                    f"the box {self.begin} + {self.size}{by} must lie inside {x}",
                    who=self.mnemonic,
                )
            out.append(size)
        return (TensorType(tuple(out), x.dtype),)


class Pad(Move, code=254, mnemonic="PAD", saves=()):
    """Surround a tensor with a constant, or with what lies inside.

    ``pads`` holds (before, after) for every dimension in turn. New cells are ``fill``, or by
    ``mode``, along each dimension of length n: reflect mirrors about the centre of the last cell,
    symmetric about its edge, edge repeats it, wrap begins again at the other end. They go on for as
    long as cells are needed. The gradient of a cell sums that of all its copies.
    """

    synopsis = "{y} = pad({x}, {pads})"
    x = reads("Input.")
    y = writes("Output.")
    pads = integers("Cells before and after, dimension by dimension.")
    fill = number("Value of the new cells.", 0.0, tail=True)
    mode = choice(
        "What new cells hold.", "constant", "reflect", "symmetric", "edge", "wrap", since=2
    )

    def sources(self, shape: Shape) -> tuple[tuple[int, ...], ...]:
        """For every dimension of x, the index in x that each index of y shows; no constant mode.

        Args:
            shape: of x, symbols bound.
        """
        pairs = zip(self.pads[::2], self.pads[1::2], shape, strict=True)
        return tuple(
            tuple(source_index(self.mode, i, size) for i in range(-before, size + after))
            for before, after, size in pairs
        )

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The grown shape."""
        x = of(self.x)
        if self.mode != "constant":
            if self.fill != 0:
                raise ShapeError(f"the mode {self.mode} has no fill", who=self.mnemonic)
            if any(
                size == 0 and (before or after)
                for size, before, after in zip(
                    x.shape, self.pads[::2], self.pads[1::2], strict=False
                )
            ):
                raise ShapeError(f"{x} has nothing to {self.mode}", who=self.mnemonic)
        if len(self.pads) != 2 * len(x.shape) or any(p < 0 for p in self.pads):
            raise ShapeError(f"pads needs two counts for each of {x}", who=self.mnemonic)
        grow = [a + b for a, b in zip(self.pads[::2], self.pads[1::2], strict=True)]
        if x.shape and x.shape[0] < 0 and grow[0]:
            raise ShapeError("the batch dimension cannot be padded", who=self.mnemonic)
        return (TensorType(tuple(d + g for d, g in zip(x.shape, grow, strict=True)), x.dtype),)


def source_index(mode: str, index: int, size: int) -> int:
    """The cell of a dimension of ``size`` that a place inside or outside shows, by a mode of PAD.

    Args:
        mode: ``reflect``, ``symmetric``, ``edge`` or ``wrap``.
        index: the place, counted from the first cell.
        size: length of the dimension, at least 1.
    """
    if mode == "edge" or size == 1:
        return min(max(index, 0), size - 1)
    if mode == "wrap":
        return index % size
    if mode == "reflect":
        place = index % (2 * size - 2)
        return min(place, 2 * size - 2 - place)
    place = index % (2 * size)
    return min(place, 2 * size - 1 - place)


class Broadcast(Move, code=255, mnemonic="BROADCAST"):
    """Repeat a tensor along dimensions of length 1.

    x is repeated to ``shape`` (-1 in front is the batch); the gradient sums over the repeats.
    """

    synopsis = "{y} = broadcast({x})"
    elementwise = False  # Its operand and its result have different shapes: it starts no group.
    formula = "x"
    slopes = {"x": "dy"}
    x = reads("Input.")
    y = writes("Output of the given shape.")
    shape = integers("The shape broadcast to.")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The given shape."""
        x = of(self.x)
        if broadcast_shapes(self.mnemonic, x.shape, self.shape) != self.shape:
            raise ShapeError(
                f"{x} does not broadcast to {shape_text(self.shape)}", who=self.mnemonic
            )
        return (TensorType(self.shape, x.dtype),)


class Copy(Unary, Move, code=256, mnemonic="COPY"):
    """Copy a tensor."""

    synopsis = "{y} = {x}"
    formula = "x"
    slopes = {"x": "dy"}


class Cast(Unary, Move, code=257, mnemonic="CAST"):
    """Change the element type.

    x becomes ``dtype``: floats truncate towards 0, bool is x != 0. No gradient.
    """

    synopsis = "{y} = {dtype}({x})"
    formula = "x"
    dtype = choice("Element type of the result.", "float32", "float16", "int32", "uint8", "bool")

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x in the new dtype."""
        return (TensorType(of(self.x).shape, DType.parse(self.dtype)),)


class Fill(Move, code=258, mnemonic="FILL"):
    """Set every element of a storage to one number.

    y = number. The halo of a padded tensor is left alone.
    """

    synopsis = "{y} = {number}"
    y = writes("Storage to fill, of any shape.")
    number = number("The number.", 0.0)


class Zero(Move, code=259, mnemonic="ZERO"):
    """Set a storage to zero, so that gradients can be added into it.

    y = 0.
    """

    synopsis = "{y} = 0"
    y = writes("Storage to clear, of any shape.")


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


def _symbolic_numel(shape: Shape) -> tuple[int, int]:
    symbol = shape[0] if shape and shape[0] < 0 else 0
    return (symbol, prod(shape[1:] if symbol else shape))
