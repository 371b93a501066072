"""Which shape, strides and offset a view of shared storage has, or why there is no such view."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from studio.engine.core.errors import ShapeError
from studio.engine.core.stride_rules import Dims

if TYPE_CHECKING:
    from collections.abc import Sequence


def turned_axes(rank: int, axes: Sequence[int] | None) -> list[int]:
    """The axes of a transpose, negative ones counted from the end; None reverses them.

    Raises ShapeError unless every axis is named once.
    """
    wanted = list(range(rank - 1, -1, -1) if axes is None else axes)
    turned = [axis + rank if axis < 0 else axis for axis in wanted]
    if sorted(turned) != list(range(rank)):
        raise ShapeError(
            f"transpose must name each of {rank} axes once, got {wanted}", who="transpose"
        )
    return turned


def filled_in(numel: int, shape: Sequence[int]) -> Dims:
    """The shape with its one -1 replaced; raises ShapeError if it does not hold ``numel``."""
    sizes = [int(size) for size in shape]
    known = prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known > 0 and numel % known == 0:
        sizes[sizes.index(-1)] = numel // known
    if any(size < 0 for size in sizes) or prod(sizes) != numel:
        raise ShapeError(
            f"the element count must stay: expected {numel} elements, got shape {list(shape)}",
            who="reshape",
        )
    return tuple(sizes)


def sliced_offset(
    shape: Sequence[int],
    strides: Sequence[int],
    begin: Sequence[int],
    size: Sequence[int],
    step: Sequence[int],
) -> int:
    """Cells from the first element of a tensor to that of its slice.

    Raises ShapeError where the slice leaves the shape or a step is below 1.
    """
    fits = len(begin) == len(size) == len(step) == len(shape) and all(
        start >= 0
        and count >= 0
        and pace >= 1
        and (start + (count - 1) * pace < full if count else start <= full)
        for start, count, pace, full in zip(begin, size, step, shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"slice must stay inside {list(shape)}, got begin {list(begin)}, size {list(size)}, "
            f"step {list(step)}",
            who="slice",
        )
    return sum(start * stride for start, stride in zip(begin, strides, strict=True))


def broadcast_strides(shape: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> Dims:
    """Strides under the shape ``new``: 0 on new and repeated axes; raises ShapeError if none."""
    lead = len(new) - len(shape)
    if lead < 0 or any(size not in (1, full) for size, full in zip(shape, new[lead:], strict=True)):
        raise ShapeError(f"{list(shape)} does not broadcast to {list(new)}", who="broadcast")
    kept = zip(shape, new[lead:], strides, strict=True)
    return (0,) * lead + tuple(stride if size == full else 0 for size, full, stride in kept)


def reshaped_strides(
    shape: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> Dims | None:
    """Strides that show the same cells, in row-major sequence, under another shape.

    Axes of both shapes are matched in runs of equal element count; a run works if the old axes in
    it are gapless among themselves. None where the elements would have to move. Both shapes must
    have the same, nonzero element count.
    """
    old = [(size, step) for size, step in zip(shape, strides, strict=True) if size != 1]
    axes = [axis for axis, size in enumerate(new) if size != 1]
    result = [0] * len(new)
    taken = filled = 0
    while taken < len(old):
        first, begin = taken, filled
        old_count, new_count = old[taken][0], new[axes[filled]]
        taken, filled = taken + 1, filled + 1
        while old_count != new_count:
            if new_count < old_count:
                new_count *= new[axes[filled]]
                filled += 1
            else:
                old_count *= old[taken][0]
                taken += 1
        run = old[first:taken]
        if any(outer != size * inner for (_, outer), (size, inner) in pairwise(run)):
            return None
        step = run[-1][1]
        for axis in reversed(axes[begin:filled]):
            result[axis] = step
            step *= new[axis]
    for axis in range(len(new) - 1, -1, -1):
        if new[axis] == 1:
            result[axis] = result[axis + 1] * new[axis + 1] if axis + 1 < len(new) else 1
    return tuple(result)
