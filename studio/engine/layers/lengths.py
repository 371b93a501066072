"""Unknown lengths of inputs: which numbers stand for them in checks, and how numbers are given.

A program has one symbol, the batch. The length of a sequence or the size of a picture may be None
in a network, and becomes a number when the network is lowered. Rules of layers see numbers only: a
network is checked with two different numbers in place of each unknown length. What differs between
the two is unknown, too; parameters must not differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

from studio.engine.core.errors import ShapeError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import UNKNOWN, OpenShape, Shape, TensorType
from studio.engine.layers.layer import shape_text

Lengths: TypeAlias = tuple[int, ...]
"""A number for each unknown length of a network, inputs in order, dimensions in order."""

LARGEST_LENGTH = 2**31 - 1

# Numbers with many divisors, so that halving and reshaping work. With two unknown lengths an image
# of 1024 channels still has fewer elements than a layer may have.
_TRIED = {1: 960, 2: 480}
_TRIED_MORE = 60


def tried_shapes(shape: OpenShape) -> tuple[Shape, Shape]:
    """Two shapes to check with: unknown lengths are different in them, all others the same."""
    number = _TRIED.get(shape.count(None), _TRIED_MORE)
    first = tuple(number if d is None else d for d in shape)
    return first, tuple(2 * number if d is None else d for d in shape)


def reported(first: TensorType, second: TensorType) -> TensorType:
    """The type a layer reports: a length that differs between two types is unknown."""
    if first == second or len(first.shape) != len(second.shape):
        return first
    pairs = zip(first.shape, second.shape, strict=True)
    return first._replace(shape=tuple(a if a == b else UNKNOWN for a, b in pairs))


def open_shape(type_: TensorType) -> OpenShape:
    """The shape a type reports, without the batch, as users read it."""
    return tuple(None if d == UNKNOWN else d for d in type_.sample)


def filled(shape: OpenShape, numbers: Sequence[int]) -> Shape:
    """A shape with one number for each unknown length."""
    left = iter(numbers)
    return tuple(next(left) if d is None else d for d in shape)


def fits(shape: OpenShape, given: OpenShape) -> bool:
    """Whether samples of a shape fit an input; an unknown length takes any."""
    return len(shape) == len(given) and all(
        a is None or a == b for a, b in zip(shape, given, strict=True)
    )


def lengths_in(shape: OpenShape, given: Shape, who: str) -> Lengths:
    """The numbers that stand in ``given`` where ``shape`` is unknown; ShapeError naming ``who``."""
    if not fits(shape, given):
        raise ShapeError(
            f"expected samples {shape_text(shape)}, got {shape_text(given)}", who=who,
            hint="the first dimension of an array counts the samples",
        )  # fmt: skip
    found = tuple(b for a, b in zip(shape, given, strict=True) if a is None)
    if 0 in found:
        raise ShapeError(f"expected a length of at least 1, got samples {shape_text(given)}",
                         who=who)  # fmt: skip
    return found


def named_lengths(shapes: Mapping[str, OpenShape], given: Mapping[str, object]) -> Lengths:
    """Numbers for the unknown lengths of inputs, given by the names of inputs.

    Args:
        shapes: of all inputs, in order.
        given: for each input with unknown lengths a whole number, or a list with one for each.

    Raises:
        ShapeError: a name is no such input's, an input is missing, or a length is none.
    """
    waiting = {name: shape for name, shape in shapes.items() if None in shape}
    for name in given:
        if name not in waiting:
            known = ", ".join(waiting) or "none"
            raise ShapeError(
                f"lengths: no input {quoted(name)} has an unknown length", who="lengths",
                hint=did_you_mean(name, waiting, f"inputs with unknown lengths: {known}"),
            )  # fmt: skip
    found: list[int] = []
    for name, shape in waiting.items():
        value = given.get(name)
        listed = list(value) if isinstance(value, list | tuple) else [value]
        numbers = [number for number in listed if _is_length(number)]
        if len(numbers) != len(listed) or len(numbers) != shape.count(None):
            wanted = f"{shape.count(None)} whole numbers" if shape.count(None) > 1 else "a number"
            raise ShapeError(
                f"expected {wanted} for the input {shape_text(shape)}, got {quoted(value)}",
                who=name,
                hint=f"such as lengths={{{name!r}: {_example(shape)}}}",
            )
        found += numbers
    return tuple(found)


def _is_length(value: object) -> TypeGuard[int]:
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return 1 <= value <= LARGEST_LENGTH


def _example(shape: OpenShape) -> str:
    count = shape.count(None)
    return "32" if count == 1 else f"({', '.join(['32'] * count)})"
