"""Stride arithmetic, counted in elements, that shape descriptors are made of."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Dims = tuple[int, ...]


def outward(order: str, rank: int) -> range:
    """The axes from the fastest to the slowest: last to first for 'c', first to last for 'f'."""
    return range(rank - 1, -1, -1) if order == "c" else range(rank)


def padded_strides(order: str, shape: Sequence[int], paddings: Sequence[int]) -> Dims:
    """Strides of a buffer whose every axis but the slowest has room for its padding.

    The strict rule: each stride is the next faster one times that axis' padded size. An axis of
    size 0 counts as 1, so that strides of empty tensors stay usable.
    """
    strides = [1] * len(shape)
    step = 1
    for axis in outward(order, len(shape)):
        strides[axis] = step
        step *= max(shape[axis], 1) + paddings[axis]
    return tuple(strides)


def loose_check(order: str, shape: Sequence[int], strides: Sequence[int]) -> tuple[bool, bool]:
    """Whether no axis overlaps the next faster one, and whether the axes seen so far are gapless.

    Walks outward from the fastest axis and stops at the first stride smaller than the next faster
    stride times that axis' size, or at once where the fastest stride is 0; an early stop leaves
    the second answer as it was before it.
    """
    contiguous = True
    axes = list(outward(order, len(shape)))
    if axes and strides[axes[0]] < 1:
        return False, contiguous
    for inner, outer in pairwise(axes):
        least = strides[inner] * max(shape[inner], 1)
        if strides[outer] < least:
            return False, contiguous
        contiguous = contiguous and strides[outer] == least
    return True, contiguous


def element_wise_stride(order: str, shape: Sequence[int], strides: Sequence[int]) -> int:
    """The single stride that visits all elements in this order, or 0 where there is none."""
    if not shape:
        return 1
    _, contiguous = loose_check(order, shape, strides)
    fastest = strides[-1] if order == "c" else strides[0]
    return fastest if contiguous else 0


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last addressed cell, both included; 0 for an empty shape."""
    if any(size == 0 for size in shape):
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def recovered_paddings(
    order: str, shape: Sequence[int], strides: Sequence[int], allocation: int
) -> Dims | None:
    """Paddings that would give these strides and this allocation, or None where none would."""
    paddings = [0] * len(shape)
    axes = list(outward(order, len(shape)))
    limits = [*(strides[axis] for axis in axes[1:]), allocation][: len(axes)]
    for axis, limit in zip(axes, limits, strict=True):
        if strides[axis] <= 0 or limit % strides[axis]:
            return None
        paddings[axis] = limit // strides[axis] - max(shape[axis], 1)
        if paddings[axis] < 0:
            return None
    return tuple(paddings)


def automatic_paddings(rank: int) -> tuple[Dims, Dims]:
    """Paddings and offsets that leave every picture a margin: (paddings, offsets), one per axis.

    The last axis gets 4 before and 36 after the data, the one above it 4 before and 4 after.
    """
    paddings, offsets = [0] * rank, [0] * rank
    for axis, pad in ((rank - 1, 40), (rank - 2, 8)):
        if axis >= 0:
            paddings[axis], offsets[axis] = pad, 4
    return tuple(paddings), tuple(offsets)
