"""Shares one buffer among all that need scratch storage, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.engine.gl.accessors import Use
from studio.engine.gl.planned import ScratchBinding

ROOM = 32 << 20
"""Bytes of scratch storage that may be in use at once, so that sums need not wait for others'."""


@dataclass(frozen=True)
class ScratchPlan:
    """Where the scratch storage of each dispatch lies.

    Attributes:
        ranges: first byte and length by dispatch; None where it needs none.
        nbytes: length of the buffer.
    """

    ranges: tuple[tuple[int, int] | None, ...]
    nbytes: int


def place_scratch(
    bindings: Sequence[ScratchBinding | None], alignment: int, room: int = ROOM
) -> ScratchPlan:
    """Places scratch storage, one range behind the other, from the front again when full.

    A dispatch that fills scratch storage and the ones behind it that read it share a range.

    Args:
        bindings: what each dispatch asks for, in order.
        alignment: bytes a range begins at a multiple of.
        room: bytes the buffer may have, if no single range is larger.
    """
    lives = _lives(bindings)
    sizes = [
        -(-max(b.floats for k in life if (b := bindings[k]) is not None) * 4 // alignment)
        * alignment
        for life in lives
    ]
    nbytes = min(sum(sizes), max([room, *sizes]))
    ranges: list[tuple[int, int] | None] = [None] * len(bindings)
    begin = 0
    for life, size in zip(lives, sizes, strict=True):
        if begin + size > nbytes:
            begin = 0
        for k in life:
            ranges[k] = (begin, size)
        begin += size
    return ScratchPlan(tuple(ranges), nbytes)


def _lives(bindings: Sequence[ScratchBinding | None]) -> list[list[int]]:
    """The dispatches that work on the same scratch storage, by number."""
    found: list[list[int]] = []
    filling = False
    for number, binding in enumerate(bindings):
        if binding is None:
            continue
        fills = binding.use is Use.WRITE
        if not found or binding.alone or (fills and not filling):
            found.append([])
        found[-1].append(number)
        filling = fills and not binding.alone
    return found
