"""Layers that join several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.options import integer
from studio.engine.core.tensor import Ref, Shape, TensorType
from studio.engine.isa.ops import arithmetic, move
from studio.engine.layers.context import LayerContext
from studio.engine.layers.layer import MOVED, Layer, shape_text


def any_of(context: LayerContext, masks: Sequence[Ref]) -> Ref:
    """MAXIMUM of masks: true where any of them is."""
    found = masks[0]
    for index, mask in enumerate(masks[1:], 2):
        port = "mask" if index == len(masks) else f"mask{index}"
        found = context.emit(arithmetic.Maximum, port, a=found, b=mask)
    return found


class Joining(Layer, abstract=True):
    """What layers of several inputs share: all inputs have one dtype."""

    category = "merge"
    arity: ClassVar[tuple[int, int | None]] = (2, None)
    supports_masking = True

    def check_dtypes(self, *types: TensorType) -> None:
        """Inputs of one dtype."""
        super().check_dtypes(*types)
        names = list(dict.fromkeys(each.dtype.name for each in types))
        if len(names) > 1:
            raise ShapeError(
                f"expected inputs of one dtype, got {' and '.join(names)}",
                who=self.who,
                hint="put Rescaling(1.0) after the integers to convert them to float32",
            )


class Merge(Joining, abstract=True):
    """Two or more inputs, joined element by element; lengths of 1 are repeated."""

    dtypes: ClassVar[tuple[DType, ...]] = (DType.float32, DType.int32)

    def output_shape(self, *shapes: Shape) -> Shape:
        """The shape all inputs broadcast to."""
        rank = max(len(s) for s in shapes)
        if any(len(s) != rank for s in shapes):
            raise self._mismatch(shapes)
        joined = []
        for sizes in zip(*shapes, strict=True):
            wide = {d for d in sizes if d != 1}
            if len(wide) > 1:
                raise self._mismatch(shapes)
            joined.append(wide.pop() if wide else 1)
        return tuple(joined)

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """What counts in any input counts; no mask where an input has none."""
        del types
        given = [mask for mask in masks if mask is not None]
        if len(given) < len(masks):
            return ()
        return (given[0].with_sample(Merge.output_shape(self, *(m.sample for m in given))),)

    def lower_masks(self, context: LayerContext, *inputs: Ref) -> tuple[Ref, ...]:
        """MAXIMUM of the masks."""
        del inputs
        return (any_of(context, context.masks),) if all(m.present for m in context.masks) else ()

    def broken_rule(self, *shapes: Shape) -> str:
        """Shapes that cannot be joined."""
        del shapes
        return "merge"

    def _mismatch(self, shapes: tuple[Shape, ...]) -> ShapeError:
        return ShapeError(
            f"expected inputs of one shape, got {' and '.join(shape_text(s) for s in shapes)}",
            who=self.who,
            hint="make the differing dimensions equal, or 1 on one side",
        )


class Add(Merge):
    """Adds its inputs."""

    words = ("sum", "plus", "residual", "skip")
    followers = ("ReLU", "Activation", "Conv2D", "GlobalAveragePooling2D")

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """One ADD less than there are inputs."""
        total = inputs[0]
        for index, x in enumerate(inputs[1:], 2):
            port = "output" if index == len(inputs) else f"sum{index}"
            total = context.emit(arithmetic.Add, port, x1=total, x2=x)
        return total


class Multiply(Merge):
    """Multiplies its inputs."""

    words = ("mul", "times", "product", "gate")
    followers = ("Conv2D", "Add", "Dense")

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """One MUL less than there are inputs."""
        product = inputs[0]
        for index, x in enumerate(inputs[1:], 2):
            port = "output" if index == len(inputs) else f"product{index}"
            product = context.emit(arithmetic.Mul, port, a=product, b=x)
        return product


class Concatenate(Joining):
    """Concatenates its inputs along one dimension."""

    dtypes: ClassVar[tuple[DType, ...]] = MOVED
    words = ("concat", "cat", "join", "merge")
    followers = ("Conv2D", "Dense", "BatchNormalization")
    positional = ("axis",)

    axis = integer("The joined dimension, counted with the batch; -1 is the last.", -1)

    def output_shape(self, *shapes: Shape) -> Shape:
        """The common shape with the joined dimension summed."""
        rank = len(shapes[0]) + 1
        axis = self._joined(rank)
        if not 1 <= axis < rank:
            raise ShapeError(
                f"axis: expected a dimension after the batch, got {self.axis} for rank {rank}",
                who=self.who,
                hint="-1 joins channels",
            )
        at = axis - 1
        if not _differ_only_at(at, shapes):
            others = [i for i in range(rank - 1) if i != at and _differ_only_at(i, shapes)]
            raise ShapeError(
                f"expected inputs that differ in dimension {axis} only, got "
                f"{' and '.join(shape_text(s) for s in shapes)}",
                who=self.who,
                hint="make the other dimensions equal"
                + (f", or set axis to {others[0] + 1}" if others else ""),
            )
        first = shapes[0]
        return (*first[:at], sum(s[at] for s in shapes), *first[at + 1 :])

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """Masks joined as values are; an input without one counts everywhere.

        Where the last dimension is joined a position counts that counts in any input, so that there
        is no mask if one of them has none.
        """
        rank, given = len(types[0].shape), [mask for mask in masks if mask is not None]
        if not given or (self._joined(rank) == rank - 1 and len(given) < len(masks)):
            return ()
        for mask in given:
            if len(mask.shape) != rank - 1:
                raise ShapeError(
                    f"expected masks of {rank - 1} dimensions, got {mask}", who=self.who
                )
        if self._joined(rank) == rank - 1:
            return (given[0],)
        at = self._joined(rank) - 1
        total = sum(each.sample[at] for each in types)
        sample = given[0].sample
        return (given[0].with_sample((*sample[:at], total, *sample[at + 1 :])),)

    def lower_masks(self, context: LayerContext, *inputs: Ref) -> tuple[Ref, ...]:
        """CONCAT of the masks, or MAXIMUM where the last dimension is joined."""
        masks, rank = context.masks, len(context.shape_of(inputs[0])) + 1
        present = [mask.present for mask in masks]
        if self._joined(rank) == rank - 1:
            return (any_of(context, masks),) if all(present) else ()
        if not any(present):
            return ()
        parts = [
            mask if mask.present else context.fill(f"mask{index}", context.shape_of(x)[:-1], 1.0)
            for index, (mask, x) in enumerate(zip(masks, inputs, strict=True), 1)
        ]
        return (context.emit(move.Concat, "mask", xs=tuple(parts), axis=self._joined(rank)),)

    def broken_rule(self, *shapes: Shape) -> str:
        """The dimension joined, or shapes that differ in another one."""
        rank = len(shapes[0]) + 1
        return "concat" if 1 <= self._joined(rank) < rank else "axis"

    def _joined(self, rank: int) -> int:
        return self.axis if self.axis >= 0 else self.axis + rank

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
        """CONCAT_CHANNEL for the last dimension, CONCAT for another."""
        rank = len(context.shape_of(inputs[0])) + 1
        if self.axis % rank == rank - 1:
            return context.emit(move.ConcatChannel, xs=inputs, count=len(inputs))
        return context.emit(move.Concat, xs=inputs, axis=self.axis % rank)


def _differ_only_at(at: int, shapes: tuple[Shape, ...]) -> bool:
    """Whether shapes have one rank, and one length in every dimension but one."""
    return len({(len(s), s[:at], s[at + 1 :]) for s in shapes}) == 1
