"""Indices in brackets: whole numbers, slices, ``...`` and None, as NumPy reads them."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any

from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, Shape, shape_text
from studio.engine.isa.ops.move import Slice
from studio.engine.operations.lines import Lines
from studio.engine.ops.calls import call, named

if TYPE_CHECKING:
    from studio.engine.ops.handle import Tensor

_HINT = "use whole numbers, slices, ... and None, or take() for a list of places"


class _Stepped:
    """SLICE with steps, under the name that errors and profiles show."""

    name = "index"

    def write(self, lines: Lines, *refs: Ref, **options: Any) -> tuple[Ref, ...]:
        """One SLICE."""
        steps = options["steps"]
        given = {**options, "steps": steps if set(steps) - {1} else ()}
        return lines.emit(Slice, x=refs[0], **given)


_STEPPED = _Stepped()


def taken(tensor: Tensor, place: Any) -> Tensor:
    """The part of a tensor that an index names.

    Raises:
        ShapeError: outside of the tensor, too many indices, or an index of another kind.
    """
    parts = _filled(place if isinstance(place, tuple) else (place,), tensor.shape)
    begins: list[int] = []
    sizes: list[int] = []
    steps: list[int] = []
    shape: list[int] = []
    axis = 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        length = tensor.shape[axis]
        if isinstance(part, slice):
            begin, count, step = _span(part, length)
            shape.append(count)
        else:
            begin, count, step = _one(part, length, axis), 1, 1
        begins.append(begin)
        sizes.append(count)
        steps.append(step)
        axis += 1
    found = tensor
    if (tuple(sizes), set(steps) | {1}) != (tensor.shape, {1}):
        found = _cut(tensor, begins, sizes, steps)
    if found.shape != tuple(shape):
        found = call(named("reshape"), (found,), {"shape": tuple(shape)})
    return found


def _cut(tensor: Tensor, begins: list[int], sizes: list[int], steps: list[int]) -> Tensor:
    """What lies from ``begins`` on, in steps."""
    options = {"begin": tuple(begins), "size": tuple(sizes), "steps": tuple(steps)}
    made: Tensor = call(_STEPPED, (tensor,), options)
    return made


def _filled(given: tuple[Any, ...], shape: Shape) -> list[Any]:
    """One part for every dimension, and None for every new one."""
    count = sum(part is not None and part is not Ellipsis for part in given)
    if count > len(shape) or sum(part is Ellipsis for part in given) > 1:
        raise ShapeError(f"{shape_text(shape)} takes at most {len(shape)} indices: got {count}",
                         who="index")  # fmt: skip
    rest = [slice(None)] * (len(shape) - count)
    parts: list[Any] = []
    for part in given:
        if isinstance(part, EllipsisType):
            parts += rest
            rest = []
        else:
            parts.append(part)
    return parts + rest


def _span(part: slice, length: int) -> tuple[int, int, int]:
    """First place, count and step of a slice."""
    try:
        begin, end, step = part.indices(length)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"no slice of whole numbers: {error}", who="index") from None
    return begin, len(range(begin, end, step)), step


def _one(part: Any, length: int, axis: int) -> int:
    if isinstance(part, bool):
        raise ShapeError("True and False are no indices", who="index", hint=_HINT)
    try:
        place = part.__index__()
    except (AttributeError, TypeError):
        raise ShapeError(f"a {type(part).__name__} is no index", who="index", hint=_HINT) from None
    if not -length <= place < length:
        raise IndexError(f"index {place} is outside of {length} places in dimension {axis}")
    return int(place % length)
