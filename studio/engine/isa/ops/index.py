"""Elements looked up by indices, and elements written where indices say.

An index is int32 and may be negative: it then counts from the end. One that is still outside names
no element: what would be read there is NaN (0 in whole numbers and truth values), what would be
written there is left out.
"""

from __future__ import annotations

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, Shape, TensorType, shape_text
from studio.engine.isa.fields import choice, integer, reads, writes
from studio.engine.isa.instruction import GradInstruction, TypeOf
from studio.engine.isa.ops.move import Move

ARITHMETIC = (DType.float32, DType.int32)
"""Element types in which what is scattered can be added, multiplied and compared."""


class Indexed(Move):
    """Instructions with an operand of indices; the gradient adds up once for each index."""

    @classmethod
    def grad_flops(cls, grad_ins: GradInstruction, of: TypeOf) -> int:
        """One sum for each element of the result."""
        return of(grad_ins.results()[0]).numel

    def indices(self, of: TypeOf, name: str = "i") -> Shape:
        """The shape of the indices, which must be int32."""
        found = of(self.ref(name))
        if found.dtype is not DType.int32:
            raise ShapeError(
                f"indices are int32: got {found.dtype.name}", who=self.mnemonic, hint="CAST them"
            )
        return found.shape

    def place_of_axis(self, axis: int, rank: int) -> int:
        """A dimension counted from the front."""
        found = axis + rank if axis < 0 else axis
        if not 0 <= found < rank:
            raise ShapeError(f"axis {axis} is outside rank {rank}", who=self.mnemonic)
        return found

    def checked(self, shape: Shape, dtype: DType) -> TensorType:
        """The type of a result, whose batch may only be in front."""
        if any(size < 0 for size in shape[1:]):
            raise ShapeError(
                f"the batch can only be dimension 0 of the result: got {shape_text(shape)}",
                who=self.mnemonic,
            )
        return TensorType(shape, dtype)

    def check_elements(self, x: Shape, i: Shape, axis: int) -> None:
        """Indices of single elements must lie inside x in all dimensions but the axis."""
        inside = len(i) == len(x) and all(
            d == axis or have == size or 0 <= have <= size
            for d, (have, size) in enumerate(zip(i, x, strict=True))
        )
        if not inside:
            raise ShapeError(
                f"indices must have the rank of x and be no longer but along axis {axis}: "
                f"got {shape_text(i)} for {shape_text(x)}",
                who=self.mnemonic,
            )

    def check_tuples(self, x: Shape, i: Shape, batch: int) -> int:
        """How many dimensions of x a tuple of indices goes through, those in common included."""
        depth = batch + i[-1] if i else 0
        if len(i) <= batch or not batch < depth <= len(x) or i[:batch] != x[:batch]:
            raise ShapeError(
                f"the last dimension of the indices goes through 1 to {len(x) - batch} dimensions "
                f"of x behind {batch} in common: got {shape_text(i)} for {shape_text(x)}",
                who=self.mnemonic,
            )
        return depth


class Gather(Indexed, code=450, mnemonic="GATHER", saves=("i",), since=2):
    """Look up entries along a dimension.

    y = x[…, i, …] with the dimensions of i in place of the axis. A negative index counts from the
    end; one outside gives NaN, in whole numbers 0. Indices that are given twice add up in the
    gradient, in the same order in every run.
    """

    synopsis = "{y} = {x}[{i}, axis {axis}]"
    x = reads("What is looked up in.")
    i = reads("Indices, int32, of any rank.", differentiable=False)
    y = writes("The entries.")
    axis = integer("Dimension of x that the indices go through.", 0, low=-6, high=5)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x with that of i in place of the axis."""
        x, i = of(self.x), self.indices(of)
        axis = self.place_of_axis(self.axis, len(x.shape))
        return (self.checked((*x.shape[:axis], *i, *x.shape[axis + 1 :]), x.dtype),)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of x the entries looked up."""
        return of(self.y).numel if ref == self.x else super().moved(ref, of)


class GatherElements(Indexed, code=451, mnemonic="GATHER_ELEMENTS", saves=("i",), since=2):
    """Look up single elements along a dimension.

    y[a, b, …] = x[a, …, i[a, b, …], …]: the index takes the place of the position along the axis,
    the other positions stay. i has the rank of x and may be shorter. A negative index counts from
    the end; one outside gives NaN, in whole numbers 0.
    """

    synopsis = "{y} = {x} at {i} along {axis}"
    x = reads("What is looked up in.")
    i = reads("Indices, int32, of the rank of x.", differentiable=False)
    y = writes("The elements, in the shape of i.")
    axis = integer("Dimension the indices go through.", 0, low=-6, high=5)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of i."""
        x, i = of(self.x), self.indices(of)
        axis = self.place_of_axis(self.axis, len(x.shape))
        self.check_elements(x.shape, i, axis)
        return (self.checked(i, x.dtype),)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of x the elements looked up."""
        return of(self.y).numel if ref == self.x else super().moved(ref, of)


class GatherNd(Indexed, code=452, mnemonic="GATHER_ND", saves=("i",), since=2):
    """Look up entries by tuples of indices.

    y[…] = x[i[…, 0], i[…, 1], …]: the last dimension of i holds a tuple. The first ``batch``
    dimensions are those of x and i alike, and the tuples go through the ones behind. A negative
    index counts from the end; a tuple with an index outside gives NaN, in whole numbers 0.
    """

    synopsis = "{y} = {x}[tuples {i}]"
    x = reads("What is looked up in.")
    i = reads("Tuples of indices, int32, in the last dimension.", differentiable=False)
    y = writes("The entries.")
    batch = integer("Dimensions in front that x and i have in common.", 0, low=0, high=5)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of i without the tuple, then what of x is behind it."""
        x, i = of(self.x), self.indices(of)
        depth = self.check_tuples(x.shape, i, self.batch)
        return (self.checked((*i[:-1], *x.shape[depth:]), x.dtype),)

    def moved(self, ref: Ref, of: TypeOf) -> int:
        """Of x the entries looked up."""
        return of(self.y).numel if ref == self.x else super().moved(ref, of)


class Scattering(Indexed):
    """Operands of both instructions that write where indices say."""

    x = reads("What is changed, of any shape.")
    i = reads("Indices, int32.", differentiable=False)
    u = reads("What is brought there, of the element type of x.")
    y = writes("x with the changes.")
    reduction = choice(
        "How what is brought meets what is there.", "none", "add", "mul", "max", "min"
    )

    def check_updates(self, of: TypeOf, wanted: Shape) -> tuple[TensorType, ...]:
        """The type of x, where the updates have the shape wanted and its element type."""
        x, u = of(self.x), of(self.u)
        if u.shape != wanted or u.dtype is not x.dtype:
            raise ShapeError(
                f"expected updates of {x.dtype.name}{shape_text(wanted)}: got {u}",
                who=self.mnemonic,
            )
        if self.reduction != "none" and x.dtype not in ARITHMETIC:
            raise ShapeError(
                f"{self.reduction} takes float32 or int32: got {x.dtype.name}",
                who=self.mnemonic,
                hint="CAST it first",
            )
        return (x,)

    def flops(self, of: TypeOf) -> int:
        """One operation for each update, unless it only takes a place."""
        return 0 if self.reduction == "none" else of(self.u).numel


class Scatter(Scattering, code=453, mnemonic="SCATTER", saves=("x", "i", "u", "y"), since=2):
    """Write single elements along a dimension.

    y = x, then y[a, …, i[a, b, …], …] = u[a, b, …]: the index takes the place of the position along
    the axis. ``reduction`` adds, multiplies or compares instead. Without one the last of equal
    indices wins. A negative index counts from the end; one outside is left out. At ties of max and
    min the gradient goes to x, then to the first of u.
    """

    synopsis = "{y} = {x} with {u} at {i} along {axis}"
    axis = integer("Dimension the indices go through.", 0, low=-6, high=5)

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x."""
        x, i = of(self.x).shape, self.indices(of)
        self.check_elements(x, i, self.place_of_axis(self.axis, len(x)))
        return self.check_updates(of, i)


class ScatterNd(Scattering, code=454, mnemonic="SCATTER_ND", saves=("x", "i", "u", "y"), since=2):
    """Write entries at tuples of indices.

    y = x, then y[i[…, 0], i[…, 1], …] = u[…]: the last dimension of i holds a tuple. ``reduction``
    adds, multiplies or compares instead. Without one the last of equal tuples wins. A negative
    index counts from the end; a tuple with an index outside is left out. At ties of max and min the
    gradient goes to x, then to the first of u.
    """

    synopsis = "{y} = {x} with {u} at tuples {i}"

    def infer(self, of: TypeOf) -> tuple[TensorType, ...]:
        """The shape of x."""
        x, i = of(self.x).shape, self.indices(of)
        depth = self.check_tuples(x, i, 0)
        return self.check_updates(of, (*i[:-1], *x[depth:]))
